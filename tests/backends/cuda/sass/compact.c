/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The register allocator must preserve the behaviour of probes. Random probes contain branches, loops, register pairs
 * and quadruples, predicates, and loads and stores with late waits for scoreboards. The test runs each probe before and
 * after allocation. An operation of variable latency reads its sources and writes its result at any times that the
 * hardware might choose. A result with fixed latency is written at the end of that latency. An instruction's result is
 * a hash of its index and its sources.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sass/probe/regalloc.h"
#include "backends/cuda/sass/probe/work.h"
#include "tests/tap.h"
#include "tests/backends/cuda/sass/isa/insn.h"

#define PROGRAMS 800
#define RUNS 8
#define MAX_INSNS 400                   /* instructions */
#define STEPS 400
#define LANDS 13                   /* maximum fixed latency in cycles */
#define CONSTANTS 4                /* number of registers that are written once and read without a scoreboard */
#define IADD3 0x210
#define IMAD_WIDE 0x225
#define LDG 0x381
#define STG 0x386
#define SHFL 0x589               /* R16 <- R24 of the lane in R0 */

static const struct sass_arch *arch;
static uint64_t seed;

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15ull + b;

	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 32) * 0x94d049bb133111ebull;
	return x ^ x >> 30;
}

static unsigned below(unsigned n)
{
	seed = mix(seed, 1);
	return seed % n;
}

/* -- generation -- */

static struct generator {
	struct sass_insn insns[MAX_INSNS];
	uint32_t n, regs;
	/* cycles until the result of a fixed-latency instruction may be read, by register */
	uint32_t unsettled[256];
	uint8_t written[256], read[256];   /* scoreboard masks of pending writes and reads, by register */
	uint32_t blocks, begins[32], branches[32];
} m;

static struct sass_insn bare(unsigned opcode)
{
	struct sass_insn insn = insn_of(opcode, 0);

	insn = sass_with_field(sass_with_field(sass_with_field(insn, 12, 4, SASS_PT), 87, 4, SASS_PT), SASS_WRITE_AT, 3, SASS_NO_SCOREBOARD);
	insn = sass_with_field(sass_with_field(sass_with_field(insn, SASS_READ_AT, 3, SASS_NO_SCOREBOARD), 81, 3, SASS_PT), 84, 3, SASS_PT);
	insn = sass_with_field(sass_with_field(insn, 64, 8, SASS_RZ), 72, 1, opcode == LDG || opcode == STG);
	return sass_with_field(insn, 77, 4, SASS_PT);
}

/* Records the registers of an added instruction as in flight or as written with fixed latency. */
static void remember(struct sass_insn insn)
{
	unsigned wb = sass_write_board(insn), rb = sass_read_board(insn);

	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = insn.operand[o];

		for (unsigned r = x.reg; r < (unsigned)x.reg + x.n; r++) {
			if (x.written && wb != SASS_NO_SCOREBOARD)
				m.written[r] |= 1u << wb;
			else if (x.written)
				m.unsettled[r] = 0;
			else if (rb != SASS_NO_SCOREBOARD)
				m.read[r] |= 1u << rb;
			else if (wb != SASS_NO_SCOREBOARD)
				m.read[r] |= 1u << wb;
		}
	}
}

/*
 * Adds an instruction after waits for its registers that are in flight or written with fixed latency. A scoreboard that
 * the previous instruction sets is not visible yet. Does not wait for the scoreboards in not_for.
 */
