//@ options: -cl-std=CL2.0
//@ run: sums 256 64 buf:1024
//@ run: sized 256 64 buf:1024
//@ barrier: sums
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
__kernel void sums(__global float *p)
{
	p[get_global_id(0)] = sub_group_reduce_add(p[get_global_id(0)]) + get_sub_group_local_id();
}
__attribute__((intel_reqd_sub_group_size(8))) __kernel void sized(__global float *p)
{
	p[get_global_id(0)] = sub_group_broadcast(p[get_global_id(0)], 3) * get_sub_group_size();
}
