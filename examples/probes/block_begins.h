/* SPDX-License-Identifier: Apache-2.0 */
/* The program that records the start of blocks, for objects with a program that sees their end. */
#ifndef GPUBPF_EXAMPLES_BLOCK_BEGINS_H
#define GPUBPF_EXAMPLES_BLOCK_BEGINS_H

#include "block.h"

SEC("gpu/entry/*")
int block_begins(struct gpubpf_ctx *ctx)
{
	if (is_first_thread(ctx))
		block_comes(ctx);
	return 0;
}

#endif
