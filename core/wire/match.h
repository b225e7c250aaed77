/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches a program's pattern with the name of a kernel or device function. Tool and agent share this rule. Libc only,
 * no allocation.
 */
#ifndef GPUBPF_CORE_WIRE_MATCH_H
#define GPUBPF_CORE_WIRE_MATCH_H

#include <stdbool.h>

#include "name.h"

/*
 * `pattern` is a kernel's name or a glob (fnmatch(3): * ? [...]) over it. It is also matched with the plain name of an
 * Itanium-mangled kernel: vectorAdd for _Z9vectorAddPKfS0_Pfi, the last part of a nested name. A name longer than 255
 * bytes is also matched by its short form (name.h), in which patterns store such names.
 */
bool gpubpf_pattern_matches(const char *pattern, const char *kernel);
bool gpubpf_pattern_is_glob(const char *pattern);
/* glob.c: like fnmatch(pattern, text, 0) in the POSIX locale, whatever the process's locale is, and with
 * little stack. */
bool gpubpf_glob_matches(const char *pattern, const char *text);
/* Stores a pattern, with its NUL. False: the pattern is empty, a glob of more than 255 bytes, or a name of more than
 * 4095 bytes. */
bool gpubpf_pattern_store(const char *pattern, char out[GPUBPF_NAME_SIZE]);

#endif
