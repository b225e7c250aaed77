/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations without a scoreboard may be in flight at a kernel's exits. The emitter's analysis and the checker must
 * find these operations:
 * - in small programs, each with its expected result;
 * - in random programs. If the analysis finds no hazard for an exit probe, the checker must accept the twin. It must
 *   refuse nearly all other twins. It may accept a few of them, because the analysis is less precise if different
 *   scoreboards complete the operation on two paths.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sass/check/work.h"
#include "backends/cuda/sass/analysis/flight.h"
#include "core/model/diag.h"
#include "tests/backends/cuda/case.h"
#include "tests/tap.h"
#include "tests/backends/cuda/sass/isa/insn.h"

#define MAX_INSNS 24
#define PROBE 2                    /* number of instructions of an exit probe: MOV R0, 0 and EXIT */
#define TOP 4                      /* number of registers of the probe */

static struct sass_insn made[MAX_INSNS + PROBE]; /* the twin */

static struct sass_insn ldc(unsigned to, unsigned board)
{
	return sass_with_field(sass_with_field(insn_of(0x00000a00ff017b82, 0x000fe20000000800), 16, 8, to),
			       SASS_WRITE_AT, 3, board);
}

static struct sass_insn lds(unsigned to, unsigned board)
{
	return sass_with_field(sass_with_field(insn_of(0x00000000ff047984, 0x000fe20000000800), 16, 8, to),
			       SASS_WRITE_AT, 3, board);
}

static struct sass_insn stg(unsigned from, unsigned board)
{
	return sass_with_field(sass_with_field(insn_of(0x0000000408007986, 0x000fe2000c101904), 32, 8, from),
			       SASS_READ_AT, 3, board);
}

/* MUFU.RCP to, R9; scoreboard `read` signals that R9 has been read */
static struct sass_insn mufu(unsigned to, unsigned board, unsigned read)
{
	struct sass_insn insn = insn_of(0x0000000900007308, 0x000fe20000001000);

	return sass_with_field(sass_with_field(sass_with_field(insn, 16, 8, to), SASS_WRITE_AT, 3, board), SASS_READ_AT, 3, read);
}

static struct sass_insn under(struct sass_insn insn, unsigned guard)
{
	return sass_with_field(insn, 12, 4, guard);
}

static struct sass_insn ends(unsigned guard)
{
	return under(insn_of(0x000000000000794d, 0x000fea0003800000), guard);
}

/* a branch over this number of instructions */
static struct sass_insn bra(int over, unsigned guard)
{
	return under(sass_bra(sass_arch_find(90), over * SASS_INSN), guard);
}

/* BRA.U UP0 over this number of instructions: all lanes branch, or none */
static struct sass_insn bra_uniform(int over)
{
	return sass_with_field(sass_with_field(bra(over, SASS_PT), 0, 12, SASS_OP_BRA_U), 24, 4, 0);
}

/* BRA.DIV UR4 over this number of instructions: branches if the lanes have diverged */
static struct sass_insn bra_div(int over)
{
	return sass_with_field(sass_with_field(sass_with_field(bra(over, SASS_PT), 24, 6, 4), 30, 4, 8), 91, 14, 1);
}

static struct sass_insn returns(void)
{
	return insn_of(0x0000000014007950, 0x000fea0003c3ffff);
}

#define NONE SASS_NO_SCOREBOARD
#define PT SASS_PT

struct program {
	struct sass_insn insns[MAX_INSNS];
	uint32_t n, exits[MAX_INSNS];
	struct sass_code code;
};

static void read_program(struct program *p)
{
	p->code = (struct sass_code){
		.arch = sass_arch_find(90), .insns = p->insns, .n = p->n, .exits = p->exits, .tail = SASS_NONE
	};
	for (uint32_t i = 0; i < p->n; i++) {
		made[i] = p->insns[i];
		if (sass_opcode(p->insns[i]) == SASS_OP_EXIT)
			p->exits[p->code.nexits++] = i;
	}
}

/* Does the analysis find a hazard? */
static bool is_found(struct program *p)
{
	struct sass_flights f;
	bool found = false;

	read_program(p);
	if (sass_flights_find(&p->code, TOP, &f) < 0)
		abort();
	for (uint32_t k = 0; k < f.n; k++)
		found |= f.at_exit[k];
	sass_flights_finish(&f);
	return found;
}

/* Does the checker refuse a twin whose exits lead to the probe? */
static bool is_refused(struct program *p)
{
	const struct sass_insn probe[PROBE] = { insn_of(0x0000000000037802, 0x000fe20000000f00), ends(PT) };
	struct gpubpf_diag diag;
	struct checked c = { .code = &p->code,
			     .regs = 32,
			     .insns = made,
			     .first_added = p->n,
			     .first_stub = p->n + PROBE,
			     .ninsns = p->n + PROBE,
			     .exit = p->n,
			     .entry = SASS_NONE,
			     .diag = &diag };

	gpubpf_diag_init(&diag);
	read_program(p);
	for (uint32_t i = 0; i < p->n; i++) {
		int64_t over = ((int64_t)p->n - i - 1) * SASS_INSN;
		struct sass_insn turned = sass_with_branch(p->code.arch, sass_with_field(p->insns[i], 0, 12, SASS_OP_BRA), over);

		if (sass_opcode(p->insns[i]) == SASS_OP_EXIT)
			made[i] = turned;
	}
	memcpy(made + p->n, probe, sizeof(probe));
	return sass_check_flight(&c) < 0;
}

