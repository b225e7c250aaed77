/* SPDX-License-Identifier: Apache-2.0 */
/* The multiprocessor's number, if the device provides it: helper 8 returns the same, and all lanes of a block agree. */
#include "../case.h"

EXPECT("launch 3,1,1 40,1,1");
EXPECT("checks 120");
EXPECT("needs SM_ID");

SEC("gpu/entry/*")
int multiprocessor(struct gpubpf_ctx *ctx)
{
	CHECK(bpf_get_sm_id(), bpf_get_smp_processor_id());
	return 0;
}
