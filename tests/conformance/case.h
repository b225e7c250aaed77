/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases in C: programs that check what they are given, and lines that say what is left behind. CONFORMANCE.md lists the
 * lines of EXPECT().
 */
#ifndef GPUBPF_TESTS_CONFORMANCE_CASE_H
#define GPUBPF_TESTS_CONFORMANCE_CASE_H

#include <gpubpf/probe.h>

#define EXPECT(text) asm(".pushsection .expect,\"\",@progbits\n.ascii \"" text "\\n\"\n.popsection\n")

struct conformance_check {
	__u64 got, want;
};
GPUBPF_HASH(conformance_failed, __u32, struct conformance_check, 32); /* by line */
GPUBPF_ARRAY(conformance_checks, __u64, 2);                           /* how many failed, how many held */

static __always_inline void conformance_check(__u32 line, __u64 got, __u64 want)
{
	struct conformance_check check = { got, want };
	__u32 key = got == want;
	__u64 *n = bpf_map_lookup_elem(&conformance_checks, &key);

	if (n)
		__sync_fetch_and_add(n, 1);
	if (got != want)
		bpf_map_update_elem(&conformance_failed, &line, &check, BPF_ANY);
}

#define CHECK(got, want) conformance_check(__LINE__, (__u64)(got), (__u64)(want))

#endif
