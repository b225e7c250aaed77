//@ refused: leaves gives the file another name
//@ run: named 64 16 buf:256
//@ run: changed 64 16 buf:256
//@ run: functions 64 16 buf:256
// #line with a file name, in bodies that wrappers repeat: __FILE__ must be the same as without a wrapper everywhere
#define SUM(name) (sizeof(name) * 1000 + name[0] + 3 * name[sizeof(name) - 2])
__kernel void leaves(__global int *p)
{
	__local int t[64];
	t[get_local_id(0)] = SUM(__FILE__);
#line 70 "left.cl"
	p[get_global_id(0)] = t[get_local_id(0)] + SUM(__FILE__) + __LINE__;
}
#line 100 "one.cl"
__kernel void named(__global int *p)
{
	__local int t[64];
	t[get_local_id(0)] = SUM(__FILE__);
	p[get_global_id(0)] = t[get_local_id(0)] + SUM(__FILE__) + __LINE__;
}
__kernel void changed(__global int *p)
{
	__local int t[64];
	t[get_local_id(0)] = SUM(__FILE__);
#line 1000 "other \"name\".cl"
	p[get_global_id(0)] = t[get_local_id(0)] + SUM(__FILE__) + __LINE__;
}
__kernel void functions(__global int *p)
{
	__local int t[64];
	t[get_local_id(0)] = SUM(__func__) + SUM(__FUNCTION__) + SUM(__PRETTY_FUNCTION__) + SUM(__FILE__);
	p[get_global_id(0)] = t[get_local_id(0)] + __builtin_FUNCTION()[2] + __LINE__;
}
