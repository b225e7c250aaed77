/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks for applications: places in the source of kernels where programs of gpu/mark/NAME can run. Applications need
 * nothing else of gpubpf to build or run with marks. Marks cost nothing while no program is attached to them.
 *
 *	#include <gpubpf/mark.h>
 *
 *	for (int step = 0; step < n; step++) {
 *		GPUBPF_MARK(step, step);
 *		...
 *	}
 *
 * GPUBPF_MARK(name, value): name is an identifier, used literally. value is an integer; programs read it in ctx->mark
 * as 64 bits, sign-extended if its type is signed. Several marks may have the same name. The macro is a statement.
 *
 * CUDA (nvcc, clang, NVRTC): the compiler's PTX contains a register that no instruction reads. The assembler drops it,
 * and the code that only computes its value. In host code the macro is empty and does not evaluate the value. Triton:
 * the same with tl.inline_asm_elementwise("{ .reg .b32 gpubpf_mark_NAME; mov.b32 gpubpf_mark_NAME, $1; mov.b32 $0, $1;
 * }", "=r,r", [x], dtype=tl.int32, is_pure=False, pack=1), for a value x of 32 bits. OpenCL C: an unused variable; the
 * code evaluates the value unless the compiler proves that it need not. Twins of the source replace the macro by
 * programs. The macro must be used by its name, not inside another macro's text. OpenCL C that clang compiles to SPIR-V
 * (--target=spirv64; with -DGPUBPF_MARK_SPIRV for compilers that do not define __SPIRV__): a call of an empty function.
 * The device's compiler drops it, and the code that only computes its value. The module contains the names, like those
 * of its functions. HIP, and OpenCL C that clang compiles for AMD's GPUs: an s_nop, which lanes reach only where the
 * source says so. The section .gpubpf_marks records its address and the register that holds the value. The value is
 * computed.
 */
#ifndef GPUBPF_MARK_H
#define GPUBPF_MARK_H

#ifndef GPUBPF_MARK
#if defined(__CUDA_ARCH__) || defined(__NVPTX__)
#ifdef __CUDACC_RTC__ /* NVRTC knows only C++'s keyword */
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
#elif (defined(__OPENCL_C_VERSION__) || defined(__OPENCL_CPP_VERSION__)) &&                                            \
	(defined(__SPIRV__) || defined(GPUBPF_MARK_SPIRV))
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
