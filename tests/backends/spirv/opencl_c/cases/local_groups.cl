//@ run: shared 262144 256 buf:1048576
//@ run: leaves 262144 256 buf:1048576 i32:200001
//@ run: nested 65536 64 buf:262144
//@ barrier: shared
//@ barrier: leaves
//@ barrier: nested
/* Many work-groups run at once on all threads of the device. Each work-group must have its own local variables. */
#define SIZE 256
#define LEAVE(c) do { if (c) return; } while (0)
__kernel void shared(__global uint *p)
{
	__local uint tmp[SIZE];
	uint l = get_local_id(0), sum = 0;

	tmp[l] = get_group_id(0) * 1000 + l;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint i = 0; i < SIZE; i++)
		sum = sum * 3 + tmp[(l + i) % SIZE];
	barrier(CLK_LOCAL_MEM_FENCE);
	p[get_global_id(0)] += sum;
}
__kernel void leaves(__global uint *p, int n)
{
	__local uint tmp[SIZE];
	uint l = get_local_id(0);

	tmp[l] = get_group_id(0) + l;
	barrier(CLK_LOCAL_MEM_FENCE);
	LEAVE((int)get_global_id(0) >= n);
	if (tmp[SIZE - 1 - l] % 7 == 3)
		return;
	p[get_global_id(0)] += tmp[(l * 5) % SIZE];
}
__kernel void nested(__global uint *p)
{
	__local struct { uint a[64]; uint n; } s;

	if (get_local_id(0) == 0)
		s.n = get_group_id(0);
	s.a[get_local_id(0)] = p[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	switch (s.n % 4) {
	case 0:
		return;
	case 1: {
		uint gpubpf_i = s.a[63 - get_local_id(0)];

		p[get_global_id(0)] = gpubpf_i + s.n;
		return;
	}
	}
	p[get_global_id(0)] += s.a[(get_local_id(0) + s.n) % 64];
}
