/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches the pattern of a BPF program with the name of a GPU kernel or device function. The tool and the agent share
 * this rule. This file uses only libc and allocates no memory.
 */
#ifndef GPUBPF_CORE_WIRE_MATCH_H
#define GPUBPF_CORE_WIRE_MATCH_H

#include <stdbool.h>

#include "name.h"

/*
 * Does the pattern match the kernel's name? `pattern` is a name or a glob (fnmatch(3): * ? [...]). It may also match
 * the function name in an Itanium-mangled name: vectorAdd for _Z9vectorAddPKfS0_Pfi, and the last part of a nested
 * name. A name longer than GPUBPF_SHORT_NAME bytes also matches by its short form (name.h), because patterns contain
 * the short forms of such names.
 */
bool gpubpf_pattern_matches(const char *pattern, const char *kernel);
bool gpubpf_pattern_is_glob(const char *pattern);
/*
 * glob.c: like fnmatch(pattern, text, 0) in the POSIX locale, but with little stack and independent of the process's
 * locale.
 */
bool gpubpf_glob_matches(const char *pattern, const char *text);
/*
 * Stores a pattern, with its terminating zero. Returns false if the pattern is empty, a glob longer than 255 bytes, or
 * a name longer than 4095 bytes.
 */
bool gpubpf_pattern_store(const char *pattern, char out[GPUBPF_NAME_SIZE]);

#endif
