/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates code that computes the operands of places (address, value, branch mask) for the probes that read them. Also
 * generates code that selects the lanes for which a probe runs. This code uses s0, s1 and the vector registers from
 * draft->copies on.
 */
#include "insn_text.h"

/* Returns the name of the scalar registers for a lane mask or the carries of a vector addition. */
static const char *get_lane_mask_name(const struct hip_text *t)
{
	return t->draft->wave32 ? "s0" : "s[0:1]";
}

static uint32_t get_operand_register(const struct hip_text *t, uint32_t half)
{
	return t->draft->lane_reg[half];
}

/* Copies register number i of the range `from` to v<to>, or 0 if the range has no register i. */
static void emit_copy(struct hip_text *t, uint32_t to, struct hip_reg from, uint32_t i)
{
	uint32_t reg = from.first + i;

	if (i >= from.n)
		fprintf(t->f, "\tv_mov_b32 v%u, 0\n", to);
	else if (from.file == 'e')
		fprintf(t->f, "\tv_mov_b32 v%u, %s\n", to, reg ? "exec_hi" : "exec_lo");
	else if (from.file == 'm')
		fprintf(t->f, "\tv_mov_b32 v%u, m0\n", to);
	else if (from.file == 'a')
		fprintf(t->f, "\tv_accvgpr_read_b32 v%u, a%u\n", to, reg);
	else if (from.file == 's' && reg >= HIP_VCC)
		fprintf(t->f, "\tv_mov_b32 v%u, %s\n", to, reg == HIP_VCC ? "vcc_lo" : "vcc_hi");
	else
		fprintf(t->f, "\tv_mov_b32 v%u, %c%u\n", to, from.file, reg);
}

/*
 * Adds two 64-bit numbers in vector register pairs; the sum replaces the first one. The function add_number() adds a
 * constant, and uses the registers draft->copies and draft->copies + 1 as temporaries.
 */
static void emit_add64(struct hip_text *t, uint32_t low, uint32_t high, uint32_t add, uint32_t add_high)
{
	hip_emit_hazard_wait(t);
	fprintf(t->f, "\tv_add_co_u32_e64 v%u, %s, v%u, v%u\n", low, get_lane_mask_name(t), low, add);
	hip_emit_hazard_wait(t);
	fprintf(t->f, "\t%s v%u, %s, v%u, v%u, %s\n", t->spelling->add_carry, high, get_lane_mask_name(t), high,
		add_high, get_lane_mask_name(t));
	hip_emit_hazard_wait(t);
}

static void add_number(struct hip_text *t, uint32_t low, uint32_t high, int32_t number)
{
	uint32_t temp = t->draft->copies;

	if (!number)
		return;
	fprintf(t->f, "\tv_mov_b32 v%u, %d\n\tv_mov_b32 v%u, %d\n", temp, number, temp + 1, number < 0 ? -1 : 0);
	emit_add64(t, low, high, temp, temp + 1);
}

static void emit_add32(struct hip_text *t, uint32_t to, uint32_t add)
{
	fprintf(t->f, "\t%s v%u, v%u, v%u\n", t->spelling->add, to, to, add);
}

static void emit_add32_number(struct hip_text *t, uint32_t to, int32_t number)
{
	fprintf(t->f, "\tv_mov_b32 v%u, %d\n", t->draft->copies, number);
	emit_add32(t, to, t->draft->copies);
}

/* Reads the aperture of group or private memory into s1. The aperture is the upper half of generic addresses in this
 * memory. */
static void emit_aperture(struct hip_text *t, uint32_t space)
{
	fprintf(t->f, "\ts_mov_b64 s[0:1], %s\n", space == GPUBPF_SHARED ? "src_shared_base" : "src_private_base");
	hip_emit_hazard_wait(t);
}

/* Computes the address operand of an access with a 64-bit address (HIP_AT_VECTOR, HIP_AT_SCALAR). */
static void emit_wide_address(struct hip_text *t, const struct hip_access *a)
{
	uint32_t low = get_operand_register(t, HIP_ADDR), high = get_operand_register(t, HIP_ADDR + 1),
		 temp = t->draft->copies;

	if (a->by == HIP_AT_VECTOR) {
		emit_copy(t, low, a->vector, 0);
		emit_copy(t, high, a->vector, 1);
	} else {
		emit_copy(t, low, a->scalar, 0);
		emit_copy(t, high, a->scalar, 1);
		emit_copy(t, temp, a->vector, 0);
		fprintf(t->f, "\tv_mov_b32 v%u, 0\n", temp + 1);
		if (a->vector.n)
			emit_add64(t, low, high, temp, temp + 1);
	}
	add_number(t, low, high, a->offset);
	if (a->once && a->bytes >= 4)
		fprintf(t->f, "\tv_and_b32 v%u, -4, v%u\n", low, low);
}

