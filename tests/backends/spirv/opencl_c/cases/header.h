#ifndef TWICE
#define ADD(a, b) ((a) + (b))
__kernel void from_header(__global int *p)
{
	p[get_global_id(0)] += 1;
}
#else
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
__kernel void PASTE(twice_, T)(__global T *p) { p[get_global_id(0)] *= 2; }
#endif
