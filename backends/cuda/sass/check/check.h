/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a twin: reads its bytes back and proves that they differ from the kernel only as allowed. There is a pass for
 * each way in which a probe could do harm. The checker shares the tables and builders of instructions with the code
 * that makes twins.
 *
 * Does:     opens the twin, finds its probes and stubs, and runs the passes in order.
 * Before:   sass_twin_write() has written the twin.
 * After:    the twin is safe to load, or it is refused.
 * Requires: the kernel's code and the list of its instruction probes.
 */
#ifndef GPUBPF_SASS_CHECK_H
#define GPUBPF_SASS_CHECK_H

#include "backends/cuda/sass/analysis/code.h"

struct gpubpf_diag;
struct sass_insn_probes;
struct sass_twin;

/* which probes a twin has. counts: the twin has the code that counts the lanes of a block
 * (backends/cuda/sass/isa/lane_count.h). */
struct sass_twin_contents {
	bool entry, exit, counts;
};

/* Checks the twin of the kernel whose code is `code`. Returns 0, -ENOMEM, or -EINVAL with the fault in *diag, which
 * is a bug of gpubpf. */
int sass_check(const struct sass_cubin *app, const struct sass_kernel *kernel, const struct sass_code *code,
	       const struct sass_twin *twin, const struct sass_twin_contents *has,
	       const struct sass_insn_probes *insn_probes, struct gpubpf_diag *diag);

#endif
