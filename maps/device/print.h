/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the print ring, which helpers 6 and 501 write. The print ring is an ordinary ring, and the host formats
 * its records (maps/host/print.c). A record is a struct gpubpf_print_bytes, followed by the text: the format of helper
 * 6, or the string of helper 501. An argument of %s is an address in a read-only map, where the host finds the string.
 */
#ifndef GPUBPF_MAPS_PRINT_H
#define GPUBPF_MAPS_PRINT_H

#include "ctx.h"
#include "strings.h"
#include "maps/kinds/ring.h"

#define GPUBPF_PRINT_TEXT 256        /* limit of a format or string, in bytes */

struct gpubpf_print_bytes {
	u64 kernel_id, launch;
	u64 arena; /* device address of the arena; addresses of %s arguments lie in it */
	u64 block[3], thread[3];
	u32 prog;
	u32 kind; /* enum gpubpf_print_kind */
	u64 arg[3];
	/* the text follows, up to the end of the record */
};

enum gpubpf_print_kind {
	GPUBPF_PRINT_FORMAT = 1,
	GPUBPF_PRINT_STRING = 2,
	GPUBPF_PRINT_ARRAY = 3, /* a format with arg[0] arguments, which lie between the head and the text */
};

#define GPUBPF_PRINT_HEAD 104        /* sizeof(struct gpubpf_print_bytes) */

/* Store the part of a record that all prints have. */
GPUBPF_FN void gpubpf_print_head(GPUBPF_ENV, u64 at, u64 prog_kind)
{
	u32 i;

	gpubpf_store_u64(at + 8, env->kernel_id);
	gpubpf_store_u64(at + 16, env->launch);
	gpubpf_store_u64(at + 24, env->arena);
	for (i = 0; i < 3; i++) {
		gpubpf_store_u64(at + 32 + 8 * i, gpubpf_block_idx_at(i));
		gpubpf_store_u64(at + 56 + 8 * i, gpubpf_thread_idx_at(i));
	}
	gpubpf_store_u64(at + 80, prog_kind);
}

GPUBPF_FN s64 gpubpf_print(GPUBPF_ENV, GPUBPF_MAP_ARGS, u64 prog_kind, GPUBPF_PRIVATE const u8 *text, u64 size, u64 a1,
			   u64 a2, u64 a3)
{
	u64 copied = size < GPUBPF_PRINT_TEXT ? size : GPUBPF_PRINT_TEXT;
	u64 position, at = gpubpf_ring_record(env, GPUBPF_MAP_PASS, GPUBPF_PRINT_HEAD + copied, &position);

	if (!at)
		return -GPUBPF_EAGAIN;
	gpubpf_print_head(env, at, prog_kind);
	gpubpf_store_u64(at + 88, a1);
	gpubpf_store_u64(at + 96, a2);
	gpubpf_store_u64(at + 104, a3);
	gpubpf_copy_in(at + 8 + GPUBPF_PRINT_HEAD, text, copied);
	gpubpf_store_release_u64(at, gpubpf_ring_tag(position) | (GPUBPF_PRINT_HEAD + copied));
	return (s64)copied;
}

GPUBPF_FN s64 gpubpf_helper_trace_printk(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 prog, GPUBPF_PRIVATE const u8 *fmt, u64 size,
					 u64 a1, u64 a2, u64 a3)
{
	return gpubpf_print(env, GPUBPF_MAP_PASS, prog | (u64)GPUBPF_PRINT_FORMAT << 32, fmt, size, a1, a2, a3);
}

/* Helper 177: like helper 6, with up to GPUBPF_FORMAT_ARGS arguments in an array. */
GPUBPF_FN s64 gpubpf_helper_trace_vprintk(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 prog, GPUBPF_PRIVATE const u8 *fmt, u64 size,
					  GPUBPF_PRIVATE const u8 *values, u64 bytes)
{
	u64 copied = size < GPUBPF_PRINT_TEXT ? size : GPUBPF_PRINT_TEXT;
	u64 position, at;

	if (bytes % 8 || bytes > 8 * GPUBPF_FORMAT_ARGS)
		return -GPUBPF_EINVAL;
	at = gpubpf_ring_record(env, GPUBPF_MAP_PASS, GPUBPF_PRINT_HEAD + bytes + copied, &position);
	if (!at)
		return -GPUBPF_EAGAIN;
	gpubpf_print_head(env, at, prog | (u64)GPUBPF_PRINT_ARRAY << 32);
	gpubpf_store_u64(at + 88, bytes / 8);
	gpubpf_store_u64(at + 96, 0);
	gpubpf_store_u64(at + 104, 0);
	gpubpf_copy_in(at + 8 + GPUBPF_PRINT_HEAD, values, bytes);
	gpubpf_copy_in(at + 8 + GPUBPF_PRINT_HEAD + bytes, fmt, copied);
	gpubpf_store_release_u64(at, gpubpf_ring_tag(position) | (GPUBPF_PRINT_HEAD + bytes + copied));
	return (s64)copied;
}

GPUBPF_FN s64 gpubpf_helper_puts(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 prog, GPUBPF_PRIVATE const u8 *text, u64 size)
{
	u64 length = 0;

	while (length < size && length < GPUBPF_PRINT_TEXT && text[length])
		length++;
	return gpubpf_print(env, GPUBPF_MAP_PASS, prog | (u64)GPUBPF_PRINT_STRING << 32, text, length, 0, 0, 0);
}

#endif
