/* SPDX-License-Identifier: Apache-2.0 */
/* Every form of access, with hand-counted numbers and bytes. */
//@ oclgrind: all the same
//@ run: scalars 256 64 buf:4096 buf:4096 i32:200
//@ mem: scalars mem 800:2600 mem_before 800:2600 mem.shared 0:0 mem.local 0:0 mem.const 0:0 mem.all 800:2600
//@ run: vectors 128 32 buf:8192 buf:8192
//@ mem: vectors mem 768:9216 mem.all 768:9216 mem_before.all 768:9216
//@ run: rmw 256 64 buf:4096 buf:4096
//@ mem: rmw mem 1536:6144 mem_before 1536:6144 mem.all 1536:6144
//@ run: atomics 256 64 buf:4096 buf:4096
//@ mem: atomics mem 1792:7168 mem.all 1792:7168
//@ run: shared 256 64 buf:4096 buf:4096 local:256
//@ mem: shared mem 512:2048 mem.shared 1280:5120 mem.all 1792:7168
//@ run: constants 256 64 buf:4096 buf:256
//@ mem: constants mem 256:1024 mem.const 512:2048 mem.all 768:3072
//@ run: private_array 256 64 buf:4096 i32:5
//@ mem: private_array mem 256:1024 mem.local 1280:5120 mem.all 1536:6144
//@ run: calls 256 64 buf:4096 buf:4096
//@ mem: calls mem 1536:6144 mem.all 1536:6144
//@ run: shares 256 64 buf:4096 buf:4096
//@ mem: shares mem 1024:4096
//@ run: structs 64 16 buf:4096 buf:4096
//@ mem: structs mem 384:1408
//@ run: loops 64 16 buf:4096 buf:4096 i32:7
//@ mem: loops mem 960:3840
//@ run: barriers 256 64 buf:4096 buf:4096
//@ mem: barriers mem 512:2048 mem.shared 512:2048

/* 200 of 256 lanes load an int and a char, and store an int and an int */
__kernel void scalars(__global int *a, __global char *b, int n)
{
	int i = get_global_id(0);

	if (i >= n)
		return;
	a[i + 256] = a[i] + b[i];
	a[i + 512] = i;
}

__kernel void vectors(__global int *a, __global int *b)
{
	size_t i = get_global_id(0);
	__global int2 *two = (__global int2 *)(b + 1024);
	int4 v = vload4(i, a);

	vstore4(v + 1, i, a + 1024);
	vstore2(v.xy, i, b);
	two[i] = v.zw;
	vstore3(vload3(i, b + 512), i, b + 1536);
}

__kernel void rmw(__global int *a, __global int *b)
{
	int i = get_global_id(0);

	a[i] += 3;
	b[i]++;
	a[i + 256] = b[i + 256] ^ i;
}

__kernel void atomics(__global int *a, __global int *b)
{
	int i = get_global_id(0);

	atomic_add(&a[i % 16], 3);
	atomic_inc(&a[16]);
	atomic_max(&a[17 + i % 3], i);
	b[i] = atomic_xchg(&a[64 + i], i);
	b[256 + i] = atomic_cmpxchg(&a[512 + i], 7, i);
}

__kernel void shared(__global int *a, __global int *b, __local int *s)
{
	int l = get_local_id(0), i = get_global_id(0);

	s[l] = a[i];
	barrier(CLK_LOCAL_MEM_FENCE);
	atomic_add(&s[l], 3);
	barrier(CLK_LOCAL_MEM_FENCE);
	b[i] = s[l] + s[(l + 1) % 64] * s[(l + 5) % 64];
}

__constant int table[4] = { 3, 1, 4, 1 };

__kernel void constants(__global int *a, __constant int *c)
{
	int i = get_global_id(0);

	a[i] = c[i % 64] + table[i % 4];
}

__kernel void private_array(__global int *a, int n)
{
	int i = get_global_id(0), p[8];

	p[i % 8] = i;
	p[(i + 1) % 8] = n;
	p[(i + 2) % 8] = 7;
	p[(i + 3) % 8] = 9;
	a[i] = p[(i + n % 4) % 8];
}

__attribute__((noinline)) int twice(__global const int *p, int i)
{
	return p[i] + p[i + 1];
}

__attribute__((noinline)) int deep(__global int *p, int i)
{
	p[i + 640] = i; /* a store whose value no lane reads */
	return twice(p, i) + twice(p, i + 256);
}

__kernel void calls(__global int *a, __global int *b)
{
	int i = get_global_id(0);

	b[i] = deep(a, i);
}

/* a function that another kernel also calls */
__kernel void shares(__global int *a, __global int *b)
{
	int i = get_global_id(0);

	b[i] = i + twice(a, i);
	b[i + 256] = i;
}

struct point {
	int x, y;
	short z;
};

__kernel void structs(__global struct point *a, __global int *b)
{
	int i = get_global_id(0);
	__global struct point *p = &a[i];

	p->x = i;
	p->y = b[i];
	p->z = b[i + 64];
	a[i + 64].y = 5;
}

__kernel void loops(__global int *a, __global int *b, int n)
{
	int i = get_global_id(0), sum = 0;

	for (int k = 0; k < n; k++)
		sum += a[(i + k) % 64] * b[(i * 3 + k) % 64];
	b[i + 64] = sum;
}

__kernel void barriers(__global int *a, __global int *b)
{
	__local int s[64];
	int l = get_local_id(0), i = get_global_id(0);

	s[63 - l] = a[i];
	barrier(CLK_LOCAL_MEM_FENCE);
	b[i] = s[l];
}
