/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses of which a macro produces only a part, as code generators write them. Counted by hand. */
//@ run: reduces 128 64 buf:16 buf:2048 buf:2048 i32:500
//@ mem: reduces mem 1002:4008 mem.shared 508:2032
//@ run: nests 64 16 buf:4096 buf:4096
//@ mem: nests mem 640:2560
//@ run: words 64 16 buf:4096 buf:4096
//@ mem: words mem 384:1536
//@ run: parts 64 16 buf:4096 buf:4096
//@ mem: parts mem 192:768
//@ run: others_names 64 16 buf:4096 buf:4096
//@ mem: others_names mem 256:1024
//@ run: pastes 64 16 buf:4096 buf:4096
//@ refuses: pastes mem cannot probe an expression that a macro partly produces (line 112)
//@ run: leads_back 64 16 buf:4096 buf:4096
//@ refuses: leads_back mem cannot probe an expression that a macro partly produces (line 125)
//@ run: tells_lines 64 16 buf:4096 buf:4096
//@ refuses: tells_lines mem cannot probe an expression that a macro partly produces (line 132)
//@ run: gives_names 64 16 buf:4096 buf:4096
//@ refuses: gives_names mem cannot probe an expression that a macro partly produces (line 148)
//@ run: varies 64 16 buf:4096 buf:4096
//@ refuses: varies mem cannot probe an expression that a macro partly produces (line 141)

#define GROUP_SIZE 64
#define READ_AND_MAP(i) (x[i] * y[i])
#define REDUCE(a, b) (a + b)
typedef float out_type;

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1))) void reduces(__global out_type *out, __global const float *x,
									      __global const float *y, unsigned int n)
{
	__local out_type ldata[GROUP_SIZE];
	unsigned int lid = get_local_id(0);
	unsigned int i = get_group_id(0) * GROUP_SIZE + get_local_id(0);
	out_type acc = 0;

	while (i < n) {
		acc = REDUCE(acc, READ_AND_MAP(i));
		i += GROUP_SIZE * get_num_groups(0);
	}
	ldata[lid] = acc;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (unsigned int s = GROUP_SIZE / 2; s; s /= 2) {
		if (lid < s)
			ldata[lid] = REDUCE(ldata[lid], ldata[lid + s]);
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (lid == 0)
		out[get_group_id(0)] = ldata[0];
}

/* Macros nested in arguments, over several lines, as parts of names, as objects, as statements, with comments. */
#define AT(p, k) p[(k) & 255]
#define SUM(a, b) a + b
#define TWICE(x) SUM(x, x)
#define FIRST b[i]
#define PUT(where, what) where = what
__kernel void nests(__global int *a, __global int *b)
{
	int i = get_global_id(0);

	PUT(FIRST, TWICE(AT(a, i)) * 2);
	PUT(AT(b, i + 64), SUM(AT(a, SUM(i, 1)), /* the next, and ( */ AT(a,
		TWICE(i)) * 2));
	if (SUM(AT(a, i), 0) == SUM(AT(a, i), 0) && i < 32)
		AT(b, i + 128) += SUM(AT(a, i), AT(b, i)) * 2;
}

/* Macro parameters whose names are keywords. */
#define PLUS(local) local[i] +
#define BOTH_OF(global, half) global[i] + global[half] +
__kernel void words(__global int *a, __global int *b)
{
	int i = get_global_id(0);

	b[i] = PLUS(a) 1;
	b[i + 64] = BOTH_OF(a, i + 64) 1;
	a[i + 128] = 3;
}

/* One expression consists of several arguments of one macro use. */
#define ASSIGN(x, y) x = y
__kernel void parts(__global int *a, __global int *b)
{
	int i = get_global_id(0);

	ASSIGN(b[i], a[i]);
	atomic_xchg(&b[i + 64], SUM(i, 3));
}

/* Macros that stand for the names of other macros, and a function-like macro that is redefined. */
#undef PLUS
#define PLUS SUM
#define PICK AT
__kernel void others_names(__global int *a, __global int *b)
{
	int i = get_global_id(0);

	b[i] = PLUS(a[i], 1) * 2;
	PICK(b, i + 64) = PLUS (i, /* ) */ 3);
	atomic_xchg(&b[i + 128], PLUS(i, 3));
}

/* The reader must not expand these macros, because the expansion could have another meaning. */
#define BOTH(f, x) SUM(f(a, x), f(b, x))
#define JOIN(x, y) x##y
#define LINE_OF(x) (x + __LINE__) * 0 + x
__kernel void pastes(__global int *a, __global int *b)
{
	int i = get_global_id(0), more = 2;

	b[i] = JOIN(a[i] + mo, re) * 2;
}

int AGAIN_(int x)
{
	return x;
}

#define AGAIN_(x) 1 + AGAIN_(x)
__kernel void leads_back(__global int *a, __global int *b)
{
	int i = get_global_id(0);

	b[i] = AGAIN_(a[i]) * 2;
}

__kernel void tells_lines(__global int *a, __global int *b)
{
	int i = get_global_id(0);

	b[i] = LINE_OF(a[i]) * 2;
}

#define ADD(x) x + 1
#define OF(...) ADD(__VA_ARGS__)
__kernel void varies(__global int *a, __global int *b)
{
	int i = get_global_id(0);

	b[i] = OF(a[i]) * 2;
}

__kernel void gives_names(__global int *a, __global int *b)
{
	int i = get_global_id(0);

	b[i] = BOTH(AT, i) * 2;
}