/*
 * Computes the address operand of an access with a 32-bit offset. The operand is a generic address: its low half is the
 * offset, and its high half is the aperture.
 */
static void emit_narrow_address(struct hip_text *t, const struct hip_access *a)
{
	uint32_t low = get_operand_register(t, HIP_ADDR), temp = t->draft->copies;

	emit_copy(t, low, a->scalar, 0);
	emit_copy(t, temp, a->vector, 0);
	if (a->by == HIP_AT_BUFFER)
		fprintf(t->f, "\tv_lshrrev_b32 v%u, %u, v%u\n", low, t->draft->wave32 ? 5 : 6, low);
	emit_add32(t, low, temp);
	emit_add32_number(t, low, a->offset);
	emit_aperture(t, a->spaces == GPUBPF_IN(SHARED) ? GPUBPF_SHARED : GPUBPF_LOCAL);
	fprintf(t->f, "\tv_mov_b32 v%u, s1\n", get_operand_register(t, HIP_ADDR + 1));
	hip_emit_hazard_wait(t);
}

static void emit_address(struct hip_text *t, const struct hip_access *a)
{
	if (a->by == HIP_AT_VECTOR || a->by == HIP_AT_SCALAR)
		emit_wide_address(t, a);
	else
		emit_narrow_address(t, a);
}

/* Clears the bits of a value's register that the access does not store. */
static void truncate_value(struct hip_text *t, const struct hip_access *a, uint32_t reg)
{
	if (a->high)
		fprintf(t->f, "\tv_lshrrev_b32 v%u, 16, v%u\n", reg, reg);
	if (a->bytes < 4)
		fprintf(t->f, "\tv_and_b32 v%u, %#x, v%u\n", reg, (1u << 8 * a->bytes) - 1, reg);
}

static void emit_values(struct hip_text *t, const struct hip_access *a)
{
	const struct hip_reg *operand = a->op == GPUBPF_RMW_COMPARE ? &a->compared : &a->value;

	for (uint32_t i = 0; i < 4; i++)
		if (get_operand_register(t, HIP_VALUE + i) != UINT32_MAX) {
			emit_copy(t, get_operand_register(t, HIP_VALUE + i), a->value, i);
			if (!i && a->value.n)
				truncate_value(t, a, get_operand_register(t, HIP_VALUE));
		}
	for (uint32_t i = 0; i < 2; i++)
		if (get_operand_register(t, HIP_OPERAND + i) != UINT32_MAX)
			emit_copy(t, get_operand_register(t, HIP_OPERAND + i), *operand, i);
}

static void emit_old(struct hip_text *t, const struct hip_access *a)
{
	for (uint32_t i = 0; i < 2; i++)
		if (get_operand_register(t, HIP_OLD + i) != UINT32_MAX)
			emit_copy(t, get_operand_register(t, HIP_OLD + i),
				  a->access == GPUBPF_ATOMIC ? a->old : (struct hip_reg){ 0 }, i);
}

void hip_emit_offset(struct hip_text *t, uint32_t space)
{
	uint32_t low = get_operand_register(t, HIP_OFFSET), high = get_operand_register(t, HIP_OFFSET + 1);

	if (low != UINT32_MAX)
		fprintf(t->f, "\tv_mov_b32 v%u, v%u\n", low, get_operand_register(t, HIP_ADDR));
	if (high != UINT32_MAX && space == GPUBPF_GLOBAL)
		fprintf(t->f, "\tv_mov_b32 v%u, v%u\n", high, get_operand_register(t, HIP_ADDR + 1));
	else if (high != UINT32_MAX)
		fprintf(t->f, "\tv_mov_b32 v%u, 0\n", high);
}

void hip_emit_space_filter(struct hip_text *t, uint32_t space)
{
	for (uint32_t i = GPUBPF_SHARED; i <= GPUBPF_LOCAL; i++) {
		if (space != GPUBPF_GLOBAL && space != i)
			continue;
		emit_aperture(t, i);
		fprintf(t->f, "\tv_mov_b32 v%u, s1\n", t->draft->copies);
		hip_emit_hazard_wait(t);
		fprintf(t->f, "\tv_cmpx_%s_u32_e64 %sv%u, v%u\n", space == i ? "eq" : "ne", t->spelling->compare,
			t->draft->copies, get_operand_register(t, HIP_ADDR + 1));
		hip_emit_hazard_wait(t);
	}
}

