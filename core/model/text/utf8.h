/* SPDX-License-Identifier: Apache-2.0 */
/* Checks untrusted text before it is written to a terminal or into JSON. */
#ifndef GPUBPF_CORE_UTF8_H
#define GPUBPF_CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decodes the character at the start of s, which has n > 0 bytes. Returns its length, 1 to 4 bytes, and stores the code
 * point in *code. Returns 0 if the bytes are not valid UTF-8 (RFC 3629), or -1 if they end within a valid character.
 */
int gpubpf_utf8_next(const char *s, size_t n, uint32_t *code);
/*
 * Returns true if the character controls a terminal or changes the direction of adjacent text: C0 (with newline and
 * tab), DEL, C1, bidirectional controls.
 */
bool gpubpf_utf8_controls(uint32_t code);

#endif
