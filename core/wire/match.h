/* SPDX-License-Identifier: Apache-2.0 */
/* Does a probe's pattern name a kernel, or a device function? One rule for tool and agent; libc only, no allocation. */
#ifndef GPUBPF_CORE_WIRE_MATCH_H
#define GPUBPF_CORE_WIRE_MATCH_H

#include <stdbool.h>

/*
 * `pattern` is a kernel's name or a glob (fnmatch(3): * ? [...]) over it. Of an Itanium-mangled kernel
 * (_Z9vectorAddPKfS0_Pfi) the plain name (vectorAdd; the last part of a nested name) matches as well.
 */
bool gpubpf_pattern_matches(const char *pattern, const char *kernel);

#endif
