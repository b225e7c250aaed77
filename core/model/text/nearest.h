/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the similarity of names, for hints about misspelled names. */
#ifndef GPUBPF_CORE_NEAREST_H
#define GPUBPF_CORE_NEAREST_H

#include <stddef.h>

/* Returns the Levenshtein distance of two names of at most 64 bytes each, or 64 if one of them is longer. */
size_t gpubpf_distance(const char *a, const char *b);

#endif
