/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread of a direct run changes its word of the data. The result is that of the first thread. */
#include "../case.h"

EXPECT("run");
EXPECT("launch 4,1,1 64,1,1");
EXPECT("data 2048");
EXPECT("result 42");
EXPECT("word 0 1");
EXPECT("word 7 22");
EXPECT("word 255 766");
EXPECT("checks 512");

SEC("gpu/run/words")
int words(struct gpubpf_ctx *ctx)
{
	__u64 *word = gpubpf_data(ctx->global_linear * 8, 8);

	CHECK(gpubpf_data_size(), 2048);
	CHECK(word ? *word : 99, ctx->global_linear);
	if (word)
		*word = *word * 3 + 1;
	return 42 + ctx->global_linear;
}
