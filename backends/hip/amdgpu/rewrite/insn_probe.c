/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits probes at single instructions of machine code. Everything may be live there. So the stub saves all registers
 * that a probe uses, in vector registers above the kernel's. It also waits for the kernel's outstanding operations.
 *
 *   gpubpf_place_<i>: instruction i of the patches is a branch to this stub. It computes the place's operands, calls
 *   the bodies before the instruction, executes it, calls the bodies after it, and branches back. It saves and uses s0
 *   and s1. It changes EXEC for accesses by some lanes only, and never SCC or VCC. An instruction that narrows EXEC is
 *   executed first, which shows the lanes that stay. The bodies are then called with all lanes that arrived.
 *   gpubpf_call_<b>: calls body b. It saves the scalar registers, SCC, VCC, M0, EXEC, the floating-point mode and the
 *   vector registers that bodies use. Then it sets up the body's own state as a kernel.
 *   HIP_STUB_TO_BODY: the branch to the body.
 *   HIP_STUB_FROM_BODY: the body's ends return here; restores all of the kernel's state.
 */
#include <string.h>

#include "stub_text.h"

static void lane_of(const struct hip_text *t, uint32_t at, uint32_t *reg, uint32_t *lane)
{
	uint32_t lanes = t->draft->wave32 ? 32 : 64;

	*reg = t->draft->saved + at / lanes;
	*lane = at % lanes;
}

static void save_register(struct hip_text *t, const char *reg, uint32_t at)
{
	uint32_t v, lane;

	lane_of(t, at, &v, &lane);
	fprintf(t->f, "\tv_writelane_b32 v%u, %s, %u\n", v, reg, lane);
}

static void restore_register(struct hip_text *t, const char *reg, uint32_t at)
{
	uint32_t v, lane;

	lane_of(t, at, &v, &lane);
	fprintf(t->f, "\tv_readlane_b32 %s, v%u, %u\n", reg, v, lane);
}

static uint32_t saved_at(const struct hip_text *t, enum hip_saved_lane what)
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

/* Saves s0 and s1 of the kernel, which a place's stub uses. */
static void begin_stub(struct hip_text *t)
{
	hip_emit_hazard_wait(t);
	move_scalars(t, 0, 2, false);
	hip_emit_hazard_wait(t);
}

static void end_stub(struct hip_text *t)
{
	hip_emit_hazard_wait(t);
	move_scalars(t, 0, 2, true);
	hip_emit_hazard_wait(t);
}

static void save_exec(struct hip_text *t, enum hip_saved_lane what)
{
	save_register(t, "exec_lo", saved_at(t, what));
	if (!t->draft->wave32)
		save_register(t, "exec_hi", saved_at(t, what) + 1);
	hip_emit_hazard_wait(t);
}

static void restore_exec(struct hip_text *t, enum hip_saved_lane what)
{
	restore_register(t, "s0", saved_at(t, what));
	if (!t->draft->wave32)
		restore_register(t, "s1", saved_at(t, what) + 1);
	hip_set_exec(t);
}

/* Returns the registers of a lane mask, which also hold an addition's carry. */
static const char *lane_mask(const struct hip_text *t)
{
	return t->draft->wave32 ? "s0" : "s[0:1]";
}

static uint32_t operand_register(const struct hip_text *t, uint32_t half)
{
	return t->draft->given[half];
}

/* Copies 32 bits of an operand's registers; 0 after its last register. */
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

/* Adds a 64-bit value in two vector registers to another. add_number() adds a constant through the registers from
 * `copies` on, which are free. */
static void add64(struct hip_text *t, uint32_t low, uint32_t high, uint32_t add, uint32_t add_high)
{
	hip_emit_hazard_wait(t);
	fprintf(t->f, "\tv_add_co_u32_e64 v%u, %s, v%u, v%u\n", low, lane_mask(t), low, add);
	hip_emit_hazard_wait(t);
	fprintf(t->f, "\t%s v%u, %s, v%u, v%u, %s\n", t->say->add_carry, high, lane_mask(t), high, add_high, lane_mask(t));
	hip_emit_hazard_wait(t);
}