static void add_but(struct sass_insn insn, unsigned not_for)
{
	struct sass_insn *before = &m.insns[m.n - 1];
	unsigned waits = sass_wait_mask(insn), passes = 1 + below(6);

	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = insn.operand[o];

		for (unsigned r = x.reg; r < (unsigned)x.reg + x.n; r++) {
			waits |= m.written[r] | (x.written ? m.read[r] : 0);
			if (m.unsettled[r] < LANDS)
				*before = sass_with_field(*before, SASS_STALL_AT, 4, LANDS);
		}
		if (sass_uses(*before, &x, SASS_USES) && sass_stall(*before) < SASS_SCOREBOARD_CYCLES)
			*before = sass_with_field(*before, SASS_STALL_AT, 4, SASS_SCOREBOARD_CYCLES);
	}
	waits &= ~not_for;
	insn = sass_with_field(sass_with_field(insn, SASS_WAIT_AT, 6, waits), SASS_STALL_AT, 4, passes);
	for (unsigned r = 0; r < m.regs; r++) {
		m.written[r] &= ~waits;
		m.read[r] &= ~waits;
		m.unsettled[r] += sass_stall(*before);
	}
	if (sass_opcode(*before) != SASS_OP_NOP && sass_stall(*before) < SASS_SCOREBOARD_CYCLES)
		remember(*before);
	remember(insn);
	m.insns[m.n++] = insn;
}

static void add(struct sass_insn insn)
{
	add_but(insn, 0);
}

static unsigned any(unsigned wide, bool written)
{
	unsigned r = below(m.regs / wide) * wide;

	return written && r < CONSTANTS ? CONSTANTS + below((m.regs - CONSTANTS) / 4) * 4 : r;
}

static struct sass_insn maybe(struct sass_insn insn)
{
	return below(4) ? insn : sass_with_field(insn, 12, 3, below(SASS_PT));
}

static void add_any(void)
{
	unsigned wide = 1 << below(3), size = wide == 1 ? 4 : wide == 2 ? 5 : 6, wb = below(SASS_SCOREBOARDS), rb = below(SASS_SCOREBOARDS);
	struct sass_insn insn;

	switch (below(7)) {
	case 6: /* SHFL overwrites a source of the previous SHFL without a wait, because shuffles complete in order */
		insn = sass_with_field(sass_with_field(bare(SHFL), SASS_READ_AT, 3, rb), SASS_WRITE_AT, 3, (rb + 1) % SASS_SCOREBOARDS);
		for (unsigned r = 0; r < m.regs; r++)
			if ((m.read[r] | m.written[r]) & (1u << rb | 1u << (rb + 1) % SASS_SCOREBOARDS | 1u << (rb + 2) % SASS_SCOREBOARDS))
				return;
		wide = any(1, true);
		add(sass_with_field(sass_with_field(insn, 16, 8, any(1, true)), 24, 8, wide));
		if (sass_field(m.insns[m.n - 1], 16, 8) != wide)
			add_but(sass_with_field(sass_with_field(sass_with_field(insn, SASS_WRITE_AT, 3, (rb + 2) % SASS_SCOREBOARDS), 16, 8, wide), 24, 8, any(1, false)), 1u << rb);
		break;
	case 0: /* LDG */
		insn = sass_with_field(sass_with_field(bare(LDG), 16, 8, any(wide, true)), 24, 8, any(2, false));
		insn = sass_with_field(sass_with_field(insn, 73, 3, size), SASS_WRITE_AT, 3, wb);
		add(maybe(below(2) ? insn : sass_with_field(insn, SASS_READ_AT, 3, rb)));
		break;
	case 1: /* STG */
		insn = sass_with_field(sass_with_field(bare(STG), 24, 8, any(2, false)), 32, 8, any(wide, false));
		add(maybe(sass_with_field(sass_with_field(insn, 73, 3, size), SASS_READ_AT, 3, rb)));
		break;
	case 2: /* STG without a scoreboard */
		if (wide < 4)
			add(sass_with_field(sass_with_field(sass_with_field(bare(STG), 24, 8, 0), 32, 8, 2), 73, 3, size));
		break;
	case 3:
		insn = sass_with_field(sass_with_field(bare(IMAD_WIDE), 16, 8, any(2, true)), 24, 8, any(1, false));
		add(maybe(sass_with_field(sass_with_field(insn, 32, 8, any(1, false)), 64, 8, any(2, false))));
		break;
	default:
		insn = sass_with_field(sass_with_field(bare(IADD3), 16, 8, any(1, true)), 24, 8, any(1, false));
		add(maybe(sass_with_field(sass_with_field(insn, 32, 8, any(1, false)), 64, 8, any(1, false))));
		break;
	}
}

