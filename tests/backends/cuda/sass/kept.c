/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests which values an exit probe reuses from the entry probe. It reuses a value only if both probes compute the value
 * in all lanes, from inputs that are constant for the thread.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sass/probe/entry_value_reuse.h"
#include "backends/cuda/sass/probe/schedule.h"
#include "tests/tap.h"
#include "tests/backends/cuda/sass/isa/insn.h"

#define SM 90
#define ENOUGH 32
#define MULTIPROCESSOR 0x43
#define LANE 0x00
#define THREAD 0x21
#define BOARD 0

static struct sass_insn slow(struct sass_insn insn)
{
	return sass_with_field(insn, SASS_WRITE_AT, 3, BOARD);
}

static struct sass_insn wait(struct sass_insn insn)
{
	return sass_with_field(insn, SASS_WAIT_AT, 6, 1u << BOARD);
}

/* S2R to, special */
static struct sass_insn special(unsigned to, unsigned which)
{
	struct sass_insn s2r = insn_of(0x0000000000007919, 0x000e220000000000);

	return slow(sass_with_field(sass_with_field(s2r, 16, 8, to), 72, 8, which));
}

/* IMAD to, a, a, a; its stall is six cycles */
static struct sass_insn product(unsigned to, unsigned a)
{
	struct sass_insn imad = insn_of(0x0000000000007224, 0x000fcc00078e0200);

	return sass_with_field(sass_with_field(sass_with_field(sass_with_field(imad, 16, 8, to), 24, 8, a), 32, 8, a), 64, 8, a);
}

/* CS2R to, SR_GLOBALTIMERLO */
static struct sass_insn clock_into(unsigned to)
{
	struct sass_insn cs2r = insn_of(0x0000000000007805, 0x000fde0000015200);

	return sass_with_field(cs2r, 16, 8, to);
}

/* ISETP.GT.U32.AND P0, PT, a, 0x3ffffff, PT */
static struct sass_insn compare(unsigned a)
{
	struct sass_insn isetp = insn_of(0x03ffffff0000780c, 0x000fda0003f04070);

	return sass_with_field(isetp, 24, 8, a);
}

/* STG.E.64 [address], value */
static struct sass_insn store(unsigned address, unsigned value)
{
	struct sass_insn stg = insn_of(0x0000000000007386, 0x000fe20000100b00);

	return sass_with_field(sass_with_field(stg, 24, 8, address), 32, 8, value);
}

/* LDG.E.64 to, [address] */
static struct sass_insn load(unsigned to, unsigned address)
{
	struct sass_insn ldg = insn_of(0x0000000000007381, 0x000e2200001e0b00);

	return slow(sass_with_field(sass_with_field(ldg, 16, 8, to), 24, 8, address));
}

static struct sass_insn under(struct sass_insn insn, unsigned predicate)
{
	return sass_with_field(insn, 12, 4, predicate);
}

static struct sass_insn end(void)
{
	return sass_with_control(insn_of(0x794d, 0x03800000), 0, 5);
}

static struct sass_probe probe_of(const struct sass_insn *insns, uint32_t n)
{
	struct sass_probe p = { .insns = malloc(n * sizeof(*insns)), .n = n };

	memcpy(p.insns, insns, n * sizeof(*insns));
	sass_probe_update_usage(&p);
	return p;
}

#define PROBE(...) probe_of((const struct sass_insn[]){ __VA_ARGS__ }, sizeof((const struct sass_insn[]){ __VA_ARGS__ }) / sizeof(struct sass_insn))

static uint32_t count(const struct sass_probe *p, uint32_t opcode)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++)
		n += sass_opcode(p->insns[i]) == opcode;
	return n;
}

/*
 * Returns the number of instructions that sass_reuse_entry_values() removes from the exit probe. Returns UINT32_MAX if
 * it removes none but changes the probe. Frees both probes.
 */
static uint32_t count_removed(struct sass_probe entry, struct sass_probe exit, uint32_t most)
{
	struct sass_probe unchanged = probe_of(exit.insns, exit.n);
	uint32_t before = exit.n;
	bool same;

	if (sass_reuse_entry_values(sass_arch_find(SM), &entry, &exit, most) < 0)
		abort();
	same = exit.n < before || sass_is_equivalent(unchanged.insns, unchanged.n, exit.insns, exit.n);
	before -= exit.n;
	if (!same)
		before = UINT32_MAX;
	sass_probe_finish(&unchanged);
	sass_probe_finish(&entry);
	sass_probe_finish(&exit);
	return before;
}

/*
 * Computes an address and the next value from the thread's number: the part that both probes of this test have in
 * common.
 */
#define ADDRESS wait(product(2, 0)), product(3, 2)
#define THREADS special(0, THREAD)