static void add_number(struct hip_text *t, uint32_t low, uint32_t high, int32_t number)
{
	uint32_t temp = t->draft->copies;

	if (!number)
		return;
	fprintf(t->f, "\tv_mov_b32 v%u, %d\n\tv_mov_b32 v%u, %d\n", temp, number, temp + 1, number < 0 ? -1 : 0);
	add64(t, low, high, temp, temp + 1);
}

static void add32(struct hip_text *t, uint32_t to, uint32_t add)
{
	fprintf(t->f, "\t%s v%u, v%u, v%u\n", t->say->add, to, to, add);
}

static void add32_number(struct hip_text *t, uint32_t to, int32_t number)
{
	fprintf(t->f, "\tv_mov_b32 v%u, %d\n", t->draft->copies, number);
	add32(t, to, t->draft->copies);
}

/* Reads the upper half of generic addresses in the group's or private memory into s1. */
static void emit_aperture(struct hip_text *t, uint32_t space)
{
	fprintf(t->f, "\ts_mov_b64 s[0:1], %s\n", space == GPUBPF_SHARED ? "src_shared_base" : "src_private_base");
	hip_emit_hazard_wait(t);
}

/* Computes a 64-bit address, for all lanes. */
static void emit_wide_address(struct hip_text *t, const struct hip_access *a)
{
	uint32_t low = operand_register(t, HIP_ADDR), high = operand_register(t, HIP_ADDR + 1), temp = t->draft->copies;

	if (a->by == HIP_AT_VECTOR) {
		emit_copy(t, low, a->vector, 0);
		emit_copy(t, high, a->vector, 1);
	} else {
		emit_copy(t, low, a->scalar, 0);
		emit_copy(t, high, a->scalar, 1);
		emit_copy(t, temp, a->vector, 0);
		fprintf(t->f, "\tv_mov_b32 v%u, 0\n", temp + 1);
		if (a->vector.n)
			add64(t, low, high, temp, temp + 1);
	}
	add_number(t, low, high, a->offset);
	if (a->once && a->bytes >= 4)
		fprintf(t->f, "\tv_and_b32 v%u, -4, v%u\n", low, low);
}

/* Computes the offset in the space, and its generic address. */
static void emit_narrow_address(struct hip_text *t, const struct hip_access *a)
{
	uint32_t low = operand_register(t, HIP_ADDR), temp = t->draft->copies;

	emit_copy(t, low, a->scalar, 0);
	emit_copy(t, temp, a->vector, 0);
	if (a->by == HIP_AT_BUFFER)
		fprintf(t->f, "\tv_lshrrev_b32 v%u, %u, v%u\n", low, t->draft->wave32 ? 5 : 6, low);
	add32(t, low, temp);
	add32_number(t, low, a->offset);
	emit_aperture(t, a->spaces == GPUBPF_IN(SHARED) ? GPUBPF_SHARED : GPUBPF_LOCAL);
	fprintf(t->f, "\tv_mov_b32 v%u, s1\n", operand_register(t, HIP_ADDR + 1));
	hip_emit_hazard_wait(t);
}

static void emit_address(struct hip_text *t, const struct hip_access *a)
{
	if (a->by == HIP_AT_VECTOR || a->by == HIP_AT_SCALAR)
		emit_wide_address(t, a);
	else
		emit_narrow_address(t, a);
}

/* Reduces a value to its bytes. */
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
		if (operand_register(t, HIP_VALUE + i) != UINT32_MAX) {
			emit_copy(t, operand_register(t, HIP_VALUE + i), a->value, i);
			if (!i && a->value.n)
				truncate_value(t, a, operand_register(t, HIP_VALUE));
		}
	for (uint32_t i = 0; i < 2; i++)
		if (operand_register(t, HIP_OPERAND + i) != UINT32_MAX)
			emit_copy(t, operand_register(t, HIP_OPERAND + i), *operand, i);
}

