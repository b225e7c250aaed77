/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a call of a kernel function that only the Linux kernel has. */
#include "../case.h"

EXPECT("refused KFUNC bpf_rcu_read_lock");

extern void bpf_rcu_read_lock(void) __ksym;

SEC("gpu/entry/*")
int function(struct gpubpf_ctx *ctx)
{
	bpf_rcu_read_lock();
	return 0;
}
