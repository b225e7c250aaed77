/* SPDX-License-Identifier: Apache-2.0 */
/* Similar names, for hints about misspelled ones. */
#ifndef GPUBPF_CORE_NEAREST_H
#define GPUBPF_CORE_NEAREST_H

#include <stddef.h>

/* Returns the Levenshtein distance of names of up to 64 bytes; 64 for longer ones. */
size_t gpubpf_distance(const char *a, const char *b);

#endif