static void emit_old(struct hip_text *t, const struct hip_access *a)
{
	for (uint32_t i = 0; i < 2; i++)
		if (operand_register(t, HIP_OLD + i) != UINT32_MAX)
			emit_copy(t, operand_register(t, HIP_OLD + i), a->access == GPUBPF_ATOMIC ? a->old : (struct hip_reg){ 0 }, i);
}

static void emit_offset(struct hip_text *t, uint32_t space)
{
	uint32_t low = operand_register(t, HIP_OFFSET), high = operand_register(t, HIP_OFFSET + 1);

	if (low != UINT32_MAX)
		fprintf(t->f, "\tv_mov_b32 v%u, v%u\n", low, operand_register(t, HIP_ADDR));
	if (high != UINT32_MAX && space == GPUBPF_GLOBAL)
		fprintf(t->f, "\tv_mov_b32 v%u, v%u\n", high, operand_register(t, HIP_ADDR + 1));
	else if (high != UINT32_MAX)
		fprintf(t->f, "\tv_mov_b32 v%u, 0\n", high);
}

/* Removes the lanes from EXEC whose address is not in that space. It clobbers s1. */
static void emit_space_filter(struct hip_text *t, uint32_t space)
{
	for (uint32_t i = GPUBPF_SHARED; i <= GPUBPF_LOCAL; i++) {
		if (space != GPUBPF_GLOBAL && space != i)
			continue;
		emit_aperture(t, i);
		fprintf(t->f, "\tv_mov_b32 v%u, s1\n", t->draft->copies);
		hip_emit_hazard_wait(t);
		fprintf(t->f, "\tv_cmpx_%s_u32_e64 %sv%u, v%u\n", space == i ? "eq" : "ne", t->say->compare, t->draft->copies,
			operand_register(t, HIP_ADDR + 1));
		hip_emit_hazard_wait(t);
	}
}

/* Removes the lanes from EXEC whose address lies in memory that the runtime made for the launch: `bytes` from the
 * address in a register of the initial state. */
static void emit_outside_filter(struct hip_text *t, enum hip_field field, uint32_t bytes)
{
	uint32_t low = t->draft->copies, high = low + 1;

	if (t->kept.at[field] < 0)
		return;
	for (uint32_t i = 0; i < 2; i++) {
		fprintf(t->f, "\tv_readlane_b32 s0, v%u, %u\n", t->draft->state, t->kept.at[field] + i);
		hip_emit_hazard_wait(t);
		fprintf(t->f, "\tv_mov_b32 v%u, s0\n", low + i);
	}
	fprintf(t->f, "\tv_sub_co_u32_e64 v%u, %s, v%u, v%u\n", low, lane_mask(t), operand_register(t, HIP_ADDR), low);
	hip_emit_hazard_wait(t);
	fprintf(t->f, "\t%s v%u, %s, v%u, v%u, %s\n", t->say->sub_borrow, high, lane_mask(t), operand_register(t, HIP_ADDR + 1), high,
		lane_mask(t));
	hip_emit_hazard_wait(t);
	fprintf(t->f, "\tv_cmp_ne_u32_e64 %s, 0, v%u\n", lane_mask(t), high);
	hip_emit_hazard_wait(t);
	fprintf(t->f, "\tv_cndmask_b32_e64 v%u, v%u, -1, %s\n\tv_mov_b32 v%u, %u\n", low, low, lane_mask(t), high, bytes);
	hip_emit_hazard_wait(t);
	fprintf(t->f, "\tv_cmpx_ge_u32_e64 %sv%u, v%u\n", t->say->compare, low, high);
	hip_emit_hazard_wait(t);
}

/* Reduces EXEC to its first lane. */
static void emit_first_lane(struct hip_text *t)
{
	fprintf(t->f, t->draft->wave32 ? "\t%s_b32 s0, exec_lo\n" : "\t%s_b64 s0, exec\n", t->say->first_bit);
	hip_emit_hazard_wait(t);
	fputs(t->draft->wave32 ? "\ts_bfm_b32 exec_lo, 1, s0\n" : "\ts_bfm_b64 exec, 1, s0\n", t->f);
	hip_emit_hazard_wait(t);
}

