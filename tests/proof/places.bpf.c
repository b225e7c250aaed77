/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A counter at every kind of place. After a complete run the entries must equal the exits, and the block begins must
 * equal the block ends.
 *
 * gpu/insn/ and gpu/line/ are absent, since they would repeat the places below at every instruction.
 */
#include <gpubpf/probe.h>

#define COUNTER(name, section)                      \
	GPUBPF_ARRAY(name##s, __u64, 1);            \
	SEC(section) int name(struct gpubpf_ctx *ctx) \
	{                                           \
		gpubpf_add(&name##s, 0, 1);         \
		return 0;                           \
	}

COUNTER(entry, "gpu/entry/*")
COUNTER(leave, "gpu/exit/*")
COUNTER(begin, "gpu/block_begin/*")
COUNTER(end, "gpu/block_end/*")
COUNTER(call, "gpu/call/*")
COUNTER(returned, "gpu/call_exit/*")
COUNTER(access, "gpu/mem.all/*")
COUNTER(before, "gpu/mem_before.all/*")
COUNTER(atomic, "gpu/atomic/*")
COUNTER(wait_at, "gpu/barrier/*")
COUNTER(released, "gpu/barrier_exit/*")
COUNTER(branch, "gpu/branch/*")

char LICENSE[] SEC("license") = "GPL";
