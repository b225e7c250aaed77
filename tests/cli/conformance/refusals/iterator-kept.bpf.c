/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: an iterator that is not destroyed. */
#include "../case.h"

EXPECT("refused ITERATOR");

SEC("gpu/entry/*")
int iterator(struct gpubpf_ctx *ctx)
{
	__u64 it;

	return bpf_iter_num_new((struct bpf_iter_num *)&it, 0, 5);
}
