/* SPDX-License-Identifier: Apache-2.0 */
/* A direct run without data has no address for any byte. */
#include "../case.h"

EXPECT("run");
EXPECT("launch 1,1,1 8,1,1");
EXPECT("checks 24");
EXPECT("result 4294967295");

SEC("gpu/run/none")
int none(struct gpubpf_ctx *ctx)
{
	CHECK(gpubpf_data_size(), 0);
	CHECK(!gpubpf_data(0, 1), 1);
	CHECK(!gpubpf_data(ctx->global_linear, 8), 1);
	return -1;
}