static void try_program(const char *what, bool in_flight, const struct sass_insn *insns, uint32_t n)
{
	struct program p = { .n = n };

	memcpy(p.insns, insns, n * sizeof(*insns));
	ok(is_found(&p) == in_flight, "%s: %s in flight", what, in_flight ? "it is" : "nothing is");
	ok(is_refused(&p) == in_flight, "which the checker %s", in_flight ? "refuses" : "passes");
}

#define TRY(what, in_flight, ...) try_program(what, in_flight, (const struct sass_insn[]){ __VA_ARGS__ }, \
					     sizeof((const struct sass_insn[]){ __VA_ARGS__ }) / sizeof(struct sass_insn))

static void try_programs(void)
{
	struct sass_insn waits = sass_nop(1, 1);

	TRY("a dead load of a constant", true, ldc(1, NONE), ends(PT));
	TRY("one with a scoreboard", false, ldc(1, 0), ends(PT));
	TRY("one of a register that no probe has", false, ldc(9, NONE), ends(PT));
	TRY("one before a later one that is waited for, in whatever order they come", true, ldc(1, NONE), ldc(9, 0), waits, ends(PT));
	TRY("one of shared memory before such", false, lds(1, NONE), lds(9, 0), waits, ends(PT));
	TRY("also where the exit's probe waits for it first", false, lds(1, NONE), lds(9, 0), ends(PT));
	TRY("not where the later one is under a predicate", true, lds(1, NONE), under(lds(9, 0), 0), waits, ends(PT));
	TRY("nor where it is of another unit", true, lds(1, NONE), ldc(9, 0), waits, ends(PT));
	TRY("nor where it stands on one of two paths", true, lds(1, NONE), bra(1, 0), lds(9, 0), waits, ends(PT));
	TRY("one behind the only exit", false, ends(PT), ldc(1, NONE), bra(-1, PT));
	TRY("one around which a branch leads", true, bra(1, 0), ldc(1, NONE), ends(PT), bra(-1, PT));
	TRY("one that a loop leads back before an exit", true, ends(0), ldc(1, NONE), bra(-3, PT));
	TRY("a reciprocal before a later one", false, mufu(1, NONE, NONE), mufu(9, 0, NONE), ends(PT));
	TRY("one in a function that returns to anywhere", true, bra(1, PT), ends(PT), ldc(1, NONE), returns());
	TRY("one whose source was read, which tells nothing of its result", true, mufu(1, NONE, 0), ends(PT));
	TRY("one whose result has come, and with it its source", false, mufu(1, 0, NONE), ends(PT));
	TRY("one before a branch by a uniform predicate", true, ldc(1, NONE), bra_uniform(1), ends(PT), bra(-1, PT));
	TRY("one before a branch of diverged lanes", true, ldc(1, NONE), bra_div(1), ends(PT), bra(-1, PT));
	TRY("one before a branch that all take", false, ldc(1, NONE), bra(1, PT), ends(PT), bra(-1, PT));
	TRY("one before a BSYNC, after which lanes continue at the target of the BSSY", true, sass_bssy(0, 3 * SASS_INSN),
	    ldc(1, NONE), sass_bsync(0), bra(-1, PT), ends(PT));
	TRY("a store that reads late", true, stg(3, NONE), ends(PT));
	TRY("one that tells when it has read", false, stg(3, 0), ends(PT));
}

/* -- random programs -- */

static struct sass_insn random_insn(uint32_t i, uint32_t n)
{
	unsigned reg = random_below(6), board = random_below(3) ? NONE : random_below(2), guard = random_below(3) ? PT : random_below(2);
	int64_t over = (int64_t)random_below(n) - i - 1;

	switch (random_below(9)) {
	case 0: return under(ldc(reg, board), guard);
	case 1: case 2: return under(lds(reg, board), guard);
	case 3: return under(stg(reg + 1, board), guard);
	case 4: return under(mufu(reg, board, random_below(2) ? NONE : 1), guard);
	case 5: return bra(over, guard);
	case 6: return random_below(6) ? sass_nop(1u << random_below(2), 1) : returns();
	case 7: return ends(guard);
	default: return sass_nop(random_below(4), 1);
	}
}

static void try_random(uint32_t rounds)
{
	uint32_t found = 0, refused = 0, missed = 0;

	for (uint32_t round = 0; round < rounds; round++) {
		struct program p = { .n = 4 + random_below(MAX_INSNS - 5) };
		bool was_found, was_refused;

		for (uint32_t i = 0; i + 1 < p.n; i++)
			p.insns[i] = random_insn(i, p.n);
		p.insns[p.n - 1] = ends(PT);
		found += was_found = is_found(&p);
		refused += was_refused = is_refused(&p);
		missed += was_refused && !was_found;
	}
	ok(found > rounds / 8 && found < rounds, "of %u random programs %u have something in flight at an exit", rounds, found);
	ok(!missed && refused >= found * 9 / 10, "of these the checker refuses %u, and %u others", refused - missed, missed);
}

int main(void)
{
	try_programs();
	try_random(20000);
	return done();
}
