/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offsets and sizes of the members of 0.1's public structs: layout_then from 0.1's header, layout_now from the current
 * one.
 */
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