static void test_reused_addresses(void)
{
	struct sass_probe entry = PROBE(THREADS, ADDRESS, clock_into(4), store(2, 4), end());
	struct sass_probe exit = PROBE(THREADS, ADDRESS, clock_into(4), store(2, 4), end());
	struct sass_probe was = PROBE(THREADS, ADDRESS, clock_into(4), store(2, 4), end());
	unsigned address;

	ok(!sass_reuse_entry_values(sass_arch_find(SM), &entry, &exit, ENOUGH) && exit.n == 3, "of an exit's probe the clock, a store and the end are left");
	ok(count(&entry, 0x919) == 1 && count(&exit, 0x919) == 0 && count(&exit, 0x805) == 1, "which thread it is, is asked once");
	ok(sass_is_equivalent(was.insns, was.n, entry.insns, entry.n), "the entry's does what it did");
	ok(sass_is_equivalent_after(&entry, &was, &exit), "and the exit's behind it, too");
	ok(!sass_is_equivalent_after(&was, &was, &exit) || !memcmp(was.insns, entry.insns, was.n * sizeof(*was.insns)),
	   "behind another it need not");
	address = sass_field(exit.insns[1], 24, 8);
	exit.insns[1] = sass_with_field(exit.insns[1], 24, 8, address + 2);
	ok(!sass_is_equivalent_after(&entry, &was, &exit), "with another register it is another probe");
	sass_probe_finish(&entry);
	sass_probe_finish(&exit);
	sass_probe_finish(&was);
}

/* The entry probe must wait for its last result, unless its later instructions take at least that time. */
static void test_final_wait(void)
{
	struct sass_probe entry = PROBE(THREADS, wait(product(2, 0)), sass_with_field(product(3, 2), SASS_STALL_AT, 4, 1), end());
	struct sass_probe exit = PROBE(THREADS, ADDRESS, clock_into(4), store(2, 4), end());
	unsigned time = 0;

	entry.insns[entry.n - 1] = store(2, 2);
	entry.insns = realloc(entry.insns, (entry.n + 1) * sizeof(*entry.insns));
	entry.insns[entry.n++] = end();
	sass_probe_update_usage(&entry);
	if (sass_reuse_entry_values(sass_arch_find(SM), &entry, &exit, ENOUGH) < 0)
		abort();
	for (uint32_t i = entry.n - 1; i--; ) {
		time += sass_min_cycles(entry.insns[i]);
		if (sass_opcode(entry.insns[i]) == 0x224)
			break;
	}
	ok(exit.n == 3 && time >= 8, "what was computed last has %u cycles until the end", time);
	sass_probe_finish(&entry);
	sass_probe_finish(&exit);
}

int main(void)
{
	test_reused_addresses();
	test_final_wait();
	ok(!count_removed(PROBE(THREADS, ADDRESS, clock_into(4), store(2, 4), end()), PROBE(THREADS, ADDRESS, clock_into(4), store(2, 4), end()), 5),
	   "not with fewer registers than it takes");
	ok(!count_removed(PROBE(THREADS, ADDRESS, store(2, 2), end()), PROBE(special(0, LANE), ADDRESS, store(2, 2), end()), ENOUGH),
	   "nor what is computed of something else");
	ok(!count_removed(PROBE(special(0, MULTIPROCESSOR), ADDRESS, store(2, 2), end()), PROBE(special(0, MULTIPROCESSOR), ADDRESS, store(2, 2), end()), ENOUGH),
	   "nor of where the thread runs, which may be elsewhere later");
	ok(!count_removed(PROBE(clock_into(0), product(2, 0), product(3, 2), store(2, 2), end()), PROBE(clock_into(0), product(2, 0), product(3, 2), store(2, 2), end()), ENOUGH),
	   "nor of the clock");
	ok(count_removed(PROBE(THREADS, ADDRESS, load(4, 2), wait(product(6, 4)), product(7, 6), store(6, 6), end()),
			 PROBE(THREADS, ADDRESS, load(4, 2), wait(product(6, 4)), product(7, 6), store(6, 6), end()), ENOUGH) == 3,
	   "of what is in memory, where it is alone");
	ok(count_removed(PROBE(THREADS, wait(compare(0)), under(product(2, 0), 0), under(product(3, 2), 0), store(2, 2), end()),
			 PROBE(THREADS, ADDRESS, store(2, 2), end()), ENOUGH) == 1,
	   "but for the thread nothing, where not all lanes compute it,");
	ok(!count_removed(PROBE(THREADS, wait(compare(0)), under(end(), 0), ADDRESS, load(4, 2), wait(product(6, 4)), product(7, 6), store(6, 6), end()),
			  PROBE(THREADS, ADDRESS, store(2, 2), end()), ENOUGH),
	   "nor where some have ended before");
	return done();
}
