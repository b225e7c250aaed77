/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks for applications: places in the source of kernels where programs of gpu/mark/NAME can run. Nothing else of gpubpf
 * is needed to build or to run what has them; they cost nothing when nobody looks.
 *
 *	#include <gpubpf/mark.h>
 *
 *	for (int step = 0; step < n; step++) {
 *		GPUBPF_MARK(step, step);
 *		...
 *	}
 *
 * GPUBPF_MARK(name, value): name is an identifier that stands in the macro as it is, value an integer, which programs find
 * in ctx->mark as 64 bits, sign-extended if its type has a sign. Several marks may have one name. It is a statement.
 *
 * CUDA (nvcc, clang, NVRTC): in the PTX that the compiler hands its assembler a register that nobody reads, which the
 * assembler drops, and what computes the value for it alone. In host code it is nothing, and the value is not evaluated.
 * Triton: the same by tl.inline_asm_elementwise("{ .reg .b32 gpubpf_mark_NAME; mov.b32 gpubpf_mark_NAME, $1; mov.b32 $0, $1; }",
 * "=r,r", [x], dtype=tl.int32, is_pure=False, pack=1), of a value x of 32 bits.
 * OpenCL C: a variable that nobody reads; the value is evaluated where the compiler does not see that it need not be. Twins of
 * the source have their programs in place of the macro, which stands there by its name: not in another macro's text.
 * OpenCL C that clang makes SPIR-V of (--target=spirv64; of compilers that do not say so by __SPIRV__, with
 * -DGPUBPF_MARK_SPIRV): a call of a function that does nothing, which the device's compiler drops with what computes the value
 * for it alone. The names lie in the module, with those of its functions.
 * HIP, and OpenCL C that clang compiles for AMD's GPUs: an s_nop, by which lanes come only where the source says so, and
 * beside the code, in the section .gpubpf_marks, where it stands and which register has the value, which is computed.
 */
#ifndef GPUBPF_MARK_H
#define GPUBPF_MARK_H

#ifndef GPUBPF_MARK
#if defined(__CUDA_ARCH__) || defined(__NVPTX__)
#ifdef __CUDACC_RTC__ /* which knows C++'s word alone */
#define GPUBPF_MARK_ASM asm
#else
#define GPUBPF_MARK_ASM __asm__
#endif
#define GPUBPF_MARK(name, value)                                                                      \
	GPUBPF_MARK_ASM volatile("{ .reg .b64 gpubpf_mark_" #name "; mov.b64 gpubpf_mark_" #name ", %0; }" \
				 : : "l"((unsigned long long)(value)))
#elif defined(__AMDGCN__)
#define GPUBPF_MARK(name, value)                                                                      \
	__asm__ volatile(".Lgpubpf_mark_%=: s_nop 0\n.pushsection .gpubpf_marks,\"\",@progbits\n"        \
			 ".quad .Lgpubpf_mark_%=\n.asciz \"" #name "\"\n.asciz \"%0\"\n.popsection"       \
			 : : "v"((unsigned long)(value)))
#elif (defined(__OPENCL_C_VERSION__) || defined(__OPENCL_CPP_VERSION__)) && (defined(__SPIRV__) || defined(GPUBPF_MARK_SPIRV))
__attribute__((noinline, optnone, unused)) static void gpubpf_mark(__constant const char *name, ulong value)
{
	(void)name;
	(void)value;
}
#define GPUBPF_MARK(name, value) gpubpf_mark(#name, (ulong)(value))
#elif defined(__OPENCL_C_VERSION__) || defined(__OPENCL_CPP_VERSION__)
#define GPUBPF_MARK(name, value)                                \
	do {                                                    \
		const ulong gpubpf_mark_##name = (ulong)(value); \
		(void)gpubpf_mark_##name;                       \
	} while (0)
#else
#define GPUBPF_MARK(name, value) ((void)0)
#endif
#endif

#endif
