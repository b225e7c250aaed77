/* SPDX-License-Identifier: Apache-2.0 */
/* #if branches on macros that the runtime predefines, in each form. Both branches have the same number of stores. */
//@ options: -cl-std=CL3.0
#if __OPENCL_C_VERSION__ >= 300
#define TWO(out, i) out[i] = 2; out[(i) + 64] = 3
#else
#define TWO(out, i) out[i] = 1
#endif
#if defined(__opencl_c_generic_address_space) == (defined(__SPIR__) || defined(__SPIRV__))
#define THREE(out, i) TWO(out, i); out[(i) + 128] = 4
#else
#define THREE(out, i)
#endif
#if __clang_major__ == 22 /* true for gpubpf's reader, false for each runtime */
#define FOUR(out, i)
#else
#define FOUR(out, i) THREE(out, i); out[(i) + 192] = 5
#endif

//@ run: two 64 16 buf:512
//@ mem: two mem 128:512
kernel void two(global int *out)
{
	TWO(out, get_global_id(0));
}

//@ run: three 64 16 buf:768
//@ mem: three mem 192:768
kernel void three(global int *out)
{
	THREE(out, get_global_id(0));
}

//@ run: four 64 16 buf:1024
//@ mem: four mem 256:1024
kernel void four(global int *out)
{
	FOUR(out, get_global_id(0));
}
