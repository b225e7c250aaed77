//@ options: -cl-std=CL2.0
//@ run: generic_space 64 16 buf:256
float twice(float *p) { return *p * 2; }
__kernel void generic_space(__global float *p)
{
	float mine = 3;

	p[get_global_id(0)] = twice(p + get_global_id(0)) + twice(&mine);
}