/* a call of a body */
struct call {
	uint32_t patch, body;      /* indices */
	uint32_t id;               /* of the place, within its kind */
	const struct hip_access *access; /* NULL: not a memory access */
	uint32_t space;            /* space of the access, for the lanes that run */
	uint32_t *labels;          /* number of the place's labels so far */
};

static void write_same(struct hip_text *t, const struct call *c)
{
	const struct hip_patch *patch = &t->draft->code->patches[c->patch];
	const struct hip_access *a = c->access;
	uint32_t values[HIP_NCONSTANTS] = {
		[HIP_PLACE_ID] = c->id, [HIP_LINE] = patch->line, [HIP_BARRIER_KIND] = GPUBPF_BARRIER_BLOCK,
		[HIP_BYTES] = a ? a->bytes : 0, [HIP_ACCESS] = a ? a->access : 0, [HIP_SPACE] = c->space, [HIP_OP] = a ? a->op : 0,
		[HIP_HINT] = a ? a->hint : 0,
		[HIP_COUNT] = a && a->access != GPUBPF_ATOMIC && a->bytes > 4 ? a->bytes / 4 : 1,
	};

	for (uint32_t i = 0; i < HIP_NCONSTANTS; i++)
		if (t->draft->bodies[c->body].same >> i & 1)
			fprintf(t->f, "\ts_mov_b32 s0, %#x\n%s\tv_writelane_b32 v%u, s0, %u\n", values[i], t->say->settle,
				t->draft->same, i);
}

static void write_call(struct hip_text *t, const struct call *c)
{
	uint32_t label = (*c->labels)++;

	fprintf(t->f, "\ts_cbranch_execz gpubpf_skip_%u_%u\n", c->patch, label);
	write_same(t, c);
	fprintf(t->f, "\ts_call_b64 s[0:1], gpubpf_call_%u\ngpubpf_skip_%u_%u:\n", c->body, c->patch, label);
}

/* Calls a body once for each space that the kind of place includes, with the lanes whose address is in it. */
static void call_by_space(struct hip_text *t, struct call *c, uint32_t spaces)
{
	bool several = __builtin_popcount(c->access->spaces) > 1;

	if (several || c->access->once)
		save_exec(t, HIP_SAVED_ARRIVED);
	for (c->space = GPUBPF_GLOBAL; c->space <= GPUBPF_LOCAL; c->space++) {
		if (!(spaces & c->access->spaces & 1u << c->space))
			continue;
		if (several)
			emit_space_filter(t, c->space);
		if (c->access->once) {
			fprintf(t->f, "\ts_cbranch_execz gpubpf_none_%u_%u\n", c->patch, *c->labels);
			emit_outside_filter(t, HIP_KERNARG, t->draft->arguments);
			emit_outside_filter(t, HIP_DISPATCH, 64);
			fprintf(t->f, "\ts_cbranch_execz gpubpf_none_%u_%u\n", c->patch, *c->labels);
			emit_first_lane(t);
			fprintf(t->f, "gpubpf_none_%u_%u:\n", c->patch, *c->labels);
		}
		emit_offset(t, c->space);
		write_call(t, c);
		if (several || c->access->once)
			restore_exec(t, HIP_SAVED_ARRIVED);
	}
}

static bool is_of_function(enum gpubpf_site kind)
{
	return gpubpf_place_kind(kind)->where == GPUBPF_WHERE_FUNCTION;
}

/* Returns true if the instruction has a body at a place with a name. Its operands use other registers, so it is called
 * before the instruction's other bodies. Bodies at a function's entry or return come even earlier. */
static bool is_named(const struct hip_text *t, uint32_t i)
{
	for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++)
		if (t->draft->stands[i][0][kind].body && gpubpf_place_has_name(kind))
			return true;
	return false;
}

