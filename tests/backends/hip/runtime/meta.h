/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metadata of a kernel in a code object (AMDGPU Usage, "Code Object V4 Metadata"). This reader shares no code with
 * gpubpf's own reader, which is under test.
 */
#ifndef GPUBPF_TESTS_HIP_RUNTIME_META_H
#define GPUBPF_TESTS_HIP_RUNTIME_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define META_ARGS 128

/* a text inside the image, without a NUL byte at its end */
struct meta_text {
	const char *at;
	uint32_t len;
};

struct meta_arg {
	uint32_t offset, size;
	struct meta_text kind;
};

struct meta {
	uint32_t registers, kernarg_size, most_threads;
	uint32_t nargs;
	struct meta_arg arg[META_ARGS];
};

bool meta_is(struct meta_text text, const char *word);
bool meta_is_hidden(const struct meta_arg *arg);
/* Returns the size of a complete code object (ELF file) in memory, or 0 if it is not a code object. */
size_t meta_image_size(const void *image);
/*
 * Reads the metadata of the kernel with this name. Returns false if there is no such kernel or its metadata is invalid.
 */
bool meta_read(const void *image, const char *kernel, struct meta *meta);

#endif
