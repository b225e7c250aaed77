/* SPDX-License-Identifier: Apache-2.0 */
#include "lane_count.h"

#define RANK_AT 24
#define COUNT_PREDICATE 0

enum { NUMBER, PART, RESERVED, ADDRESS, RANK }; /* registers, relative to the base */

struct count_writer {
	const struct sass_arch *arch;
	unsigned base;
	struct sass_insn *insns;
	uint32_t n;
};

static void emit(struct count_writer *c, struct sass_insn insn, unsigned waits)
{
	c->insns[c->n++] = sass_with_waits(insn, waits);
}

/* Emits the reads from which the address of the counter is computed. The first is the size of shared memory. On
 * sm_75 to sm_89 the shared memory of the system is after the block's, on later architectures before the block's.
 * Scoreboards from `board` on say when the values are ready. */
static void emit_address_reads(struct count_writer *c, unsigned board)
{
	emit(c, sass_special(c->base + ADDRESS, SASS_SR_SHARED_SIZE, board), 0);
	if (c->arch->reserved)
		emit(c, sass_load_launch_word(c->base + RESERVED, c->arch->reserved, board + 1), 0);
	if (c->arch->sm >= SASS_COUNT_MIN_SM_RANK)
		emit(c, sass_special(c->base + RANK, SASS_SR_RANK, board + 2), 0);
}

static void emit_address(struct count_writer *c, unsigned board)
{
	if (c->arch->reserved)
		emit(c, sass_sub(c->base + ADDRESS, c->base + ADDRESS, c->base + RESERVED), 3u << board);
	if (c->arch->sm >= SASS_COUNT_MIN_SM_RANK)
		emit(c, sass_mul_add(c->base + ADDRESS, c->base + RANK, 1u << RANK_AT, c->base + ADDRESS), 4u << board);
}

static int32_t word_offset(const struct sass_arch *arch)
{
	return (arch->sm >= SASS_COUNT_MIN_SM_RANK ? SASS_COUNT_SYSTEM_BYTES : 0) - SASS_COUNT_BYTES;
}

uint32_t sass_count_begin(const struct sass_arch *arch, unsigned base, struct sass_insn insns[SASS_COUNT_MAX_INSNS])
{
	struct count_writer c = { arch, base, insns, 0 };
	unsigned address = arch->reserved ? 0 : 1;

	emit_address_reads(&c, 0);
	emit(&c, sass_load_launch_word(base + NUMBER, arch->extents, 3), 0);
	emit(&c, sass_load_launch_word(base + PART, arch->extents + 4, 4), 0);
	emit_address(&c, 0);
	emit(&c, sass_mul(base + NUMBER, base + NUMBER, base + PART), 3u << 3);
	emit(&c, sass_load_launch_word(base + PART, arch->extents + 8, 4), 0);
	emit(&c, sass_mul(base + NUMBER, base + NUMBER, base + PART), 1u << 4);
	emit(&c, sass_store_shared(base + ADDRESS, word_offset(arch), base + NUMBER), address);
	emit(&c, sass_bar_sync(arch), 0);
	return c.n;
}

uint32_t sass_count_end(const struct sass_arch *arch, unsigned base, struct sass_insn insns[SASS_COUNT_MAX_INSNS])
{
	struct count_writer c = { arch, base, insns, 0 };
	unsigned address = arch->reserved ? 0 : 1u << 1;

	emit(&c, sass_special(base + PART, SASS_SR_LTMASK, 0), 0);
	emit_address_reads(&c, 1);
	emit(&c, sass_vote(base + NUMBER), 0);
	emit(&c, sass_and(base + PART, base + PART, base + NUMBER), 1);
	emit(&c, sass_isetp_imm(COUNT_PREDICATE, base + PART, 0, false), 0);
	emit(&c, sass_exit_if(COUNT_PREDICATE), 0);
	emit(&c, sass_popc(base + NUMBER, base + NUMBER, 0), 0);
	emit_address(&c, 1);
	emit(&c, sass_sub(base + PART, SASS_RZ, base + NUMBER), 1);
	emit(&c, sass_atomic_add_shared(arch, base + PART, base + ADDRESS, word_offset(arch), base + PART, 0), address);
	emit(&c, sass_isetp_ne(COUNT_PREDICATE, base + PART, base + NUMBER), 1);
	emit(&c, sass_exit_if(COUNT_PREDICATE), 0);
	return c.n;
}
