//@ run: math 65536 64 buf:262144 local:256
//@ refused-as-il: math inexact functions
//@ barrier: math
/* Vectorised and scalar code round these functions differently. An IL twin with local memory uses scalar code. */
__kernel void math(__global float *p, __local float *tmp)
{
	float x = p[get_global_id(0)];

	tmp[get_local_id(0)] = exp(-x / 8) + sin(x) * cos(x / 3) + pow(x, 0.3f) + log(x) + tan(x) + rsqrt(x);
	barrier(CLK_LOCAL_MEM_FENCE);
	p[get_global_id(0)] = atan2(tmp[63 - get_local_id(0)], x) + native_exp(-x) + fma(x, tmp[get_local_id(0)], 1.5f) +
			      tanh(x / 50) + half_sin(x) + erf(x / 9) + hypot(x, 3.0f) + fmod(x, 0.7f);
}
