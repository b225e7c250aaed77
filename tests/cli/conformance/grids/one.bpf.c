/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest launch. */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("map threads[0] 1");

GPUBPF_ARRAY(threads, __u64, 1);

SEC("gpu/entry/*")
int count(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&threads, 0, 1);
	return 0;
}
