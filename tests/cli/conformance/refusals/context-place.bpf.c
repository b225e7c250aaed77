/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a read of a context field that the program's place does not provide. */
#include "../case.h"

EXPECT("refused CTX_PLACE");

SEC("gpu/entry/*")
int context_place(struct gpubpf_ctx *ctx)
{
	return ctx->function_name[0];
}