/* Returns true if a body runs at an access, barrier or branch of the place, before or after it. */
static bool has_body(const struct hip_text *t, uint32_t i, uint32_t access, enum gpubpf_when when)
{
	for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++)
		if (t->draft->stands[i][access][kind].body && gpubpf_place_kind(kind)->when == when && !gpubpf_place_has_name(kind) &&
		    !is_of_function(kind))
			return true;
	return false;
}

/* Returns true if a body runs at a function's first instruction or its return. */
static bool is_functions(const struct hip_text *t, uint32_t i)
{
	return t->draft->stands[i][0][GPUBPF_SITE_CALL].body || t->draft->stands[i][0][GPUBPF_SITE_CALL_EXIT].body;
}

static void call_all(struct hip_text *t, uint32_t i, uint32_t access, enum gpubpf_when when, uint32_t *labels)
{
	const struct hip_patch *patch = &t->draft->code->patches[i];

	for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++) {
		const struct hip_site_body *stand = &t->draft->stands[i][access][kind];
		const struct gpubpf_place_kind *k = gpubpf_place_kind(kind);
		struct call c = { .patch = i, .body = stand->body - 1, .id = stand->id, .labels = labels };

		if (!stand->body || k->when != when || gpubpf_place_has_name(kind) || is_of_function(kind))
			continue;
		if (k->spaces) {
			c.access = &patch->access[access];
			call_by_space(t, &c, k->spaces);
		} else {
			write_call(t, &c);
		}
	}
}

static bool has_bodies(const struct hip_text *t, uint32_t i, enum gpubpf_when when)
{
	return has_body(t, i, 0, when) || has_body(t, i, 1, when);
}

/* Computes an access's operands while its address and value registers still hold them. A store does not change them, so
 * it may run after the store too. */
static void emit_before(struct hip_text *t, const struct hip_patch *patch, uint32_t access)
{
	if (patch->kind != HIP_PATCH_ACCESS)
		return;
	emit_address(t, &patch->access[access]);
	emit_values(t, &patch->access[access]);
}

static bool reads_same(const struct hip_text *t, uint32_t what)
{
	for (uint32_t b = 0; b < t->draft->nbodies; b++)
		if (t->draft->bodies[b].same >> what & 3)
			return true;
	return false;
}

static void emit_mask(struct hip_text *t, const char *low, const char *high, enum hip_uniform_operand what)
{
	if (!reads_same(t, what))
		return;
	fprintf(t->f, "\tv_writelane_b32 v%u, %s, %u\n", t->draft->same, low, what);
	fprintf(t->f, "\tv_writelane_b32 v%u, %s, %u\n", t->draft->same, t->draft->wave32 ? "0" : high, what + 1);
}

/* Sets the operands of a branch. The lanes of EXEC that are in the mask s0 and s1 take the branch, or with `others` the
 * remaining ones. */
static void emit_branch_operands(struct hip_text *t, bool others)
{
	uint32_t taken = t->draft->copies;

	hip_emit_hazard_wait(t);
	fprintf(t->f, "\tv_cndmask_b32_e64 v%u, %u, %u, %s\n", taken, others, !others, lane_mask(t));
	hip_emit_hazard_wait(t);
	fprintf(t->f, "\tv_cmp_ne_u32_e64 %s, 0, v%u\n", lane_mask(t), taken);
	hip_emit_hazard_wait(t);
	if (operand_register(t, HIP_TAKEN) != UINT32_MAX)
		fprintf(t->f, "\tv_mov_b32 v%u, v%u\n", operand_register(t, HIP_TAKEN), taken);
	if (operand_register(t, HIP_TAKEN + 1) != UINT32_MAX)
		fprintf(t->f, "\tv_mov_b32 v%u, 0\n", operand_register(t, HIP_TAKEN + 1));
	emit_mask(t, "s0", "s1", HIP_LANES);
	emit_mask(t, "exec_lo", "exec_hi", HIP_ACTIVE);
}

