//@ refused: defines directives that must not be compiled twice
//@ refused: once directives that must not be compiled twice
//@ refused: counted code with __COUNTER__, whose values change if the code is compiled twice
//@ refused: counted_by_macro code with __COUNTER__
//@ run: chosen 64 16 buf:256
//@ run: unpasted 64 16 buf:256
// directives in a body that a wrapper would repeat: their effect would change the second copy
#define F(x) ((x) + 1)
__kernel void defines(__global int *p)
{
	__local int t[64];
	t[get_local_id(0)] = F(1);
	p[get_global_id(0)] = t[get_local_id(0)];
#undef F
#define F(x) ((x) + 2)
}
__kernel void once(__global int *p)
{
	__local int t[64];
	t[get_local_id(0)] = 1;
#if 0
	/* # in a comment */
#elif !defined(ONCE)
  # /* even so */ define ONCE
	t[get_local_id(0)] = 7;
#endif
	p[get_global_id(0)] = t[get_local_id(0)];
}
__kernel void counted(__global int *p)
{
	__local int t[64];
	t[get_local_id(0)] = __COUNTER__;
	p[get_global_id(0)] = t[get_local_id(0)];
}
__kernel void chosen(__global int *p)
{
	__local int t[64];
#if defined(F) && !defined(NEVER)
	#pragma unroll
	for (int i = 0; i < 2; i++)
		t[get_local_id(0)] = F(i);
#endif
	p[get_global_id(0)] = t[get_local_id(0)];
}
__kernel void unpasted(__global int *p)
{
	p[get_global_id(0)] += F(3);
#undef F
#define F(x) (x)
}
#define NEXT COUNTER_OF(3)
#define COUNTER_OF(x) (__COUNTER__ + x)
__kernel void counted_by_macro(__global int *p)
{
	__local int t[64];
	t[get_local_id(0)] = NEXT;
	p[get_global_id(0)] = t[get_local_id(0)];
}