/* Begins a block with a wait for all scoreboards, so that no operation of an earlier block is in flight in it. */
static void begin_block(uint32_t block)
{
	m.begins[block] = m.n;
	m.insns[m.n++] = sass_nop((1u << SASS_SCOREBOARDS) - 1, LANDS);
	memset(m.written, 0, sizeof(m.written));
	memset(m.read, 0, sizeof(m.read));
	memset(m.unsettled, 0x1f, sizeof(m.unsettled));
}

static void make(uint64_t of)
{
	seed = of;
	m.n = 0;
	m.regs = 12 + 4 * below(8);
	m.blocks = 1 + below(6);
	begin_block(0);
	for (uint32_t r = 0; r < m.regs; r++)
		add(sass_with_field(sass_with_field(sass_with_field(bare(IADD3), 16, 8, r), 24, 8, SASS_RZ), 32, 8, SASS_RZ));
	for (uint32_t b = 0; b < m.blocks; b++) {
		if (b)
			begin_block(b);
		for (unsigned n = 4 + below(20); n--;)
			add_any();
		m.insns[m.n - 1] = sass_with_field(m.insns[m.n - 1], SASS_STALL_AT, 4, SASS_SCOREBOARD_CYCLES);
		m.branches[b] = m.n;
		m.insns[m.n++] = sass_with_field(sass_with_field(bare(b + 1 < m.blocks ? SASS_OP_BRA : SASS_OP_EXIT), 64, 24, 0), 72, 15, 0);
	}
	for (uint32_t b = 0; b + 1 < m.blocks; b++) {
		uint32_t at = m.branches[b];
		struct sass_insn bra = sass_with_field(sass_bra(arch, ((int64_t)m.begins[below(m.blocks)] - at - 1) * SASS_INSN), 12, 3, below(SASS_PT));

		m.insns[at] = sass_with_field(bra, SASS_STALL_AT, 4, 5);
	}
}

/* -- execution -- */

struct late {
	/* index of the instruction; step of its issue; completion time if it has no scoreboard */
	uint32_t insn, step, time;
	uint64_t found;                    /* result: a hash of the sources */
	/* the operation has not yet read its sources (samples), or not yet written its result (lands) */
	bool samples, lands;
	uint8_t read, write;               /* scoreboards */
	uint32_t since;
};

static struct run {
	uint32_t regs[256];
	struct late late[STEPS];
	uint32_t nlate;
	uint64_t trace;
} run;

static uint64_t found(struct sass_insn insn, uint32_t i)
{
	uint64_t v = i;

	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = insn.operand[o];

		for (unsigned k = 0; k < x.n && !x.written; k++)
			v = mix(v, run.regs[x.reg + k] + 1ull);
	}
	return v;
}

static void sample(const struct sass_insn *insns, struct late *l)
{
	if (!l->samples)
		return;
	l->found = found(insns[l->insn], l->insn);
	l->samples = false;
	run.trace += sass_opcode(insns[l->insn]) == STG ? mix(l->found, l->step) : 0;
}

static void land(const struct sass_insn *insns, struct late *l)
{
	struct sass_operand x = insns[l->insn].operand[0];

	for (struct late *before = run.late; before < l && sass_opcode(insns[l->insn]) == SHFL; before++)
		if (sass_opcode(insns[before->insn]) == SHFL)
			sample(insns, before);
	sample(insns, l);
	for (unsigned k = 0; k < x.n && l->lands; k++)
		run.regs[x.reg + k] = mix(l->found, k);
	l->lands = false;
}

/* Completes the operations whose scoreboard the instruction waits for, and those whose completion time has passed. */
static void complete_operations(const struct sass_insn *insns, unsigned waits, uint32_t now, bool all)
{
	for (uint32_t k = 0; k < run.nlate; k++) {
		struct late *l = &run.late[k];
		bool seen = l->since + SASS_SCOREBOARD_CYCLES <= now;

		if (all || (l->write == SASS_NO_SCOREBOARD && l->read == SASS_NO_SCOREBOARD && l->time <= now && !l->samples) ||
		    (seen && waits >> l->write & 1))
			land(insns, l);
		else if (seen && waits >> l->read & 1)
			sample(insns, l);
	}
}