/* Copies operands from the kernel's registers. s0 and s1 are restored first, since the stub may have changed them. */
static void emit_register_operands(struct hip_text *t, enum hip_lane_operand first, const struct hip_reg *registers, uint32_t n)
{
	move_scalars(t, 0, 2, true);
	hip_emit_hazard_wait(t);
	for (uint32_t i = 0; i < 2 * n; i++)
		if (operand_register(t, first + i) != UINT32_MAX)
			emit_copy(t, operand_register(t, first + i), registers[i / 2], i % 2);
}

static void write_named(struct hip_text *t, uint32_t i, uint32_t *labels)
{
	const struct hip_patch *patch = &t->draft->code->patches[i];

	begin_stub(t);
	for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++) {
		const struct hip_site_body *stand = &t->draft->stands[i][0][kind];

		if (!stand->body || !gpubpf_place_has_name(kind))
			continue;
		if (kind == GPUBPF_SITE_INSN)
			emit_register_operands(t, HIP_REGISTERS, patch->registers, HIP_MAX_REGISTERS);
		if (kind == GPUBPF_SITE_MARK)
			emit_register_operands(t, HIP_MARKED, &patch->marked, 1);
		write_call(t, &(struct call){ .patch = i, .body = stand->body - 1, .id = stand->id, .labels = labels });
	}
	end_stub(t);
}

/* Copies the registers from v0 on, which hold the arguments or result by the calling convention. */
static void write_function(struct hip_text *t, uint32_t i, uint32_t *labels)
{
	uint32_t read = 0;

	for (uint32_t b = 0; b < t->draft->nbodies; b++)
		read |= is_of_function(t->draft->bodies[b].kind) ? t->draft->bodies[b].given : 0;
	begin_stub(t);
	for (uint32_t reg = 0; reg < HIP_UNKNOWN_OPERAND; reg++)
		if (read >> reg & 1)
			fprintf(t->f, "\tv_mov_b32 v%u, v%u\n", operand_register(t, reg), reg);
	for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++) {
		const struct hip_site_body *stand = &t->draft->stands[i][0][kind];

		if (stand->body && is_of_function(kind))
			write_call(t, &(struct call){ .patch = i, .body = stand->body - 1, .id = stand->id, .labels = labels });
	}
	end_stub(t);
}

static void write_instruction(struct hip_text *t, uint32_t i)
{
	const struct hip_patch *patch = &t->draft->code->patches[i];
	bool jumps = patch->kind == HIP_PATCH_BRANCH || patch->kind == HIP_PATCH_JUMP;

	if (patch->kind == HIP_PATCH_PC)
		fprintf(t->f, "\ts_branch gpubpf_pc_%u\n", i);
	else if (patch->kind == HIP_PATCH_CLAUSE)
		fputs("\ts_nop 0\n", t->f);
	else if (jumps)
		fprintf(t->f, "\t%s " HIP_STUB_WORD "\n", patch->name, patch->target);
	if (patch->kind == HIP_PATCH_PC || patch->kind == HIP_PATCH_CLAUSE || jumps || hip_write_replacement(t, patch))
		return;
	for (uint32_t off = 0; off < patch->size; off += 4) {
		uint32_t word;

		memcpy(&word, t->draft->bytes + patch->off + off, sizeof(word));
		fprintf(t->f, "\t.long %#x\n", word);
	}
}

static void emit_after(struct hip_text *t, uint32_t i, uint32_t *labels)
{
	const struct hip_patch *patch = &t->draft->code->patches[i];

	for (uint32_t access = 0; access < HIP_MAX_ACCESSES; access++) {
		if (patch->kind == HIP_PATCH_ACCESS && access < patch->naccesses) {
			if (access) { /* the instruction may have overwritten the first one's address */
				add32_number(t, operand_register(t, HIP_ADDR), patch->access[1].offset - patch->access[0].offset);
				emit_values(t, &patch->access[1]);
			}
			emit_old(t, &patch->access[access]);
		}
		call_all(t, i, access, GPUBPF_WHEN_AFTER, labels);
	}
}

