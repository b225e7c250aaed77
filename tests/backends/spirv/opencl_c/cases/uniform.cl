//@ options: -cl-std=CL2.0
//@ run: groups 50,3,2 - buf:1200
__kernel void groups(__global float *p)
{
	size_t i = get_global_linear_id();

	p[i] += get_global_id(2) * 3 + get_global_id(1);
}
