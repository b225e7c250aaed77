/* SPDX-License-Identifier: Apache-2.0 */
/* Prints machine code after a pass, for `kernel dump --after PASS`. core/model/passes.def lists the passes. */
#ifndef GPUBPF_SASS_DUMP_H
#define GPUBPF_SASS_DUMP_H

#include "code.h"
#include "liveness.h"

struct gpubpf_lower_job;

/* Adds n instructions under a title to the dump of the job. Does nothing if the job needs no dump after this pass. If arch
 * is not NULL, also prints the targets of branches. */
void sass_dump_insns(const struct gpubpf_lower_job *job, const char *pass, const char *title,
		     const struct sass_arch *arch, struct sass_insns insns, uint32_t n);
/* Adds the basic blocks of a kernel to the dump after the pass "blocks": dominators, loops, edges and instructions. */
void sass_dump_blocks(const struct gpubpf_lower_job *job, const char *title, const struct sass_code *code);

#endif
