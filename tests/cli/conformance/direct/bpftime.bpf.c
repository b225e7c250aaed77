/* SPDX-License-Identifier: Apache-2.0 */
/* bpftime's section for a program that needs no kernel of an application. */
#include "../case.h"

EXPECT("run");
EXPECT("launch 1,1,1 16,1,1");
EXPECT("data 128");
EXPECT("word 15 30");
EXPECT("result 5");

SEC("kprobe/__directly_run")
int cuda__run(struct gpubpf_ctx *ctx)
{
	__u64 x, y, z, *word;

	bpf_get_thread_idx(&x, &y, &z);
	word = gpubpf_data(x * 8, 8);
	if (word)
		*word *= 2;
	return 5;
}
