/* SPDX-License-Identifier: Apache-2.0 */
/* Features that only OpenCL C source has: operators, macros, conditions. Counted by hand. */
//@ run: chains 64 16 buf:4096 buf:4096
//@ mem: chains mem 448:1792 mem_before 448:1792 mem.all 448:1792
//@ told: chains mem loads=192 stores=256
//@ run: steps 64 16 buf:4096 buf:4096
//@ mem: steps mem 960:3264
//@ told: steps mem loads=384 stores=576 values=411779991104
//@ run: elements 64 16 buf:8192 buf:8192
//@ mem: elements mem 448:4096
//@ told: elements mem loads=256 stores=192 elements=1024
//@ run: macros 64 16 buf:4096 buf:4096
//@ mem: macros mem 704:2816
//@ run: volatiles 64 16 buf:4096 buf:4096
//@ refuses: volatiles mem.all reads mem.value, but the source has no expression for this value
//@ mem: volatiles mem 128:512 mem.shared 320:1280
//@ told: volatiles mem.shared hints=163840
//@ told: volatiles mem hints=0
//@ run: adds 64 16 buf:4096 buf:4096
//@ mem: adds mem 128:512
//@ told: adds mem atomics=64 hints=0
//@ run: pointers 64 16 buf:4096 buf:4096
//@ mem: pointers mem 128:512 mem.shared 128:1024
//@ told: pointers mem.shared hints=0
//@ told: pointers mem hints=32768
//@ run: copies 64 16 buf:8192 buf:8192
//@ mem: copies mem 256:4096 mem.local 64:1024
//@ run: functions 64 16 buf:8192 buf:8192
//@ refuses: functions mem.all reads mem.value, but the source has no expression for this value
//@ mem: functions mem 324:1280 mem.local 128:512 mem.shared 68:512
//@ run: contracts 256 64 buf:8192 buf:8192 f32:1.1
//@ mem: contracts mem 1792:7168
//@ run: conditions 64 16 buf:4096 buf:4096 i32:3
//@ mem: conditions branch 832:0
//@ told: conditions branch barriers=464 ops=832 operands=832
//@ run: recalls 64 16 buf:4096 buf:4096
//@ mem: recalls mem 448:1792 mem.const 128:512
//@ mem: splits mem 128:512
//@ run: splits 64 16 buf:4096 buf:4096
//@ refuses: quotes mem an expression that a macro partly produces
//@ run: quotes 64 16 buf:4096 buf:4096
//@ refuses: arrows mem elements of a vector that are accessed with
//@ run: arrows 64 16 buf:4096 buf:4096
//@ refuses: places_of mem outside of the function
//@ run: places_of 64 16 buf:4096 buf:4096
//@ run: ones 64 16 buf:8192 buf:8192
//@ mem: ones mem 447:5628 mem.local 256:3328

/* stores 0 at two addresses, and a loaded value at two addresses */
__kernel void chains(__global int *a, __global int *b)
{
	int i = get_global_id(0), x;

	a[i] = b[i] = 0;
	a[i + 64] = x = b[192 + (b[i + 64] & 63)];
	if ((b[i + 128] = x + a[i + 128]) > 7)
		x++;
}

/* each ++ is a load and a store, also for chars and floats */
__kernel void steps(__global int *a, __global float *b)
{
	int i = get_global_id(0), x;
	__global char *c = (__global char *)(a + 128);

	a[i] = 5;
	x = a[i]++;
	x += ++a[i];
	c[i] = 3;
	x += c[i]--;
	a[64 + i] = x;
	b[i] = 1.0f;
	b[i]++;
	x = b[i] - a[64 + i];
	a[i] = x;
}

/* the function takes a pointer to volatile; the argument's own type has no volatile */
__kernel void adds(__global int *a, __global int *b)
{
	int i = get_global_id(0);

	atomic_add(&a[i], 1);
	b[i] = 1;
}

/* the objects that the pointers point to are volatile; the pointers, which are in memory too, are not */
__kernel void pointers(__global int *a, __global int *b)
{
	volatile __global int *__local s[16];
	int i = get_global_id(0), l = get_local_id(0);

	s[l] = b + i;
	a[i] = 1;
	*s[l] = 2;
}

/* accesses of one element, of two elements, and of all elements of a float4 */
__kernel void elements(__global float4 *a, __global float4 *b)
{
	int i = get_global_id(0);
	float2 f = a[i].yz;

	b[i].x = a[i + 64].w + f.x;
	(b[i + 64]).hi = f + b[i].lo;
	b[i + 128] = a[i + 128];
}

