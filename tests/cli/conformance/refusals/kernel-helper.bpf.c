/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a call of a helper that only the Linux kernel has. */
#include "../case.h"

EXPECT("refused BAD_HELPER");

SEC("gpu/entry/*")
int helper(struct gpubpf_ctx *ctx)
{
	return bpf_get_current_task() != 0;
}
