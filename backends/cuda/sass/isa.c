/* SPDX-License-Identifier: Apache-2.0 */
#include "isa.h"

#include <assert.h>

#define OPERATIONS 512

static const struct sass_op ops[OPERATIONS] = {
#define SASS_OP(number, name, class) [number] = { #name, SASS_##class },
#include "isa.def"
};

static const struct sass_arch arches[] = {
#define SASS_ARCH(sm, wide, params, descriptor) { sm, wide, params, descriptor },
#include "isa.def"
};

const struct sass_op *sass_op_find(uint32_t opcode)
{
	return &ops[opcode % OPERATIONS];
}

const struct sass_arch *sass_arch_find(uint32_t sm)
{
	for (size_t i = 0; i < sizeof(arches) / sizeof(*arches); i++)
		if (arches[i].sm == sm)
			return &arches[i];
	return NULL;
}

/* A signed number of 48 bits at 34..81, and below it 8 bits at 16..23 where the architecture has them; of BSSY 30 bits,
 * behind which stands how lanes meet. */
int64_t sass_branch(const struct sass_arch *arch, struct sass_insn i)
{
	int64_t n = sass_field(i, 34, 30) | sass_field(i, 64, 18) << 30;

	if (sass_opcode(i) == SASS_OP_BSSY)
		return (int64_t)((uint64_t)sass_field(i, 34, 30) << 34) >> 32;
	n = (int64_t)((uint64_t)n << 16) >> 16;
	if (arch->wide_branch)
		n = (int64_t)((uint64_t)n << 8 | sass_field(i, 16, 8));
	return (int64_t)((uint64_t)n << 2);
}

struct sass_insn sass_with_branch(const struct sass_arch *arch, struct sass_insn i, int64_t offset)
{
	uint64_t n = (uint64_t)(offset >> 2);

	assert(offset % 4 == 0);
	if (sass_opcode(i) == SASS_OP_BSSY)
		return sass_with(i, 34, 30, n);
	if (arch->wide_branch) {
		i = sass_with(i, 16, 8, n);
		n = (uint64_t)((int64_t)n >> 8);
	}
	return sass_with(sass_with(i, 34, 30, n), 64, 18, n >> 30);
}

/* ISETP P0, UR2 != 0; @P0 BRA; B0 = ~0; B1..B15 of the one before, each; B15 = 0; UR2 = 1 */
#define PREAMBLE 20
#define OP_BMOV_MOVE 0xf55
#define OP_BMOV_SET 0x956

static uint64_t preamble_at(uint32_t i)
{
	static const uint64_t first[] = { 0x00000002ff007c0c, 0x0000012000000947, 0xffffffff00007956 };

	if (i < 3)
		return first[i];
	if (i == PREAMBLE - 2)
		return 0x7000 | OP_BMOV_SET | 15 << 24;
	if (i == PREAMBLE - 1)
		return 0x100027882;
	return 0x7000 | OP_BMOV_MOVE | (i - 2) << 16 | (uint64_t)(i - 3) << 24;
}

uint32_t sass_preamble(const struct sass_arch *arch, const uint8_t *bytes, uint32_t n)
{
	uint32_t i = 0;

	while (arch->sm == 87 && i < PREAMBLE && i < n && sass_read(bytes + i * SASS_INSN).lo == preamble_at(i))
		i++;
	return i == PREAMBLE && i < n ? PREAMBLE : 0;
}

struct sass_insn sass_with_control(struct sass_insn i, unsigned waits, unsigned stall)
{
	i = sass_with(i, SASS_STALL_AT, 4, stall);
	i = sass_with(i, SASS_WRITE_AT, 3, SASS_NO_SCOREBOARD);
	i = sass_with(i, SASS_READ_AT, 3, SASS_NO_SCOREBOARD);
	return sass_with(i, SASS_WAIT_AT, 6, waits);
}

struct sass_insn sass_nop(unsigned waits, unsigned stall)
{
	return sass_with_control((struct sass_insn){ SASS_OP_NOP | SASS_PT << 12, 0 }, waits, stall);
}

#define SECOND_PT ((uint64_t)SASS_PT << 23) /* bits 87..89 */

struct sass_insn sass_bra(const struct sass_arch *arch, int64_t offset)
{
	struct sass_insn i = sass_with_control((struct sass_insn){ SASS_OP_BRA | SASS_PT << 12, SECOND_PT }, 0, 5);

	return sass_with_branch(arch, i, offset);
}

struct sass_insn sass_warpsync_all(void)
{
	return sass_with_control((struct sass_insn){ SASS_OP_WARPSYNC_ALL | SASS_PT << 12, SECOND_PT }, 0, 5);
}

struct sass_insn sass_break(unsigned barrier)
{
	return sass_with_control((struct sass_insn){ SASS_OP_BREAK | SASS_PT << 12 | barrier << 16, SECOND_PT }, 0, 5);
}

struct sass_insn sass_vote(unsigned reg)
{
	return sass_with_control((struct sass_insn){ SASS_OP_VOTE | SASS_PT << 12 | (uint64_t)reg << 16, 0x038e0100 }, 0,
				 SASS_VOTE_TIME);
}

#define SR_EQMASK 0x38

struct sass_insn sass_own_lane(unsigned reg)
{
	struct sass_insn i = { 0x919 | SASS_PT << 12 | (uint64_t)reg << 16, SR_EQMASK << 8 };

	return sass_with(sass_with_control(i, 0, 1), SASS_WRITE_AT, 3, 0);
}

struct sass_insn sass_vote_alone(struct sass_insn vote, unsigned own)
{
	struct sass_insn i = { 0x207 | sass_field(vote, 12, 4) << 12 | sass_field(vote, 16, 8) << 16 | (uint64_t)own << 24 |
			       (uint64_t)SASS_RZ << 32, sass_field(vote, 87, 4) << 23 };

	return sass_with_control(i, sass_waits(vote), sass_stall(vote));
}

struct sass_insn sass_is(unsigned predicate, unsigned reg, uint32_t number, bool equal)
{
	struct sass_insn i = { 0x80c | SASS_PT << 12 | (uint64_t)reg << 24 | (uint64_t)number << 32,
			       equal ? 0x03f02070 : 0x03f05070 };

	return sass_with_control(sass_with(i, 81, 3, predicate), 0, SASS_PREDICATE_TIME);
}
