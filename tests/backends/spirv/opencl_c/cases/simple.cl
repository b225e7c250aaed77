//@ run: add 64 8 buf:256 buf:256 i32:-5 f32:1.5
//@ arg: add 2 0xfffffffb
//@ arg: add 3 0x3fc00000
//@ bytes: add 2 fbffffff
__kernel void add(__global float *a, __global const float *b, int n, float f)
{
	size_t i = get_global_id(0);
	a[i] = a[i] * f + b[i] + n;
}
