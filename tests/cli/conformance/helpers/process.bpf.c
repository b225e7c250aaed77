/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_get_current_pid_tgid() (helper 14) returns the ids of the process and thread that launched the kernel. */
#include "../case.h"

EXPECT("launch 2,1,1 16,1,1");
EXPECT("alone");
EXPECT("checks 32");

SEC("gpu/entry/*")
int process(struct gpubpf_ctx *ctx)
{
	CHECK(bpf_get_current_pid_tgid(), 0x0000123400005678);
	return 0;
}
