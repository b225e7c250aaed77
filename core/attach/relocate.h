/* SPDX-License-Identifier: Apache-2.0 */
/* Moves the beginning of a function to another address. Decodes with Zydis. */
#ifndef GPUBPF_ATTACH_RELOCATE_H
#define GPUBPF_ATTACH_RELOCATE_H

#include <stddef.h>
#include <stdint.h>

#define RELOCATE_MAX 48 /* bytes of moved code and the jump after it */

struct relocated {
	uint8_t code[RELOCATE_MAX]; /* moved instructions, then a jump to the first instruction that is not moved */
	size_t size;                /* bytes of `code` */
	size_t taken;               /* bytes of the function that were moved */
};

/*
 * Move the first instructions of the function at address `at` to address `to`, until `need` bytes are free. Returns
 * NULL, or the reason why these instructions cannot be moved.
 *
 * code: the function's first `size` bytes. length: bytes of the whole function, or 0.
 */
const char *relocate_beginning(const uint8_t *code, size_t size, size_t length, size_t need, uint64_t at, uint64_t to,
			       struct relocated *out);

#endif
