/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases of the conformance suite in C. A case is a BPF program that checks values with CHECK(), and EXPECT() lines that
 * state the expected result. docs/testing.md lists these lines.
 */
#ifndef GPUBPF_TESTS_CONFORMANCE_CASE_H
#define GPUBPF_TESTS_CONFORMANCE_CASE_H

#include <gpubpf/probe.h>

#define EXPECT(text) asm(".pushsection .expect,\"\",@progbits\n.ascii \"" text "\\n\"\n.popsection\n")

struct conformance_check {
	__u64 got, want;
};
/* The key is a source line. CHECK() stores its two values there if they differ. */
GPUBPF_ARRAY(conformance_failed, struct conformance_check, 256);
GPUBPF_ARRAY(conformance_checks, __u64, 2);                           /* [0] failed checks, [1] passed checks */

static __always_inline void conformance_check(__u32 line, __u64 got, __u64 want)
{
	struct conformance_check *failed;
	__u32 key = got == want;

	gpubpf_add(&conformance_checks, key, 1);
	failed = key ? NULL : bpf_map_lookup_elem(&conformance_failed, &line);
	if (failed) {
		failed->got = got;
		failed->want = want;
	}
}

#define CHECK(got, want) conformance_check(__LINE__, (__u64)(got), (__u64)(want))

#endif