void hip_emit_outside_filter(struct hip_text *t, enum hip_field field, uint32_t bytes)
{
	uint32_t low = t->draft->copies, high = low + 1;

	if (t->initial_state.at[field] < 0)
		return;
	for (uint32_t i = 0; i < 2; i++) {
		fprintf(t->f, "\tv_readlane_b32 s0, v%u, %u\n", t->draft->state, t->initial_state.at[field] + i);
		hip_emit_hazard_wait(t);
		fprintf(t->f, "\tv_mov_b32 v%u, s0\n", low + i);
	}
	fprintf(t->f, "\tv_sub_co_u32_e64 v%u, %s, v%u, v%u\n", low, get_lane_mask_name(t),
		get_operand_register(t, HIP_ADDR), low);
	hip_emit_hazard_wait(t);
	fprintf(t->f, "\t%s v%u, %s, v%u, v%u, %s\n", t->spelling->sub_borrow, high, get_lane_mask_name(t),
		get_operand_register(t, HIP_ADDR + 1), high, get_lane_mask_name(t));
	hip_emit_hazard_wait(t);
	fprintf(t->f, "\tv_cmp_ne_u32_e64 %s, 0, v%u\n", get_lane_mask_name(t), high);
	hip_emit_hazard_wait(t);
	fprintf(t->f, "\tv_cndmask_b32_e64 v%u, v%u, -1, %s\n\tv_mov_b32 v%u, %u\n", low, low, get_lane_mask_name(t),
		high, bytes);
	hip_emit_hazard_wait(t);
	fprintf(t->f, "\tv_cmpx_ge_u32_e64 %sv%u, v%u\n", t->spelling->compare, low, high);
	hip_emit_hazard_wait(t);
}

void hip_emit_first_lane(struct hip_text *t)
{
	fprintf(t->f, t->draft->wave32 ? "\t%s_b32 s0, exec_lo\n" : "\t%s_b64 s0, exec\n", t->spelling->first_bit);
	hip_emit_hazard_wait(t);
	fputs(t->draft->wave32 ? "\ts_bfm_b32 exec_lo, 1, s0\n" : "\ts_bfm_b64 exec, 1, s0\n", t->f);
	hip_emit_hazard_wait(t);
}

void hip_emit_operands_before(struct hip_text *t, const struct hip_patch *patch, uint32_t access)
{
	if (patch->kind != HIP_PATCH_ACCESS)
		return;
	emit_address(t, &patch->access[access]);
	emit_values(t, &patch->access[access]);
}

void hip_emit_operands_after(struct hip_text *t, const struct hip_patch *patch, uint32_t access)
{
	if (patch->kind != HIP_PATCH_ACCESS || access >= patch->naccesses)
		return;
	/*
	 * The instruction may have overwritten the address register. So the address of access 1 is computed from that
	 * of access 0.
	 */
	if (access) {
		emit_add32_number(t, get_operand_register(t, HIP_ADDR), patch->access[1].offset - patch->access[0].offset);
		emit_values(t, &patch->access[1]);
	}
	emit_old(t, &patch->access[access]);
}

static bool reads_uniform(const struct hip_text *t, uint32_t what)
{
	for (uint32_t b = 0; b < t->draft->nbodies; b++)
		if (t->draft->bodies[b].uniform_operands >> what & 3)
			return true;
	return false;
}

static void emit_mask(struct hip_text *t, const char *low, const char *high, enum hip_uniform_operand what)
{
	if (!reads_uniform(t, what))
		return;
	fprintf(t->f, "\tv_writelane_b32 v%u, %s, %u\n", t->draft->uniform_reg, low, what);
	fprintf(t->f, "\tv_writelane_b32 v%u, %s, %u\n", t->draft->uniform_reg, t->draft->wave32 ? "0" : high, what + 1);
}

void hip_emit_branch_operands(struct hip_text *t, bool others)
{
	uint32_t taken = t->draft->copies;

	hip_emit_hazard_wait(t);
	fprintf(t->f, "\tv_cndmask_b32_e64 v%u, %u, %u, %s\n", taken, others, !others, get_lane_mask_name(t));
	hip_emit_hazard_wait(t);
	fprintf(t->f, "\tv_cmp_ne_u32_e64 %s, 0, v%u\n", get_lane_mask_name(t), taken);
	hip_emit_hazard_wait(t);
	if (get_operand_register(t, HIP_TAKEN) != UINT32_MAX)
		fprintf(t->f, "\tv_mov_b32 v%u, v%u\n", get_operand_register(t, HIP_TAKEN), taken);
	if (get_operand_register(t, HIP_TAKEN + 1) != UINT32_MAX)
		fprintf(t->f, "\tv_mov_b32 v%u, 0\n", get_operand_register(t, HIP_TAKEN + 1));
	emit_mask(t, "s0", "s1", HIP_LANES);
	emit_mask(t, "exec_lo", "exec_hi", HIP_ACTIVE);
}

void hip_emit_register_operands(struct hip_text *t, enum hip_lane_operand first, const struct hip_reg *registers,
				uint32_t n)
{
	hip_restore_scalars(t);
	for (uint32_t i = 0; i < 2 * n; i++)
		if (get_operand_register(t, first + i) != UINT32_MAX)
			emit_copy(t, get_operand_register(t, first + i), registers[i / 2], i % 2);
}
