/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints (helpers 6 and 501) are records of the print ring, which is a normal ring. The host formats them
 * (maps/host/print.c). A record has the words below, followed by the text: the format, or the string itself. Arguments of %s
 * are addresses in read-only maps, where the host finds the strings.
 */
#ifndef GPUBPF_MAPS_PRINT_H
#define GPUBPF_MAPS_PRINT_H

#include "ctx.h"
#include "maps/kinds/ring.h"

#define GPUBPF_PRINT_TEXT 256        /* maximum bytes of a format or string */

struct gpubpf_print_bytes {
	u64 kernel_id, launch;
	u64 arena; /* the device address of the arena, to which %s arguments are relative */
	u64 block[3], thread[3];
	u32 prog;
	u32 kind; /* enum gpubpf_print_kind */
	u64 arg[3];
	/* the text follows; its length is the rest of the record's size */
};

enum gpubpf_print_kind {
	GPUBPF_PRINT_FORMAT = 1,
	GPUBPF_PRINT_STRING = 2,
};

#define GPUBPF_PRINT_HEAD 104        /* sizeof(struct gpubpf_print_bytes) */

GPUBPF_FN s64 gpubpf_print(GPUBPF_ENV, GPUBPF_MAP_ARGS, u64 prog_kind, GPUBPF_PRIVATE const u8 *text, u64 size, u64 a1,
			   u64 a2, u64 a3)
{
	u32 i;
	u64 copied = size < GPUBPF_PRINT_TEXT ? size : GPUBPF_PRINT_TEXT;
	u64 position, at = gpubpf_ring_record(env, GPUBPF_MAP_PASS, GPUBPF_PRINT_HEAD + copied, &position);

	if (!at)
		return -GPUBPF_EAGAIN;
	gpubpf_store_u64(at + 8, env->kernel_id);
	gpubpf_store_u64(at + 16, env->launch);
	gpubpf_store_u64(at + 24, env->arena);
	for (i = 0; i < 3; i++) {
		gpubpf_store_u64(at + 32 + 8 * i, gpubpf_block_idx_at(i));
		gpubpf_store_u64(at + 56 + 8 * i, gpubpf_thread_idx_at(i));
	}
	gpubpf_store_u64(at + 80, prog_kind);
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

GPUBPF_FN s64 gpubpf_helper_puts(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 prog, GPUBPF_PRIVATE const u8 *text, u64 size)
{
	u64 length = 0;

	while (length < size && length < GPUBPF_PRINT_TEXT && text[length])
		length++;
	return gpubpf_print(env, GPUBPF_MAP_PASS, prog | (u64)GPUBPF_PRINT_STRING << 32, text, length, 0, 0, 0);
}

#endif
