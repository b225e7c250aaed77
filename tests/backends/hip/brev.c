/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A preload library for programs on the simulated gfx90a. The simulator's s_brev_b32 sets SCC, although the instruction
 * must preserve SCC (CDNA2 ISA, 16.3). LLVM uses s_brev_b32 to make constants. If LLVM puts one between the two halves
 * of an addition, the addition loses its carry. If a constant has a single run of bits, as flags have, the library
 * replaces s_brev_b32 by s_bfm_b32, which gives the same value in as many bytes.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define S_BREV_B32 0xbe800800u   /* | destination << 16 | source */
#define S_BFM_B32 0x91000000u    /* | destination << 16 | first bit << 8 | number of bits */
#define CONST(n) (128u + (n))    /* operand code of the integer n, up to 64 */
#define MIN_CONST (-16)              /* the operand codes above CONST(64) are -1, -2, ... down to this value */

/* Returns the integer that the operand code means, or 0 if the operand is no integer. */
static uint32_t constant(uint32_t operand)
{
	if (operand > CONST(64))
		return operand <= CONST(64) - MIN_CONST ? CONST(64) - operand : 0;
	return operand > CONST(0) ? operand - CONST(0) : 0;
}

static uint32_t to_bfm(uint32_t word)
{
	uint32_t n = constant(word & 0xff), first, bits;

	if ((word & 0xff80ff00u) != S_BREV_B32 || !n || n == UINT32_MAX)
		return word;
	first = (uint32_t)__builtin_ctz(n);
	bits = (uint32_t)__builtin_popcount(n);
	if (n >> first != (1u << bits) - 1)
		return word;
	return S_BFM_B32 | (word & 0x7f0000u) | CONST(32 - first - bits) << 8 | CONST(bits);
}

static void mend(uint8_t *image, size_t size)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)image;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(image + e->e_phoff);

	for (uint16_t i = 0; i < e->e_phnum; i++)
		for (uint64_t at = p[i].p_offset; p[i].p_flags & PF_X && at + 4 <= p[i].p_offset + p[i].p_filesz && at + 4 <= size;
		     at += 4)
			*(uint32_t *)(image + at) = to_bfm(*(uint32_t *)(image + at));
}

int hsa_code_object_reader_create_from_memory(const void *image, size_t size, uint64_t *reader);

/*
 * Replaces the function of libhsa-runtime64.so.1. The changed copy is never freed, because it must outlive the reader.
 */
__attribute__((visibility("default"))) int hsa_code_object_reader_create_from_memory(const void *image, size_t size, uint64_t *reader)
{
	void *runtime = dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*real)(const void *, size_t, uint64_t *) =
		(int (*)(const void *, size_t, uint64_t *))dlsym(runtime, __func__);
	uint8_t *copy = malloc(size);

	memcpy(copy, image, size);
	mend(copy, size);
	return real(copy, size, reader);
}
