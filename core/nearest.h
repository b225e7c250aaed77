/* SPDX-License-Identifier: Apache-2.0 */
/* What someone may have meant who wrote something else. */
#ifndef GPUBPF_CORE_NEAREST_H
#define GPUBPF_CORE_NEAREST_H

#include <stddef.h>

/* Levenshtein's distance, for names of up to 64 bytes; of longer ones 64. */
size_t gpubpf_distance(const char *a, const char *b);

#endif
