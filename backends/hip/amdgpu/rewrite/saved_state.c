/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Saves and restores the kernel's registers around calls of probe bodies. The lanes of vector registers, from
 * draft->saved_reg on, hold the scalar registers.
 *
 *   `gpubpf_call_<b>`: saves the scalar registers, SCC, VCC, M0, EXEC, the floating-point mode, and the vector
 *   registers that bodies use. Then it sets the initial registers that body b expects, since LLVM compiles the body as
 *   a GPU kernel.
 *   `HIP_STUB_TO_BODY`: the branch to the body.
 *   `HIP_STUB_FROM_BODY`: the body returns here. Restores all registers of the kernel, and returns to the place's stub.
 */
#include "insn_text.h"

static void find_lane(const struct hip_text *t, uint32_t at, uint32_t *reg, uint32_t *lane)
{
	uint32_t lanes = t->draft->wave32 ? 32 : 64;

	*reg = t->draft->saved_reg + at / lanes;
	*lane = at % lanes;
}

static void save_register(struct hip_text *t, const char *reg, uint32_t at)
{
	uint32_t v, lane;

	find_lane(t, at, &v, &lane);
	fprintf(t->f, "\tv_writelane_b32 v%u, %s, %u\n", v, reg, lane);
}

static void restore_register(struct hip_text *t, const char *reg, uint32_t at)
{
	uint32_t v, lane;

	find_lane(t, at, &v, &lane);
	fprintf(t->f, "\tv_readlane_b32 %s, v%u, %u\n", reg, v, lane);
}

static uint32_t get_saved_lane(const struct hip_text *t, enum hip_saved_lane what)
{
	return t->draft->scalars + what;
}

static void move_scalars(struct hip_text *t, uint32_t from, uint32_t to, bool back)
{
	char reg[16];

	for (uint32_t i = from; i < to; i++) {
		snprintf(reg, sizeof(reg), "s%u", i);
		if (back)
			restore_register(t, reg, i);
		else
			save_register(t, reg, i);
	}
}

void hip_begin_stub(struct hip_text *t)
{
	hip_emit_hazard_wait(t);
	move_scalars(t, 0, 2, false);
	hip_emit_hazard_wait(t);
}

void hip_restore_scalars(struct hip_text *t)
{
	move_scalars(t, 0, 2, true);
	hip_emit_hazard_wait(t);
}

void hip_end_stub(struct hip_text *t)
{
	hip_emit_hazard_wait(t);
	hip_restore_scalars(t);
}

void hip_save_exec(struct hip_text *t, enum hip_saved_lane what)
{
	save_register(t, "exec_lo", get_saved_lane(t, what));
	if (!t->draft->wave32)
		save_register(t, "exec_hi", get_saved_lane(t, what) + 1);
	hip_emit_hazard_wait(t);
}

void hip_restore_mask(struct hip_text *t, enum hip_saved_lane what)
{
	restore_register(t, "s0", get_saved_lane(t, what));
	if (!t->draft->wave32)
		restore_register(t, "s1", get_saved_lane(t, what) + 1);
}

void hip_restore_exec(struct hip_text *t, enum hip_saved_lane what)
{
	hip_restore_mask(t, what);
	hip_set_exec(t);
}

/* Saves the vector registers that bodies use, for all lanes, or restores them if `back` is set. Clobbers s0 and s1. */
static void copy_vectors(struct hip_text *t, bool back)
{
	const struct hip_draft *draft = t->draft;

	fputs(draft->wave32 ? "\ts_mov_b32 exec_lo, -1\n" : "\ts_mov_b64 exec, -1\n", t->f);
	hip_emit_hazard_wait(t);
	for (uint32_t i = 0; i < draft->ncopies; i++)
		fprintf(t->f, "\tv_mov_b32 v%u, v%u\n", back ? i : draft->copies + i, back ? draft->copies + i : i);
	hip_restore_exec(t, HIP_SAVED_EXEC);
}

static void save_all(struct hip_text *t)
{
	save_register(t, "s0", get_saved_lane(t, HIP_SAVED_RETURN));
	save_register(t, "s1", get_saved_lane(t, HIP_SAVED_RETURN) + 1);
	fputs("\ts_cselect_b32 s0, 1, 0\n\ts_getreg_b32 s1, hwreg(1, 0, 8)\n", t->f);
	hip_emit_hazard_wait(t);
	save_register(t, "s0", get_saved_lane(t, HIP_SAVED_SCC));
	save_register(t, "s1", get_saved_lane(t, HIP_SAVED_MODE));
	save_register(t, "m0", get_saved_lane(t, HIP_SAVED_M0));
	save_register(t, "vcc_lo", get_saved_lane(t, HIP_SAVED_VCC));
	save_register(t, "vcc_hi", get_saved_lane(t, HIP_SAVED_VCC) + 1);
	move_scalars(t, 2, t->draft->scalars, false);
	hip_save_exec(t, HIP_SAVED_EXEC);
	copy_vectors(t, false);
}

static void restore_all(struct hip_text *t)
{
	fputs(t->spelling->wait, t->f);
	copy_vectors(t, true);
	restore_register(t, "s0", get_saved_lane(t, HIP_SAVED_MODE));
	restore_register(t, "s1", get_saved_lane(t, HIP_SAVED_M0));
	hip_emit_hazard_wait(t);
	fputs("\ts_setreg_b32 hwreg(1, 0, 8), s0\n\ts_mov_b32 m0, s1\n", t->f);
	move_scalars(t, 2, t->draft->scalars, true);
	restore_register(t, "s0", get_saved_lane(t, HIP_SAVED_SCC));
	hip_emit_hazard_wait(t);
	fputs("\ts_cmp_lg_u32 s0, 0\n", t->f);
	restore_register(t, "vcc_lo", get_saved_lane(t, HIP_SAVED_VCC));
	restore_register(t, "vcc_hi", get_saved_lane(t, HIP_SAVED_VCC) + 1);
	restore_register(t, "s0", get_saved_lane(t, HIP_SAVED_RETURN));
	restore_register(t, "s1", get_saved_lane(t, HIP_SAVED_RETURN) + 1);
	hip_emit_hazard_wait(t);
	/* Write all of VCC: a write to half of it does not update VCCZ, which branches test. */
	fputs(t->draft->wave32 ? "\ts_mov_b32 vcc_lo, vcc_lo\n" : "\ts_mov_b64 vcc, vcc\n", t->f);
	fputs("\ts_setpc_b64 s[0:1]\n", t->f);
}

void hip_write_calls(struct hip_text *t)
{
	for (uint32_t b = 0; b < t->draft->nbodies; b++) {
		fprintf(t->f, "gpubpf_call_%u:\n", b);
		save_all(t);
		hip_restore_state(t, &t->draft->bodies[b].descriptor);
		fprintf(t->f, HIP_STUB_TO_BODY ":\n\ts_nop 0\n" HIP_STUB_FROM_BODY ":\n", b, b);
		restore_all(t);
		fputs("\t.pool\n", t->f);
	}
}
