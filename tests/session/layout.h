/* SPDX-License-Identifier: Apache-2.0 */
/* Where the members of 0.1's public structs lie: asked of two headers, 0.1's and today's. */
#ifndef GPUBPF_TESTS_SESSION_LAYOUT_H
#define GPUBPF_TESTS_SESSION_LAYOUT_H

#include <stddef.h>

struct layout {
	const char *member;
	size_t offset, size;
};

extern const struct layout layout_then[], layout_now[];
extern const size_t layout_then_count, layout_now_count;

#endif