#define AT(i) a[i]
#define CLOSED(p, i) ((p)[(i) + 64])
#define TWICE(x) ((x) + (x))
#define SUM(x) TWICE(x) + b[i + 64]
#define ZERO 0
#define LAST (63)
#define INDEX i + 1

__kernel void macros(__global int *a, __global int *b)
{
	int i = get_global_id(0), l = ZERO;

	AT(i) = CLOSED(b, l);
	CLOSED(a, i) = TWICE(b[i]) + AT(LAST + 192);
	b[i + 128] = -1 + as_int(as_float(b[i + 192]));
	b[INDEX & 63] += ZERO;
	a[ZERO + 128 + i] = i;
}

__kernel void volatiles(__global int *a, __global int *b)
{
	volatile __local int s[16];
	int l = get_local_id(0), i = get_global_id(0);

	s[l] = a[i];
	s[l] += 3;
	s[l]++;
	b[i] = 5;
}

struct item {
	float4 v;
};

__kernel void copies(__global struct item *a, __global struct item *b)
{
	int i = get_global_id(0);
	struct item one = a[i], many[2], *p = many;

	b[i] = one;
	b[i + 64] = i < 64 ? a[i + 64] : one;
	p[1] = one;
}

__kernel void functions(__global float *a, __global float *b)
{
	__local float s[16];
	int l = get_local_id(0), i = get_global_id(0);
	float part[2], whole;
	event_t done;

	prefetch(a + i, 1);
	done = async_work_group_copy(s, a, 16, 0);
	wait_group_events(1, &done);
	whole = fract(a[i], &part[0]);
	vstore_half(whole, i, (__global half *)b);
	b[i + 64] = vload_half(i, (__global half *)a) + part[0] + s[l];
	barrier(CLK_LOCAL_MEM_FENCE);
}

/* the twin must keep the product and the sum in one expression, which a compiler may contract */
__kernel void contracts(__global float *a, __global float *b, float f)
{
	int i = get_global_id(0);

	b[i] = a[i] * f + a[i + 256];
	b[i] += a[i] * a[i + 1];
}

__kernel void conditions(__global int *a, __global int *b, int n)
{
	int i = get_global_id(0), x = 0;

	for (int k = 0; k < n; k++)
		x += k;
	if (i & 1)
		x++;
	while (x > 3 && n)
		x--;
	do
		x++;
	while (0);
	switch (x) {
	case 3:
		x = 1;
	}
	a[i] = i & 3 ? x : n;
	for (;;) {
		if (!(x || n))
			break;
		b[i] = x;
		break;
	}
}

int later(__global int *p, int i);

__kernel void recalls(__global int *a, __global int *b)
{
	int i = get_global_id(0);

	b[i] = later(a, later(a, i) & 63);
}

int once(__global int *p) { return *p; }
__constant int fixed[2] = { 1, 2 };
int none( void ) { return fixed[0]; }

int later(__global int *p, int i)
{
	return once(&p[i]) + none() * p[i / 2] - p[i / 2];
}

#define HALF(x) 1 + a[x]
__kernel void splits(__global int *a, __global int *b)
{
	int i = get_global_id(0);

	b[i] = HALF(i) * 2;
}

#define SAY(x) (sizeof(#x) + (x))
__kernel void quotes(__global int *a, __global int *b)
{
	int i = get_global_id(0);

	b[i] = SAY(a[i]);
}

__kernel void arrows(__global int4 *a, __global int *b)
{
	int i = get_global_id(0);

	b[i] = a->x;
}

__kernel void places_of(__global int *a, __global int *b)
{
	struct { int x, y; } two[2];
	int i = get_global_id(0);

	two[0].x = i;
	two[1] = two[0];
	b[i] = two[i & 1].x;
}

/* vectors made from one value, whose last parenthesis clang's source range omits */
#define WIDE(x) (float4)(x)
#define TWICE(x, y) ((x) + (float4)(y))
__kernel void ones(__global float4 *a, __global float4 *b)
{
	int i = get_global_id(0);
	float4 own[2];

	a[i] = (float4)(i + 1);
	own[i & 1] = (float4) ( a[i].x /* ) isn't " it */ );
	own[~i & 1] = (float4)((float4)(i));
	b[i] = TWICE(own[0], own[1].y);
	b[i + 64] = any(b[i] > WIDE(2)) ? (float4)(b[i].x) : (float4)(0.5f, 1, 2, 3);
	vstore4((float4)(7), i + 128, (__global float *)b);
}
