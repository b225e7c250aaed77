/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a twin back and proves what it may differ by, a pass for each way in which a probe could do harm. It shares the
 * tables of instructions with those who make twins, and nothing else.
 */
#ifndef GPUBPF_SASS_CHECK_H
#define GPUBPF_SASS_CHECK_H

#include "around.h"
#include "code.h"
#include "twin.h"

struct gpubpf_diag;

/* which probes a twin has; counts: the lanes of a block */
struct sass_has {
	bool entry, exit, counts;
};

/* The twin of the kernel, whose code this is. 0, or -EINVAL and what is wrong: our own mistake. */
int sass_check(const struct sass_cubin *app, const struct sass_kernel *kernel, const struct sass_code *code,
	       const struct sass_twin *twin, const struct sass_has *has, const struct sass_arounds *around, struct gpubpf_diag *diag);

#endif
