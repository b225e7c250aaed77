/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests which instructions of a probe must wait for operations in flight. If a store has not yet read its source, an
 * instruction may overwrite the source without a wait only under the opposite predicate. Then only one of the two
 * executes.
 */
#include <stdlib.h>

#include "backends/cuda/sass/check/work.h"
#include "backends/cuda/sass/analysis/boards.h"
#include "core/model/diag.h"
#include "tests/tap.h"
#include "tests/backends/cuda/sass/isa/insn.h"

#define BOARD 1
#define MAX_INSNS 4

static struct sass_insn code[MAX_INSNS];

/* Sets the guard predicate of the instruction; guard + 8 is the negated predicate. */
static struct sass_insn under(struct sass_insn insn, unsigned guard)
{
	return sass_with_field(insn, 12, 4, guard);
}

/* STG.E [R2], R4 with a read scoreboard; MOV R4, 0; ISETP.GE.AND Pp, PT, R6, R7, PT. */
static struct sass_insn store(unsigned guard)
{
	return under(sass_with_field(insn_of(0x0000000402007986, 0x000fe2000c101904), SASS_READ_AT, 3, BOARD), guard);
}

static struct sass_insn write(unsigned guard)
{
	return under(insn_of(0x0000000000047802, 0x000fe20000000f00), guard);
}

static struct sass_insn set(unsigned predicate)
{
	return sass_with_field(insn_of(0x000000070600720c, 0x000fe20003f06270), 81, 3, predicate);
}

/* SHFL.IDX PT, to, from, R5, 0x1f with a read scoreboard */
static struct sass_insn shuffle(unsigned to, unsigned from)
{
	struct sass_insn shfl = insn_of(0x00001fff04047589, 0x0002a800000e0000);

	return sass_with_field(sass_with_field(sass_with_field(sass_with_field(shfl, 16, 8, to), 24, 8, from), SASS_READ_AT, 3, BOARD), SASS_WRITE_AT, 3, to % 4 + 2);
}

/* LDG.E R4, [R2] with one scoreboard for its result and one for the read of R2 */
static struct sass_insn load(unsigned result, unsigned was_read)
{
	struct sass_insn ldg = insn_of(0x0000000402047981, 0x000ee2000c1e1900);

	return sass_with_field(sass_with_field(ldg, SASS_WRITE_AT, 3, result), SASS_READ_AT, 3, was_read);
}

/* LDG.E.64 to, [from] with a read scoreboard */
static struct sass_insn load_of(unsigned to, unsigned from)
{
	struct sass_insn ldg = insn_of(0x0000000004047381, 0x000ea8001e1b0b00);

	return sass_with_field(sass_with_field(sass_with_field(ldg, 16, 8, to), 24, 8, from), SASS_READ_AT, 3, BOARD);
}

/* ATOMG.E.ADD R4, [from], R14 with a read scoreboard */
static struct sass_insn atomic_of(unsigned from)
{
	struct sass_insn atomg = insn_of(0x0000000e040473a8, 0x000ea800001ee1c4);

	return sass_with_field(sass_with_field(atomg, 24, 8, from), SASS_READ_AT, 3, BOARD);
}

/* LDS R4, [R2] with a scoreboard for the read of R2 only */
static struct sass_insn shared_load(unsigned was_read)
{
	return sass_with_field(insn_of(0x0000000002047984, 0x000fe20000000800), SASS_READ_AT, 3, was_read);
}

/*
 * Does the checker accept the instructions? Instruction `own` is the stub's copy of a kernel instruction; SASS_NONE:
 * there is no copy.
 */
static bool is_accepted(const struct sass_insn *insns, uint32_t n, uint32_t own)
{
	uint8_t flags[MAX_INSNS] = { SASS_IN_STUB, SASS_IN_STUB, SASS_IN_STUB, SASS_IN_STUB };
	struct gpubpf_diag diag;
	struct checked c = { .insns = code, .first_stub = own == SASS_NONE ? n : 0, .ninsns = n, .entry = SASS_NONE, .stub_flags = flags,
			     .diag = &diag };

	gpubpf_diag_init(&diag);
	if (own != SASS_NONE)
		flags[own] |= SASS_IN_STUB_OWN;
	memcpy(code, insns, n * sizeof(*insns));
	return !sass_check_pending(&c);
}

#define LEFT 3

/*
 * Analyses four instructions: a load, `branch`, `waits` and an EXIT. Only some paths may wait for the load. Returns the
 * scoreboards that may still be set at the EXIT.
 */
static unsigned left_by(const struct sass_arch *arch, struct sass_insn branch, struct sass_insn waits)
{
	struct sass_insn insns[] = { load(LEFT, SASS_NO_SCOREBOARD), branch, waits, sass_exit_if(SASS_PT) };
	struct sass_code kernel = { .arch = arch };
	struct checked c = { .code = &kernel, .insns = insns, .entry = 0, .entry_copy = 3, .ninsns = 4 };
	unsigned left;

	if (sass_boards_left(arch, insns, 4, &left) < 0)
		abort();
	ok(left == sass_check_entry_pending(&c), "the checker finds the same scoreboards");
	return left;
}

