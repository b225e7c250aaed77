//@ refused: direct compiled at another time
//@ refused: by_variable compiled at another time
//@ refused: by_function compiled at another time
//@ refused: in_string compiled at another time
//@ run: written 64 16 buf:256
// the time of compilation differs for the twin
#define STRING_(x) #x
#define STRING(x) STRING_(x)
int hour(int i) { return __TIME__[i & 1]; }
__kernel void direct(__global int *p) { p[get_global_id(0)] = __DATE__[get_global_id(0) & 7]; }
__kernel void by_function(__global int *p) { p[get_global_id(0)] = hour(get_global_id(0)); }
__kernel void by_variable(__global int *p)
{
	__constant const char *at = __TIMESTAMP__;
	p[get_global_id(0)] = at[get_global_id(0) & 7];
}
__kernel void in_string(__global int *p) { p[get_global_id(0)] = STRING(now: __TIME__)[get_global_id(0) & 7]; }
__kernel void written(__global int *p) { p[get_global_id(0)] = "12:30:45 Jan 01 2020"[get_global_id(0) & 15] + sizeof(STRING(12 30)); }
