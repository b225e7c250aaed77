//@ run: reduce 256 64 buf:16 buf:1024 local:256
//@ run: declared 256 64 buf:1024
//@ run: early 100 10 buf:400 i32:37
//@ run: divergent 128 32 buf:512 local:128
//@ run: calls_kernel 64 64 buf:256
//@ run: required 64,8 8,4 buf:2048
//@ barrier: reduce
//@ barrier: declared
//@ barrier: calls_kernel
__kernel void reduce(__global float *sum, __global const float *p, __local float *tmp)
{
	size_t l = get_local_id(0);

	tmp[l] = p[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (size_t s = get_local_size(0) / 2; s; s /= 2) {
		if (l < s)
			tmp[l] += tmp[l + s];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (l == 0)
		sum[get_group_id(0)] = tmp[0];
}
static void sync(void) { barrier(CLK_LOCAL_MEM_FENCE); }
__kernel void declared(__global float *p)
{
	__local float tmp[64];
	__local int flag;

	if (get_local_id(0) == 0)
		flag = 3;
	tmp[get_local_id(0)] = p[get_global_id(0)];
	sync();
	p[get_global_id(0)] = tmp[63 - get_local_id(0)] * flag;
}
__kernel void early(__global float *p, int n)
{
	if (get_global_id(0) >= n)
		return;
	for (int i = 0; i < 10; i++) {
		p[get_global_id(0)] += i;
		if (p[get_global_id(0)] > 50)
			return;
	}
}
__kernel void divergent(__global float *p, __local float *tmp)
{
	if (get_group_id(0) & 1) {
		p[get_global_id(0)] *= 2;
		return;
	}
	tmp[get_local_id(0)] = p[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	p[get_global_id(0)] = tmp[get_local_size(0) - 1 - get_local_id(0)];
}
__kernel void calls_kernel(__global float *p) { declared(p); p[get_global_id(0)] += 1; }
__kernel __attribute__((reqd_work_group_size(8, 4, 1))) __attribute__((vec_type_hint(float4)))
void required(__global float *p)
{
	size_t i = get_global_id(0) + get_global_id(1) * get_global_size(0);

	p[i] = p[i] * get_local_size(0) + get_local_size(1);
}
