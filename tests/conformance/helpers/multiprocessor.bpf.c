/* SPDX-License-Identifier: Apache-2.0 */
/* The number of the multiprocessor, where the device tells it: helper 8 gives the same, for all lanes of a block alike. */
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
