//@ options: -cl-fast-relaxed-math -cl-mad-enable -w -cl-std=CL1.2
//@ run: math 4096 64 buf:16384 buf:16384
__kernel void math(__global float *a, __global const float *b)
{
	size_t i = get_global_id(0);
	float x = a[i];

	for (int k = 0; k < 8; k++)
		x = native_divide(sin(x) * exp(-fabs(x)), b[i]) + pow(fabs(x), 0.3f) + sqrt(b[i]) * x;
	a[i] = x / 3.7f + log(b[i]) * x;
}
