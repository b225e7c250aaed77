/* SPDX-License-Identifier: Apache-2.0 */
/* Text of strangers: what of it may go to a terminal, or into JSON. */
#ifndef GPUBPF_CORE_UTF8_H
#define GPUBPF_CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The character that s begins with: its bytes, 1 to 4, and *code; 0: they are no UTF-8 (RFC 3629); -1: they may be
 * the beginning of one, and end before its end. n > 0. */
int gpubpf_utf8_next(const char *s, size_t n, uint32_t *code);
/* Does it control a terminal, or turn around the text beside it? C0 (newline and tab too), DEL, C1, bidi controls. */
bool gpubpf_utf8_controls(uint32_t code);

#endif
