/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass: checks the code that counts the lanes of a block. On every path this code runs first in the entry probe and
 * last in the exit probe. Its counter is a word after the kernel's shared memory, and the twin declares the larger
 * size.
 */
#include "work.h"

#include <errno.h>

#include "backends/cuda/sass/analysis/callees.h"
#include "core/model/diag.h"
#include "backends/cuda/sass/isa/lane_count.h"
#include "backends/cuda/sass/analysis/live.h"

/* Returns true if instruction i equals the replacement of `vote` (sass_vote_alone()) in the code that each lane runs
 * separately. The first instruction of that code loads the lane's bit into a register, and the replacement must read
 * this register. */
static bool is_lane_vote(const struct checked *c, uint32_t i, struct sass_insn vote)
{
	return c->lane_code != SASS_NONE && i >= c->lane_code &&
	       same_except_control(insn_at(c, i), sass_vote_alone(vote, insn_at(c, c->lane_code).operand[0].reg));
}

/* Are the instructions from index i on equal to `insns`, except for control bits and replaced votes? */
static bool matches_at(const struct checked *c, uint32_t i, const struct sass_insn *insns, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		if (i + k >= c->first_stub ||
		    !(same_except_control(insn_at(c, i + k), insns[k]) ||
		      (sass_opcode(insns[k]) == SASS_OP_VOTE && is_lane_vote(c, i + k, insns[k]))))
			return false;
	return true;
}

/* Returns true if branch i skips the counting code, which is at the indices `begin` to `end` - 1. A branch before the
 * counting code must not jump past its first instruction. Any other branch must not jump to an instruction before
 * `end`. */
static bool is_bypass(const struct checked *c, uint32_t i, uint32_t begin, uint32_t end)
{
	int64_t to = sass_check_target(c, i);

	return i < begin ? to > begin : to < end;
}

/* Checks that every lane that enters a probe executes the counting code exactly once. The probe is at the indices
 * `from` to `to` - 1, and the counting code in it is at `begin` to `end` - 1. */
static int check_paths(struct checked *c, uint32_t from, uint32_t to, uint32_t begin, uint32_t end)
{
	for (uint32_t i = from; i < to; i++) {
		if (i < begin && sass_opcode(insn_at(c, i)) == SASS_OP_EXIT)
			return sass_check_fail(c, i, "lanes leave before they are counted");
		if (i != c->convergence_branch && sass_has_target(insn_at(c, i)) && sass_check_target(c, i) >= from &&
		    sass_check_target(c, i) < to && is_bypass(c, i, begin, end))
			return sass_check_fail(c, i, "a branch skips the code that counts lanes");
	}
	return 0;
}

/* Finds the counting code by its ATOMS instruction. Checks this code and the paths through it. */
static int check_exit_code(struct checked *c, uint32_t from, uint32_t to)
{
	struct sass_insn insns[SASS_COUNT_MAX_INSNS];
	uint32_t n = sass_count_end(c->code->arch, 0, insns), at = 0, adds = from;

	while (sass_opcode(insns[at]) != SASS_OP_ATOMS)
		at++;
	while (adds < to && sass_opcode(insn_at(c, adds)) != SASS_OP_ATOMS)
		adds++;
	if (adds >= to || adds - from < at)
		return sass_check_fail(c, from, "lanes that leave are not counted");
	sass_count_end(c->code->arch, insn_at(c, adds).operand[0].reg - insns[at].operand[0].reg, insns);
	if (!matches_at(c, adds - at, insns, n))
		return sass_check_fail(c, adds, "the code that counts leaving lanes is wrong");
	return check_paths(c, from, to, adds - at, adds - at + n);
}

static int check_exit(struct checked *c)
{
	uint32_t end = c->entry != SASS_NONE ? c->entry : c->first_stub;
	int err;

	if (c->exit == SASS_NONE)
		return c->code->nexits ? sass_check_fail_whole(c, "lanes that leave are not counted") : 0;
	if (c->lane_code == SASS_NONE)
		return check_exit_code(c, c->exit, end);
	err = check_exit_code(c, c->exit, c->lane_code);
	return err ? err : check_exit_code(c, c->lane_code, end);
}