static void carry_out(const struct sass_insn *insns, uint32_t i, uint32_t step, uint32_t now, uint64_t choice)
{
	struct sass_insn insn = insns[i];
	bool slow = sass_is_slow(insn), store = sass_opcode(insn) == STG;
	struct late *l = &run.late[run.nlate++];

	*l = (struct late){ .insn = i, .step = step, .time = now + 1 + choice % LANDS, .found = found(insn, i), .lands = !store,
			    .read = sass_read_board(insn), .write = sass_write_board(insn), .since = now };
	l->samples = slow && choice >> 8 & 1;
	if (slow && !l->samples && store)
		run.trace += mix(l->found, step);
	if (slow && !l->samples && choice >> 9 & 1)
		land(insns, l);
}

static uint64_t carry_out_all(const struct sass_insn *insns, uint32_t n, uint64_t choices)
{
	uint32_t i = 0, now = 0;

	memset(&run, 0, sizeof(run));
	for (uint32_t step = 0; step < STEPS && i < n; step++) {
		uint64_t choice = mix(choices, step);
		struct sass_insn insn = insns[i];
		bool meant = sass_field(insn, 12, 4) == SASS_PT || choice >> 20 & 1;

		complete_operations(insns, sass_wait_mask(insn), now, false);
		if (meant && sass_opcode(insn) == SASS_OP_EXIT)
			break;
		if (meant && sass_opcode(insn) != SASS_OP_BRA && sass_opcode(insn) != SASS_OP_NOP)
			carry_out(insns, i, step, now, choice);
		now += sass_min_cycles(insn);
		i += meant && sass_opcode(insn) == SASS_OP_BRA ? 1 + sass_branch(arch, insn) / SASS_INSN : 1;
	}
	complete_operations(insns, 0, now, true);
	for (uint32_t k = 0; k < run.nlate; k++)
		run.trace += sass_opcode(insns[run.late[k].insn]) == STG ? 0 : mix(run.late[k].found, run.late[k].step);
	return run.trace;
}

static bool is_even(const struct sass_probe *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		for (unsigned o = 0; o < SASS_OPERANDS; o++) {
			struct sass_operand x = p->insns[i].operand[o];

			if (x.n && x.reg % x.n)
				return false;
		}
	return true;
}

int main(void)
{
	uint32_t before = 0, after = 0, fewer = 0, wrong = 0, branching = 0, odd = 0;

	arch = sass_arch_find(90);
	for (uint32_t k = 0; k < PROGRAMS; k++) {
		struct sass_insn insns[MAX_INSNS];
		struct sass_probe probe = { .insns = insns, .n = 0 };

		make(mix(k, 7));
		memcpy(insns, m.insns, sizeof(insns));
		probe.n = m.n;
		sass_probe_update_usage(&probe);
		before += probe.regs;
		branching += probe.diverges;
		if (sass_alloc_registers(arch, &probe, 0) < 0)
			abort();
		sass_probe_update_usage(&probe);
		after += probe.regs;
		fewer += probe.regs < m.regs;
		odd += !is_even(&probe);
		for (uint64_t r = 0; r < RUNS; r++)
			if (carry_out_all(m.insns, m.n, mix(k, r)) != carry_out_all(insns, m.n, mix(k, r))) {
				note("program %u, %u registers in place of %u, run %u", k, probe.regs, m.regs, (unsigned)r);
				wrong++;
				break;
			}
	}
	ok(!wrong, "%u of %u programs do something else", wrong, PROGRAMS);
	ok(!odd, "%u of them have a pair or four registers where no such may be", odd);
	ok(branching > PROGRAMS / 2 && fewer > branching / 4, "%u of %u with branches have fewer registers", fewer, branching);
	ok(after < before, "%u registers in place of %u", after, before);
	return done();
}
