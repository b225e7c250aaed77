/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted text: checks before it is written to a terminal or into JSON. */
#ifndef GPUBPF_CORE_UTF8_H
#define GPUBPF_CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decodes the character at the beginning of s, n > 0 bytes. Returns its length, 1 to 4 bytes, and *code. 0: the bytes
 * are not valid UTF-8 (RFC 3629). -1: the bytes end within a valid character.
 */
int gpubpf_utf8_next(const char *s, size_t n, uint32_t *code);
/*
 * Does the character control a terminal, or change the direction of adjacent text? C0 (newline and tab too), DEL, C1,
 * bidi controls.
 */
bool gpubpf_utf8_controls(uint32_t code);

#endif
