//@ refused: leaves gives the file another name
// #line sets a file name in a body that reads the name through a macro
#define HERE sizeof(__FILE__)
__kernel void leaves(__global int *p)
{
	__local int t[64];
	t[get_local_id(0)] = HERE;
#line 70 "left.cl"
	p[get_global_id(0)] = t[get_local_id(0)];
}
