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
	struct sass_insn_probes insn_probes;
	struct sass_patched_code *out;
	bool regs_above_kernel;         /* the probes use only registers above the kernel's */
	uint8_t barrier[SASS_BARRIERS]; /* barrier[b]: convergence barrier of the twin for barrier b of a probe */
	uint8_t predicate[SASS_PT + 1]; /* predicate[p]: predicate of the twin for predicate p of the exit probe */
	bool uses_free_predicates;      /* the kernel writes none of the predicates in predicate[] */
	unsigned pending;               /* scoreboards, as bits, that the entry probe and the bodies may leave set */
	struct gpubpf_diag *diag;
};

/* Returns the register that holds the lane's bit in code that each lane runs separately. It is above the registers
 * of the exit probe. */
static inline unsigned lane_bit_reg(const struct patch_ctx *p)
{
	return p->out->base + p->exit->regs;
}

static inline void emit(struct patch_ctx *p, struct sass_insn insn)
{
	p->out->insns[p->out->n++] = insn;
}

/* Returns an instruction of a probe with the registers and barriers that it has in the twin. In the twin,
 * barriers[b] replaces barrier b of the probe. */
struct sass_insn sass_patch_relocate_insn(const struct patch_ctx *p, struct sass_insn insn,
					  const uint8_t barriers[SASS_BARRIERS]);
/* Does the exit probe write predicates that the kernel may write too? */
bool sass_patch_may_clobber_predicates(const struct patch_ctx *p);
/* Emits the exit probe, and replaces each EXIT of the kernel by a branch to it. Returns 0, or -EINVAL with the
 * reason in p->diag. */
int sass_patch_emit_exit(struct patch_ctx *p);

#endif
