//@ run: many 16 4 buf:64 i32:1 i32:2 i32:3 i32:4 i32:5 i32:6 i32:7 i32:8 i32:9 i32:10 i32:11 i32:12 i32:13 i32:14 i32:15 i32:16 i32:17 i32:18 i32:19 i32:20 i32:21 i32:22 i32:23 i32:24 i32:25 i32:26 i32:27 i32:28 i32:29 i32:30 i32:31 i32:32 i64:-33
//@ arg: many 6 0x6
//@ arg: many 31 0x1f
//@ run: vectors 16 4 buf:256 0100000002000000 01020300 f64:2.5
//@ arg: vectors 1 0x200000001
//@ arg: vectors 2 0x30201
//@ arg: vectors 3 0x4004000000000000
#define P(n) int a##n
__kernel void many(__global int *p, P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11), P(12), P(13),
		   P(14), P(15), P(16), P(17), P(18), P(19), P(20), P(21), P(22), P(23), P(24), P(25), P(26), P(27),
		   P(28), P(29), P(30), P(31), P(32), long a33)
{
	p[get_global_id(0)] += a1 + a6 + a31 + a32 + (int)a33;
}
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void vectors(__global int4 *p, int2 v, uchar3 u, double d)
{
	p[get_global_id(0)] += (int4)(v, u.x + u.z, (int)d);
}
