//@ run: exact 65536 64 buf:262144 local:256
//@ run: gather 65536 64 buf:262144
//@ barrier: exact
/* Computations that vectorised and scalar code must round in the same way. (With
 * tmp[get_local_id(0) ^ 21] PoCL 3.1 itself gives wrong results when it vectorises for AVX-512.) */
__kernel void exact(__global float *p, __local float *tmp)
{
	float x = p[get_global_id(0)];

	tmp[get_local_id(0)] = fma(x, 1.5f, floor(x)) * 0.1f + fabs(x - 40) / 7;
	barrier(CLK_LOCAL_MEM_FENCE);
	p[get_global_id(0)] = fmax(tmp[63 - get_local_id(0)], x / 3) + convert_float(mad24((int)x, 5, 7)) -
			      rint(tmp[get_local_id(0) ^ 21] * x);
}
/* This kernel works; with an additional atomic, Intel's runtime 2026.2 miscompiles its IL when it vectorises. */
__kernel void gather(__global uint *p)
{
	__local struct { uint a[64]; uint n; } s;

	if (get_local_id(0) == 0)
		s.n = get_group_id(0);
	s.a[get_local_id(0)] = p[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	if (s.n & 3)
		p[get_global_id(0)] += s.a[(get_local_id(0) + s.n) % 64];
}
