//@ options: -DREAL=float -D "OFFSET=(2 + 3)" -DNAME=renamed -DM2S(x)=#x -D K2=later
//@ run: gen_int 32 4 buf:128
//@ run: gen_float 32 4 buf:128
//@ run: renamed 32,2 4,2 buf:256 i32:3
//@ run: split 16 4 buf:64
//@ run: both_a 16 4 buf:64
//@ run: both_b 16 4 buf:64
//@ run: body_arg 16 4 buf:64
//@ run: unusual 16 - buf:64 i32:1
//@ arg: renamed 1 0x3
// kernels that macros define, in all ways that real sources use
#define KERNEL_FQ kernel
#define GLOBAL_AS __global
#define MAKE(type) __kernel void gen_##type(__global type *p) { p[get_global_id(0)] += (type)OFFSET; }
#define MAKE_BOTH __kernel void both_a(__global int *p) { p[get_global_id(0)] ^= 1; } \
	__kernel void both_b(__global int *p) { p[get_global_id(0)] ^= 2; }
#define WITH_BODY(name, body) __kernel void name(__global int *p) body
#define BEGIN {
#define END }
MAKE(int) MAKE(float)
KERNEL_FQ void NAME(GLOBAL_AS REAL *p, int n) {
	p[get_global_id(0) + get_global_id(1) * get_global_size(0)] *= n; }
__kernel void split(__global int *p) BEGIN
	p[get_global_id(0)] += __LINE__;
END
MAKE_BOTH
WITH_BODY(body_arg, { p[get_global_id(0)] += 3; })
typedef int number;
#define type_of_it number
__kernel __attribute__((work_group_size_hint(4, 1, 1))) void
unusual(__global type_of_it *restrict const p, const number n)
{ p[get_global_id(0)] += n; } __kernel void unused(__global int *p) { *p = 0; }
#define number float
#define restrict
#define gpubpf_p0 nonsense
