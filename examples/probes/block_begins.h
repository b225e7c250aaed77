/* SPDX-License-Identifier: Apache-2.0 */
/* Records the start of blocks. An object that includes this file has another program that runs at their end. */
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
