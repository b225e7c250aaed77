//@ run: histogram 1024 64 buf:4096 buf:64 local:64
//@ run: loop 200 - buf:800 i32:9
// local atomics, loops with several exits, a switch, and a called function that returns early
__kernel void histogram(__global const uint *in, __global uint *out, __local uint *bins)
{
	if (get_local_id(0) < 16)
		bins[get_local_id(0)] = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	atomic_inc(&bins[in[get_global_id(0)] >> 20 & 15]);
	barrier(CLK_LOCAL_MEM_FENCE);
	if (get_local_id(0) < 16)
		atomic_add(&out[get_local_id(0)], bins[get_local_id(0)]);
}
static int pick(uint v)
{
	switch (v % 5) {
	case 0:
		return 3;
	case 1:
		return -1;
	case 4:
		return (int)v;
	}
	return 7;
}
__kernel void loop(__global int *p, int n)
{
	size_t i = get_global_id(0);

	while (n-- > 0) {
		int add = pick(i + n);

		if (add < 0)
			continue;
		p[i] += add;
		if (p[i] % 11 == 0)
			break;
	}
	if (i % 3 == 0)
		return;
	p[i] ^= 1;
}
