/* SPDX-License-Identifier: Apache-2.0 */
/* What a code object's metadata says of a kernel (AMDGPU Usage, "Code Object V4 Metadata"), read by the tests' own reader: the
 * product's is what they test. */
#ifndef GPUBPF_TESTS_HIP_RUNTIME_META_H
#define GPUBPF_TESTS_HIP_RUNTIME_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define META_ARGS 128

/* a text where it lies, not terminated */
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
/* Bytes of a code object (ELF) that is in memory whole; 0: it is none. */
size_t meta_image_size(const void *image);
/* Of the kernel of this name; false: there is none, or no sense in what is said. */
bool meta_read(const void *image, const char *kernel, struct meta *meta);

#endif
