/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Twins in PTX may have a second kernel, for launches of one dimension. Twins of machine code: a cubin, and behind it the
 * addresses of the application's variables that are to be stored into it before it is loaded. Made by the worker, read by the
 * agent; libc only.
 */
#ifndef GPUBPF_BACKENDS_CUDA_WIRE_TWIN_FORMAT_H
#define GPUBPF_BACKENDS_CUDA_WIRE_TWIN_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUDA_FLAT_SUFFIX "$gpubpf_flat" /* behind the twin's name: for grids and blocks whose sizes in y and z are 1 */

enum cuda_twin_part { CUDA_TWIN_WHOLE, CUDA_TWIN_LOW, CUDA_TWIN_HIGH };

/* Bytes of the cubin that are to hold the address of a variable of the application's module, and addend: 8, or 4 with one
 * half of it. */
struct cuda_twin_address {
	const char *name;
	uint64_t off;
	int64_t addend;
	enum cuda_twin_part part;
};

/* The cubin, malloc'd, with the addresses behind it: freed and *twin the new one. 0, or -ENOMEM and it is as it was. */
int cuda_twin_pack(void **twin, size_t *size, const struct cuda_twin_address *addresses, uint32_t n);

/* Ask for each variable's address and store it. 0; -EINVAL: the twin is broken; what `address` returned, if not 0. */
int cuda_twin_bind(void *twin, size_t size, int (*address)(void *arg, const char *name, uint64_t *address), void *arg);

/* Of a twin that is text, the machine code that stands behind it and a NUL; NULL: none does. */
const void *cuda_twin_code(const void *twin, size_t size, size_t *code_size);

/* Does the twin, text or machine code, have a symbol that ends so? True also where only other bytes of it read so. */
bool cuda_twin_names(const void *twin, size_t size, const char *symbol);

#endif
