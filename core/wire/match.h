/* SPDX-License-Identifier: Apache-2.0 */
/* Does a probe's pattern name a kernel, or a device function? One rule for tool and agent; libc only, no allocation. */
#ifndef GPUBPF_CORE_WIRE_MATCH_H
#define GPUBPF_CORE_WIRE_MATCH_H

#include <stdbool.h>

#include "name.h"

/*
 * `pattern` is a kernel's name or a glob (fnmatch(3): * ? [...]) over it. Of an Itanium-mangled kernel
 * (_Z9vectorAddPKfS0_Pfi) the plain name (vectorAdd; the last part of a nested name) matches as well. A name longer
 * than 255 bytes is matched by its short form (name.h) too: as a pattern, which has no more room, it stands so.
 */
bool gpubpf_pattern_matches(const char *pattern, const char *kernel);
bool gpubpf_pattern_is_glob(const char *pattern);
/* glob.c: as fnmatch(pattern, text, 0) in the POSIX locale, whatever the locale, with little stack. */
bool gpubpf_glob_matches(const char *pattern, const char *text);
/* What is kept of it, with its NUL; false: it is empty, or longer than 255 bytes as a glob and 4095 as a name. */
bool gpubpf_pattern_keep(const char *pattern, char out[GPUBPF_NAME_SIZE]);

#endif
