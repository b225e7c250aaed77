/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass: checks the registers in which the entry probe leaves values for the exit probe
 * (backends/cuda/sass/probe/entry_value_reuse.h). The exit probe reads such a register before it has written the
 * register itself. The entry probe must have written the register, and no other code may write it. The exit probe would
 * compute the same value.
 */
#include "work.h"

#include "core/model/diag.h"

#define MIN_CYCLES 13              /* cycles until a fixed-latency result is certainly ready, including the branch to
                                    * the exit probe */

struct entry_values {
	bool written[256], is_invariant[256], predicate_is_invariant[SASS_PT + 1];
	unsigned time[256]; /* time[r]: cycles since the write of register r. For a slow instruction the count starts
	                     * at MIN_CYCLES, because the exit probe waits for its scoreboard. */
};

static uint32_t find_exit_end(const struct checked *c)
{
	return c->entry != SASS_NONE && c->entry > c->exit ? c->entry : c->first_stub;
}

/* Is the code free of branches, so that it executes from the first instruction to the last? */
static bool is_straight(const struct checked *c, uint32_t from, uint32_t to)
{
	while (from < to && !sass_has_target(insn_at(c, from)))
		from++;
	return from == to;
}

/* Sets inputs[r] for each register r that the exit probe reads before it writes r. Returns false if there is no such
 * register. */
static bool find_inputs(const struct checked *c, bool inputs[256])
{
	bool written[256] = { false }, any = false;

	for (uint32_t i = c->exit; i < find_exit_end(c); i++) {
		const struct sass_form *form = sass_form(insn_at(c, i));

		for (unsigned o = SASS_OPERANDS; form && o-- > 0;) {
			struct sass_operand x = insn_at(c, i).operand[o];

			for (unsigned r = x.reg; r < (unsigned)x.reg + x.n && r < 256; r++) {
				any |= inputs[r] |= !x.written && !written[r];
				written[r] |= x.written;
			}
		}
	}
	return any;
}

/* Returns true if the S2R reads a special register whose value does not change while a thread runs, such as a lane,
 * thread or block index. */
static bool is_thread_constant(struct sass_insn insn)
{
	static const uint8_t own[] = { 0x00, 0x21, 0x22, 0x23, 0x25, 0x26, 0x27, 0x38, 0x39, 0x3a, 0x3b, 0x3c };

	return memchr(own, sass_special_register(insn), sizeof(own));
}

/* Does the instruction compute the same value whenever it executes with the same operands? */
static bool is_repeatable(struct sass_insn insn)
{
	switch (insn.opcode % SASS_OPERATIONS) {
	case SASS_OPERATION_MOV:
	case SASS_OPERATION_SEL:
	case SASS_OPERATION_ISETP:
	case SASS_OPERATION_IADD3:
	case SASS_OPERATION_LEA:
	case SASS_OPERATION_LOP3:
	case SASS_OPERATION_PRMT:
	case SASS_OPERATION_IMNMX:
	case SASS_OPERATION_SHF:
	case SASS_OPERATION_PLOP3:
	case SASS_OPERATION_IMAD:
	case SASS_OPERATION_IMAD_WIDE:
	case SASS_OPERATION_HFMA2:
	case SASS_OPERATION_HFMA2_MMA:
	case SASS_OPERATION_VIMNMX:
	case SASS_OPERATION_FLO:
	case SASS_OPERATION_POPC: /* the operands are registers and immediates only */
		return true;
	case SASS_OPERATION_CS2R: /* reads the special register that is always zero */
		return sass_special_register(insn) == 0xff;
	case SASS_OPERATION_S2R:
		return is_thread_constant(insn);
	case SASS_OPERATION_LDC:
		return insn.operand[1].reg == SASS_RZ;
	default:
		return false;
	}
}

/* Returns true if the result stays the same while the thread runs. The instruction must be repeatable, have no
 * guard, and have only invariant operands. */
static bool is_invariant_result(const struct entry_values *l, struct sass_insn insn)
{
	unsigned read = sass_predicates_read(insn);

	if (!is_repeatable(insn) || insn.guard != SASS_PT || read >> SASS_PT)
		return false;
	for (unsigned p = 0; p < SASS_PT; p++)
		if (read >> p & 1 && !l->predicate_is_invariant[p])
			return false;
	for (unsigned o = 1; o < SASS_OPERANDS; o++) {
		struct sass_operand x = insn.operand[o];

		for (unsigned r = x.reg; r < (unsigned)x.reg + x.n && r < 256; r++)
			if (!l->is_invariant[r])
				return false;
	}
	return true;
}

static void record_values(struct entry_values *l, struct sass_insn insn)
{
	struct sass_operand x = insn.operand[0];
	bool is_invariant = is_invariant_result(l, insn);

	for (unsigned r = x.reg; r < (unsigned)x.reg + x.n && r < 256; r++) {
		l->written[r] = true;
		l->is_invariant[r] = is_invariant;
		l->time[r] = sass_is_slow(insn) ? MIN_CYCLES : 0;
	}
	for (unsigned p = 0; p < SASS_PT; p++)
		if (sass_predicates_written(insn) >> p & 1)
			l->predicate_is_invariant[p] = is_invariant;
}

/*
 * For each register: record whether the entry probe leaves a value in it that never changes, and how many cycles pass
 * from that write to the branch back to the kernel, including the branch.
 */
static void find_entry_values(const struct checked *c, struct entry_values *l)
{
	for (uint32_t i = c->entry; i < c->entry_copy + 2; i++) {
		if (i < c->entry_copy)
			record_values(l, insn_at(c, i));
		for (unsigned r = 0; r < 256; r++)
			l->time[r] += sass_min_cycles(insn_at(c, i));
	}
}

/* Does the kernel use one of these registers, in an instruction whose form backends/cuda/sass/isa/isa.def lists? */
static bool kernel_uses(const struct checked *c, const bool inputs[256])
{
	for (uint32_t i = 0; i < c->code->n; i++) {
		struct sass_insn insn = sass_code_at(c->code, i);
		const struct sass_form *form = sass_form(insn);

		for (unsigned o = 0; form && o < SASS_OPERANDS; o++) {
			struct sass_operand x = insn.operand[o];

			for (unsigned r = x.reg; !x.uniform && r < (unsigned)x.reg + x.n && r < 256; r++)
				if (inputs[r])
					return true;
		}
	}
	return false;
}

int sass_check_reused_values(struct checked *c)
{
	bool inputs[256] = { false };
	struct entry_values values = { .predicate_is_invariant[SASS_PT] = true };

	if (c->exit == SASS_NONE || !is_straight(c, c->exit, find_exit_end(c)) || !find_inputs(c, inputs))
		return 0;
	if (c->entry == SASS_NONE || !is_straight(c, c->entry, c->entry_copy))
		return sass_check_fail(c, c->exit, "an exit's probe reads a register that no probe has written");
	if (c->insn_probes->n || c->code->nconstants || c->code->calls || c->code->by_pointer || c->code->maxreg ||
	    kernel_uses(c, inputs))
		return sass_check_fail(c, c->exit, "an exit's probe reads a register that other code may write");
	find_entry_values(c, &values);
	for (unsigned r = 0; r < 256; r++)
		if (inputs[r] &&
		    (r < c->regs || !values.written[r] || !values.is_invariant[r] || values.time[r] < MIN_CYCLES))
			return sass_check_fail(c, c->exit,
					       "an exit's probe reads a value of the entry's probe that "
					       "is not ready or may be overwritten");
	return 0;
}
