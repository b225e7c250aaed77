/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks for applications: named places in the source of GPU kernels, at which programs of the section gpu/mark/NAME can
 * run. An application with marks needs only this header of gpubpf, to build and to run. Marks cost almost nothing while
 * no program is attached to them.
 *
 *	#include <gpubpf/mark.h>
 *
 *	for (int step = 0; step < n; step++) {
 *		GPUBPF_MARK(step, step);
 *		...
 *	}
 *
 * GPUBPF_MARK(name, value) is a statement. name is an identifier, which is not macro-expanded. Several marks may have
 * the same name. value is an integer. Programs read it in ctx->mark as 64 bits, sign-extended if its type is signed.
 *
 * The macro expands differently for each compiler:
 * - CUDA (nvcc, clang, NVRTC): PTX with a register that no instruction reads. The assembler removes it, and the code
 *   that only computes its value. In host code the macro is empty and does not evaluate the value.
 * - Triton has no macros. The same PTX for a 32-bit value x is tl.inline_asm_elementwise("{ .reg .b32 gpubpf_mark_NAME;
 *   mov.b32 gpubpf_mark_NAME, $1; mov.b32 $0, $1; }", "=r,r", [x], dtype=tl.int32, is_pure=False, pack=1).
 * - OpenCL C: an unused variable. The code evaluates the value unless the compiler proves that it need not. A twin of
 *   the source replaces the macro by the programs, so the macro must not be inside another macro's definition.
 * - OpenCL C that clang compiles to SPIR-V (--target=spirv64; with -DGPUBPF_MARK_SPIRV for compilers that do not define
 *   __SPIRV__): a call of an empty function. The device's compiler removes it, and the code that only computes its
 * value. The module contains the names of the marks, as it contains the names of functions.
 * - HIP, and OpenCL C that clang compiles for AMD's GPUs: an s_nop, which only the lanes execute that reach the mark in
 *   the source. The section .gpubpf_marks has its address and the name of the register that holds the value. The code
 *   always computes the value.
 */
#ifndef GPUBPF_MARK_H
#define GPUBPF_MARK_H

#ifndef GPUBPF_MARK
#if defined(__CUDA_ARCH__) || defined(__NVPTX__)
#ifdef __CUDACC_RTC__ /* NVRTC does not accept __asm__ */
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
