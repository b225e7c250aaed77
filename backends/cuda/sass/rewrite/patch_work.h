/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the files that patch a kernel's code: the state of the patch. */
#ifndef GPUBPF_SASS_PATCH_WORK_H
#define GPUBPF_SASS_PATCH_WORK_H

#include "core/model/diag.h"
#include "backends/cuda/sass/analysis/live.h"
#include "patch.h"

#define MIN_BRANCH_CYCLES 5        /* minimum number of cycles from a branch to its target */

#define refuse(diag, ...) gpubpf_diag_refuse(diag, INJECT, __VA_ARGS__)

struct patch_ctx {
	const struct sass_code *code;
	const struct sass_probe *entry, *exit;
	struct sass_insn_probes around;
	struct sass_patched_code *out;
	bool above;
	uint8_t barrier[SASS_BARRIERS];     /* maps the probes' barriers */
	uint8_t predicate[SASS_PT + 1];     /* maps the predicates of the exit's probe */
	bool uses_free_predicates;          /* the kernel writes none of these predicates */
	struct gpubpf_diag *diag;
};

/* The register with the lane's bit, above the probe's registers, for lanes that reach an exit separately. */
static inline unsigned lane_bit_reg(const struct patch_ctx *p)
{
	return p->out->base + p->exit->regs;
}

static inline void emit(struct patch_ctx *p, struct sass_insn insn)
{
	p->out->insns[p->out->n++] = insn;
}

/* The instruction with the registers that the probes have in the twin. barriers: maps the probe's barriers */
struct sass_insn sass_patch_relocate_insn(const struct patch_ctx *p, struct sass_insn insn, const uint8_t barriers[SASS_BARRIERS]);
/* Does the exit's probe write predicates that the kernel may write too? */
bool sass_patch_may_clobber_predicates(const struct patch_ctx *p);
/* The scoreboards that guard what the entry's probe and the bodies leave in flight. */
unsigned sass_patch_pending_boards(const struct patch_ctx *p);
/* Writes the exit's probe, and makes each EXIT a branch to it. -EINVAL and the reason. */
int sass_patch_emit_exit(struct patch_ctx *p);

#endif
