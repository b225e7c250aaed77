//@ run: kernels 16 4 buf:64 buf:64 i32:3
//@ inside: kernels mem:26 mem:26 mem:28 mem:32 mem:35 mem:35 mem:36 barrier:31 atomic:36 branch:27 branch:29 branch:33 branch:34 mem.shared:26 mem.shared:30 mem.shared:30 mem.shared:35
//@ inside: helper mem:13 mem:13 branch:13 mem.const:14
#define CLOSED(i) (a[(i) & 15])
#define OPEN(i) 1 + a[(i) & 15]
#define SYNC barrier(CLK_LOCAL_MEM_FENCE)
__constant int table[2] = { 1, 2 };
struct pair { int x, y; };
int silent(int x) { struct pair p = { x, 2 }; return p.x + p.y + sizeof(table[0]); }
int helper(__global int *p, int i)
{
	/* two loads in one expression over two lines */
	return p[i] > 0 ? p[i] :
		table[i & 1];
}

__kernel void unused(__global int *a, int n)
{
	a[n] = 0;
}

__kernel void kernels(__global int *a, __global int *b, int n)
{
	__local int s[4];
	int i = get_global_id(0), l = get_local_id(0), *q = &n;
	b[i & 15] = s[l] = a[i & 15];
	for (int k = 0; k < silent(n); k++)
		CLOSED(i) = k;
	if (n)
		s[l] += 2;
	SYNC;
	b[i & 15] = 0;
	while (n--)
		switch (n) { default: ;
			b[i & 15] = s[l] + OPEN(i); }
	atomic_add(&a[3], 0 * silent(helper(a, i & 15)));
}