static int check_begin(struct checked *c)
{
	struct sass_insn insns[SASS_COUNT_MAX_INSNS];
	uint32_t n = sass_count_begin(c->code->arch, 0, insns);
	unsigned base = c->entry != SASS_NONE ? insn_at(c, c->entry).operand[0].reg - insns[0].operand[0].reg : 0;

	sass_count_begin(c->code->arch, base, insns);
	if (c->entry == SASS_NONE || !matches_at(c, c->entry, insns, n))
		return sass_check_fail(c, c->entry == SASS_NONE ? 0 : c->entry, "lanes are not counted at the entry");
	return check_paths(c, c->entry, c->first_stub, c->entry, c->entry + n);
}

/* Checks that the instructions that only the counting code may have (STS, ATOMS, BAR) occur once in each copy of
 * that code, and nowhere else. */
static int check_no_other_uses(struct checked *c)
{
	uint32_t expected = c->counts ? 2 + (c->exit != SASS_NONE) + (c->lane_code != SASS_NONE && c->exit != SASS_NONE) :
					0,
		 n = 0;

	for (uint32_t i = c->first_added; i < c->ninsns; i++) {
		n += sass_is_count_insn(insn_at(c, i)) && !sass_check_is_moved(c, i);
		if (n > expected)
			return sass_check_fail(c, i, "a probe uses the block's shared memory, or its barriers");
	}
	return 0;
}

static const Elf64_Shdr *find_shared_section(const struct sass_cubin *cubin, uint32_t text)
{
	static const Elf64_Shdr none;
	uint32_t section = sass_section_of(cubin, ".nv.shared.", text);

	return section ? &cubin->sections[section].head : &none;
}

/* Returns true if the counter is the last SASS_COUNT_BYTES of the new size `is` of shared memory. Between the
 * kernel's `was` bytes and the counter there may only be the padding that aligns dynamic shared memory. */
static bool has_count_word(uint64_t was, uint64_t is, uint64_t align)
{
	return is >= SASS_COUNT_BYTES && is - SASS_COUNT_BYTES >= was &&
	       (align < 2 || ((is - SASS_COUNT_BYTES) % align == 0)) && is - SASS_COUNT_BYTES - was < (align ? align : 1);
}

/* Does the twin declare a block barrier? The counting code needs one. */
static bool states_barrier(const struct checked *c)
{
	const struct sass_section *info = &c->twin.sections[c->twin.kernels[0].info];
	struct sass_item item;
	size_t at = 0;

	if (c->twin.head.e_ident[EI_ABIVERSION] < SASS_ABI_13) /* before ABI version 8, .nv.info does not state
	                                                        * the number of barriers; a BAR in the kernel then
	                                                        * declares the barrier */
		return sass_has_bar(c->code);
	while (sass_item_next(info->data, info->size, &at, &item))
		if (item.attr == SASS_ATTR_NUM_BARRIERS && item.size)
			return true;
	return false;
}

static int check_shared_size(struct checked *c)
{
	const Elf64_Shdr *was = find_shared_section(c->app, c->text),
			 *is = find_shared_section(&c->twin, c->twin.kernels[0].text);
	uint64_t had = was->sh_type || !c->counts || c->code->arch->sm < SASS_COUNT_MIN_SM_RANK ? was->sh_size :
												  SASS_COUNT_SYSTEM_BYTES;

	if (c->counts ? !has_count_word(had, is->sh_size, was->sh_addralign) : is->sh_size != had)
		return sass_check_fail_whole(c, "it declares a wrong size of shared memory");
	for (uint32_t i = 0; c->counts && i < c->code->n; i++)
		if (sass_reads_shared_size(sass_code_at(c->code, i)))
			return sass_check_fail(c, i, "it reads the size of its shared memory");
	return !c->counts || states_barrier(c) ?
		       0 :
		       sass_check_fail_whole(c, "it does not declare the barrier at which its lanes wait");
}

int sass_check_counting(struct checked *c)
{
	int err = check_no_other_uses(c);

	if (!err)
		err = check_shared_size(c);
	if (!err && c->counts)
		err = check_begin(c);
	return err || !c->counts ? err : check_exit(c);
}

int sass_check_callee_sizes(struct checked *c, const struct sass_kernel *kernel)
{
	struct gpubpf_diag why;
	int err;

	gpubpf_diag_init(&why);
	err = c->counts ? sass_callees_check_shared_size(c->app, kernel, c->code->by_pointer, &why) : 0;
	return !err || err == -ENOMEM ?
		       err :
		       sass_check_fail_whole(c, "a function that it calls reads the size of shared memory");
}
