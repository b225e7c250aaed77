/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluated expressions and their order of evaluation; memory aligned to less than its type. Counted by hand. */
//@ options: -cl-std=CL1.2
//@ run: orders 16 16 buf:4096 buf:4096
//@ mem: orders mem 48:192 mem.local 128:512
//@ run: split 16 16 buf:4096 buf:4096
//@ mem: split mem 64:256
//@ run: arguments 16 16 buf:4096 buf:4096
//@ mem: arguments mem 32:64
//@ refuses: arguments mem.all mem.value
//@ run: members 16 16 buf:8192 buf:4096
//@ mem: members mem 144:1152
//@ run: typedefs 16 16 buf:8192 buf:4096
//@ mem: typedefs mem 80:896
//@ run: types 16 16 buf:4096 buf:4096
//@ mem: types mem 48:192
//@ run: constants 16 16 buf:4096 buf:4096
//@ mem: constants mem 64:256 mem.local 128:512 branch 32:0

static int next(__private int *n)
{
	return (*n)++;
}

/* compilers evaluate the assigned value before the address, except for structs */
__kernel void orders(__global int *a, __global int *b)
{
	int n = get_global_id(0) * 8;
	__private int kept[4];

	kept[0] = n;
	b[n] = next(&n);
	b[n] = next(&n) + a[n];
	kept[next(&kept[0]) & 3] = 7;
}

/* the same order if the address and the value are on different lines */
__kernel void split(__global int *a, __global int4 *b)
{
	int n = get_global_id(0) * 8;

	b[n].y =
		next(&n);
	a[n /* = */
	  + 1] // =
		= next(&n) + a[n] +
		__LINE__;
	b[n].x = __LINE__;
}

/* arguments that the context does not report, before arguments that it reports */
__kernel void arguments(__global half *a, __global half *b)
{
	int n = get_global_id(0) * 8;

	vstore_half((float)next(&n), n, a);
	vstore_half((float)next(&n), 0, b + n);
}

struct __attribute__((packed)) packed {
	char c;
	float4 v;
	int i, of[2];
};

__kernel void members(__global struct packed *p, __global float *out)
{
	int i = get_global_id(0);

	p[i].v = (float4)(i, 1, 2, 3);
	p[i].v += (float4)(1);
	p[i].i = i;
	*&p[i].of[1] = 3;
	out[i] = p[i].v.x + (*p[i].of = 2) + p[i].i;
}

typedef float4 __attribute__((aligned(4))) float4_by_4;
typedef int __attribute__((aligned(1))) int_by_1;

__kernel void typedefs(__global float *p, __global char *out)
{
	int i = get_global_id(0);
	__global float4_by_4 *u = (__global float4_by_4 *)(p + 1 + 4 * i);

	*u = (float4)(i, 1, 2, 3);
	u[0] += (float4)(2);
	*(__global int_by_1 *)(out + 1 + 4 * i) = (*u).x;
}

__kernel void types(__global float *a, __global float *b)
{
	int i = get_global_id(0);
	__typeof__(*a) *p = (__typeof__(*a) *)b;

	p[i] = (__typeof__(a[i++]))3 + ((__typeof__(a[i]) *)a)[i];
	((__typeof__(*a) *)a)[i] = sizeof(a[i++]);
}

#define YES 1

__kernel void constants(__global int *a, __global int *b)
{
	enum { ONE = YES && 1, TWO = YES ? 2 : 3 };
	struct { int x[YES ? 2 : 3]; } s = { { 1, 2 } };
	int i = get_global_id(0), c[4] = { [YES && 1] = a[i], [YES ? 2 : 0] = 9 };
	int4 v = __builtin_shufflevector((int4)(i), (int4)(ONE), YES ? 0 : 1, 5, 6, YES && 1 ? 7 : 3);

	_Static_assert(YES && sizeof(int) == 4 ? 1 : 0, "an int");
	switch (c[1]) {
	case YES && 1:
		break;
	case YES ? 2 : 3 ... 5:
		c[1] = 3;
	}
	const int n = YES ? 3 : 4, longer = n > 2 && YES ? n + 1 : 2;
	const int m = a[i] ? 0 : 1;
	int of[n], more[longer];

	of[0] = more[0] = sizeof(of) + sizeof(more);
	b[i] = m + of[0] + more[0] + TWO + s.x[1] + c[1] + c[2] + v.w + __builtin_choose_expr(YES && 1, a[i], 0);
}