static void try_paths(void)
{
	const struct sass_arch *arch = sass_arch_find(90);
	struct sass_insn waits = sass_nop(1u << LEFT, 1), skips = sass_with_guard(sass_bra(arch, SASS_INSN), 0);

	ok(!left_by(arch, sass_nop(0, 1), waits), "a wait on the only path ends a load");
	ok(left_by(arch, skips, waits) == 1u << LEFT, "one that lanes branch over does not");
	ok(left_by(arch, skips, sass_nop(0, 1)), "nor does none");
	ok(!left_by(arch, sass_with_waits(skips, 1u << LEFT), sass_nop(0, 1)), "but one of the branch itself does");
}

#define ACCEPTED(own, ...) \
	is_accepted((const struct sass_insn[]){ __VA_ARGS__ }, sizeof((const struct sass_insn[]){ __VA_ARGS__ }) / sizeof(struct sass_insn), own)
#define TAKEN(...) ACCEPTED(SASS_NONE, __VA_ARGS__)

int main(void)
{
	struct sass_insn waits = sass_with_field(write(SASS_PT), SASS_WAIT_AT, 6, 1u << BOARD);

	ok(!TAKEN(store(SASS_PT), write(SASS_PT)), "a register is not written before a store has read it");
	ok(TAKEN(store(SASS_PT), waits), "but when it has");
	ok(TAKEN(store(0), write(8)) && TAKEN(store(9), write(1)), "nor has it to, under the opposite of its predicate");
	ok(!TAKEN(store(0), write(0)), "but under the same one,");
	ok(!TAKEN(store(0), write(9)) && !TAKEN(store(0), write(1)), "another one,");
	ok(!TAKEN(store(0), write(SASS_PT)), "and none");
	ok(!TAKEN(store(SASS_PT), write(15)), "what is carried out always has no opposite");
	ok(!TAKEN(store(0), set(0), write(8)), "nor has a predicate that was written in between");
	ok(TAKEN(store(0), set(1), write(8)), "but one has beside which another was");
	ok(!TAKEN(store(8), store(0), write(8)), "of two stores neither is forgotten");
	ok(TAKEN(shuffle(8, 4), shuffle(4, 9)), "of one unit that is slow what comes later writes what was read before");
	ok(!TAKEN(shuffle(8, 4), write(SASS_PT)), "others do not");
	ok(!TAKEN(store(SASS_PT), shuffle(4, 9)) && !TAKEN(shuffle(8, 4), store(SASS_PT), shuffle(4, 9)), "nor does it, of what another unit reads too");
	ok(sass_lacks_board(load(SASS_NO_SCOREBOARD, BOARD)) && !sass_lacks_board(load(BOARD, SASS_NO_SCOREBOARD)) && !sass_lacks_board(store(SASS_PT)),
	   "that a load's registers were read does not tell when its result comes; of a store it tells all");
	ok(sass_lacks_board(sass_with_field(shuffle(8, 4), SASS_WRITE_AT, 3, SASS_NO_SCOREBOARD)) && !sass_lacks_board(shuffle(8, 4)),
	   "nor of any other result");
	ok(sass_is_access(shared_load(BOARD)) && sass_lacks_board(shared_load(BOARD)), "nor of one of shared memory");
	ok(has_added_board(load(SASS_NO_SCOREBOARD, BOARD), load(SASS_PROBE_SB, BOARD)), "a load may be given a scoreboard for its result");
	ok(!has_added_board(load(SASS_NO_SCOREBOARD, BOARD), load(SASS_PROBE_SB, SASS_NO_SCOREBOARD)) &&
	   !has_added_board(load(BOARD, SASS_NO_SCOREBOARD), load(SASS_PROBE_SB, SASS_NO_SCOREBOARD)), "none that it has is taken away or changed");
	ok(TAKEN(load_of(8, 4), load_of(4, 4)) && TAKEN(load_of(8, 4), load_of(10, 4), load_of(4, 12)), "a load writes what loads before it read");
	ok(!TAKEN(store(SASS_PT), load_of(4, 12)) && !TAKEN(store(SASS_PT), load_of(8, 4), load_of(4, 12)), "none that a store reads");
	ok(!TAKEN(load_of(8, 4), atomic_of(12)), "nor does an atomic access");
	ok(!TAKEN(load_of(8, 4), write(SASS_PT)) && !TAKEN(shuffle(8, 4), load_of(4, 12)), "no other unit does, nor what another has read");
	ok(!TAKEN(load_of(8, 4), shuffle(16, 4), load_of(4, 12)), "nor what another reads as well");
	ok(!ACCEPTED(1, store(SASS_PT), set(0), write(SASS_PT)), "a probe after the kernel's instruction waits for the probe before it");
	ok(ACCEPTED(1, store(SASS_PT), set(0), waits), "with a wait it may write the register");
	ok(ACCEPTED(1, store(SASS_PT), sass_with_field(set(0), SASS_WAIT_AT, 6, 1u << BOARD), write(SASS_PT)), "the kernel's instruction may wait instead");
	ok(ACCEPTED(1, store(SASS_PT), write(SASS_PT)), "the kernel's instruction itself may write a register of that number");
	try_paths();
	return done();
}
