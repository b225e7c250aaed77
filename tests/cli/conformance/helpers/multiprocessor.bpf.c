/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On a device that provides the multiprocessor's number, bpf_get_sm_id() and bpf_get_smp_processor_id() return the same
 * value.
 */
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
