//@ run: leaves 64 16 buf:256
// #line sets a file name in a body that does not read the name: the repeated body still keeps its line numbers
__kernel void leaves(__global int *p)
{
	__local int t[64];
	t[get_local_id(0)] = __LINE__;
#line 70 "left.cl"
	p[get_global_id(0)] = t[get_local_id(0)] + __LINE__;
}