/* Handles a branch that is uniform for the wave: all of its lanes take it, or none. */
static void write_branch(struct hip_text *t, uint32_t i, uint32_t *labels)
{
	const struct hip_patch *patch = &t->draft->code->patches[i];
	const char *all = t->draft->wave32 ? "s_mov_b32 s0, exec_lo" : "s_mov_b64 s[0:1], exec";
	const char *none = t->draft->wave32 ? "s_mov_b32 s0, 0" : "s_mov_b64 s[0:1], 0";

	begin_stub(t);
	fprintf(t->f, "\t%s\n\t%s gpubpf_taken_%u\n\t%s\ngpubpf_taken_%u:\n", all, patch->name, i, none, i);
	emit_branch_operands(t, false);
	call_all(t, i, 0, GPUBPF_WHEN_BEFORE, labels);
	end_stub(t);
	write_instruction(t, i);
}

/* Handles an instruction that narrows EXEC. */
static void write_part(struct hip_text *t, uint32_t i, uint32_t *labels)
{
	const struct hip_patch *patch = &t->draft->code->patches[i];

	save_exec(t, HIP_SAVED_ARRIVED);
	write_instruction(t, i);
	hip_emit_hazard_wait(t);
	save_exec(t, HIP_SAVED_NARROWED);
	begin_stub(t);
	restore_exec(t, HIP_SAVED_ARRIVED);
	restore_register(t, "s0", saved_at(t, HIP_SAVED_NARROWED));
	if (!t->draft->wave32)
		restore_register(t, "s1", saved_at(t, HIP_SAVED_NARROWED) + 1);
	emit_branch_operands(t, !patch->loops);
	call_all(t, i, 0, GPUBPF_WHEN_BEFORE, labels);
	restore_exec(t, HIP_SAVED_NARROWED);
	end_stub(t);
}

static void write_around(struct hip_text *t, uint32_t i, uint32_t *labels)
{
	const struct hip_patch *patch = &t->draft->code->patches[i];
	bool behind = has_bodies(t, i, GPUBPF_WHEN_AFTER), before = has_bodies(t, i, GPUBPF_WHEN_BEFORE);

	if (before || behind)
		begin_stub(t);
	for (uint32_t access = HIP_MAX_ACCESSES; access-- > 0;) /* access 0 last: its operands are reused after */
		if (has_body(t, i, access, GPUBPF_WHEN_BEFORE)) {
			emit_before(t, patch, access);
			call_all(t, i, access, GPUBPF_WHEN_BEFORE, labels);
		}
	if (behind && (!before || !has_body(t, i, 0, GPUBPF_WHEN_BEFORE)))
		emit_before(t, patch, 0);
	if (before || behind)
		end_stub(t);
	write_instruction(t, i);
	if (behind) {
		fputs(t->say->wait, t->f);
		begin_stub(t);
		emit_after(t, i, labels);
		end_stub(t);
	}
}

static void write_place(struct hip_text *t, uint32_t i)
{
	enum hip_patch_kind kind = t->draft->code->patches[i].kind;
	bool branch = t->draft->stands[i][0][GPUBPF_SITE_BRANCH].body;
	uint32_t labels = 0;

	fprintf(t->f, "gpubpf_place_%u:\n%s%s", i, t->say->wait, t->draft->code->matrix ? t->say->drain : "");
	if (is_functions(t, i))
		write_function(t, i, &labels);
	if (is_named(t, i))
		write_named(t, i, &labels);
	if (branch && kind == HIP_PATCH_BRANCH)
		write_branch(t, i, &labels);
	else if (branch)
		write_part(t, i, &labels);
	else
		write_around(t, i, &labels);
	fprintf(t->f, "\ts_branch gpubpf_back_%u\n", i);
}

/* Saves or restores the vector registers that bodies use, for all lanes. It clobbers EXEC and s[0:1]. */
static void copy_vectors(struct hip_text *t, bool back)
{
	const struct hip_draft *draft = t->draft;

	fputs(draft->wave32 ? "\ts_mov_b32 exec_lo, -1\n" : "\ts_mov_b64 exec, -1\n", t->f);
	hip_emit_hazard_wait(t);
	for (uint32_t i = 0; i < draft->ncopies; i++)
		fprintf(t->f, "\tv_mov_b32 v%u, v%u\n", back ? i : draft->copies + i, back ? draft->copies + i : i);
	restore_exec(t, HIP_SAVED_EXEC);
}

static void save_all(struct hip_text *t)
{
	save_register(t, "s0", saved_at(t, HIP_SAVED_RETURN));
	save_register(t, "s1", saved_at(t, HIP_SAVED_RETURN) + 1);
	fputs("\ts_cselect_b32 s0, 1, 0\n\ts_getreg_b32 s1, hwreg(1, 0, 8)\n", t->f);
	hip_emit_hazard_wait(t);
	save_register(t, "s0", saved_at(t, HIP_SAVED_SCC));
	save_register(t, "s1", saved_at(t, HIP_SAVED_MODE));
	save_register(t, "m0", saved_at(t, HIP_SAVED_M0));
	save_register(t, "vcc_lo", saved_at(t, HIP_SAVED_VCC));
	save_register(t, "vcc_hi", saved_at(t, HIP_SAVED_VCC) + 1);
	move_scalars(t, 2, t->draft->scalars, false);
	save_exec(t, HIP_SAVED_EXEC);
	copy_vectors(t, false);
}

static void restore_all(struct hip_text *t)
{
	fputs(t->say->wait, t->f);
	copy_vectors(t, true);
	restore_register(t, "s0", saved_at(t, HIP_SAVED_MODE));
	restore_register(t, "s1", saved_at(t, HIP_SAVED_M0));
	hip_emit_hazard_wait(t);
	fputs("\ts_setreg_b32 hwreg(1, 0, 8), s0\n\ts_mov_b32 m0, s1\n", t->f);
	move_scalars(t, 2, t->draft->scalars, true);
	restore_register(t, "s0", saved_at(t, HIP_SAVED_SCC));
	hip_emit_hazard_wait(t);
	fputs("\ts_cmp_lg_u32 s0, 0\n", t->f);
	restore_register(t, "vcc_lo", saved_at(t, HIP_SAVED_VCC));
	restore_register(t, "vcc_hi", saved_at(t, HIP_SAVED_VCC) + 1);
	restore_register(t, "s0", saved_at(t, HIP_SAVED_RETURN));
	restore_register(t, "s1", saved_at(t, HIP_SAVED_RETURN) + 1);
	hip_emit_hazard_wait(t);
	/* VCCZ, which branches test, is not updated by a write to half of VCC */
	fputs(t->draft->wave32 ? "\ts_mov_b32 vcc_lo, vcc_lo\n" : "\ts_mov_b64 vcc, vcc\n", t->f);
	fputs("\ts_setpc_b64 s[0:1]\n", t->f);
}

static bool has_probes(const struct hip_text *t, uint32_t i)
{
	return is_functions(t, i) || is_named(t, i) || has_bodies(t, i, GPUBPF_WHEN_BEFORE) || has_bodies(t, i, GPUBPF_WHEN_AFTER);
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

void hip_write_place(struct hip_text *t, uint32_t i)
{
	if (t->draft->stands && has_probes(t, i))
		write_place(t, i);
}

bool hip_write_place_branch(struct hip_text *t, uint32_t i)
{
	if (!t->draft->stands)
		return false;
	if (has_probes(t, i))
		fprintf(t->f, "\ts_branch gpubpf_place_%u\ngpubpf_back_%u:\n", i, i);
	else if (t->draft->code->patches[i].kind == HIP_PATCH_CLAUSE)
		fputs("\ts_nop 0\n", t->f);
	else
		return false;
	return true;
}
