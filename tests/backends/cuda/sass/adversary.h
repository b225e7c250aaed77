/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An adversary for the emulator of a twin: operations of variable latency complete as late as the hardware allows. A
 * result is written when an instruction waits for its scoreboard, or when the kernel's code relies on the result. On an
 * in-order unit it is also written before a later operation completes. Otherwise it is written just before a probe
 * reads the register, or at the end of the thread. An operation that may read its sources late reads them after the
 * probe has overwritten them.
 */
#ifndef GPUBPF_TESTS_CUDA_SASS_ADVERSARY_H
#define GPUBPF_TESTS_CUDA_SASS_ADVERSARY_H

#include <string.h>

#include "backends/cuda/sass/analysis/live.h"
#include "backends/cuda/sass/isa/operands.h"
#include "told.h"
#include "tests/backends/cuda/sass/isa/insn.h"

#define MAX_FLIGHTS 256
#define NO_PREDICATE 7
#define LANDS 0xbad0bad0u          /* an operation returns garbage: this number plus that of the register */

struct flight {
	struct sass_insn insn;
	/* first of the n written registers, and the written predicate; if n is 0, no register is written */
	uint8_t reg, n, predicate;
	/* masks of scoreboards: `told` signals the result of the operation, `read` the read of its sources */
	unsigned told, read;
};

struct adversary {
	const struct sass_arch *arch;
	struct flight flights[MAX_FLIGHTS]; /* operations in flight, in order of issue */
	/* landed: number of results written within a probe although no instruction waited for them */
	uint32_t n, landed;
	struct thread *kernel;         /* a second thread that also receives the results, or NULL */
	bool wrong;                    /* a probe overwrote a source before an operation read it */
};

static unsigned as_board(unsigned field)
{
	return field == SASS_NO_SCOREBOARD ? 0 : 1u << field;
}

static bool has_known_latency(const struct sass_arch *arch, struct sass_insn insn)
{
	uint32_t operation = sass_opcode(insn) & 0x1ff;

	return operation >= 0x028 && operation <= 0x02b && (arch->sm == 90 || arch->sm == 100); /* double precision */
}

static bool writes_uniform(struct sass_insn insn)
{
	static const uint16_t operations[] = { 0x05a, 0x05c, 0x0cc, 0x156, 0x1ac, 0x1c2, 0x1c3, 0x1c4, 0x1e3 };

	return is_one_of(insn, operations, sizeof(operations) / sizeof(*operations));
}

/* Number of registers that LDC, LD, LDG, LDL and LDS write. */
static uint8_t loaded(struct sass_insn insn)
{
	static const uint8_t registers[] = { 1, 1, 1, 1, 1, 2, 4, 4 };
	uint32_t operation = sass_opcode(insn) & 0x1ff;

	return operation >= 0x180 && operation <= 0x184 ? registers[sass_field(insn, 73, 3)] : 1;
}

static void forget_flight(struct adversary *a, uint32_t k)
{
	memmove(&a->flights[k], &a->flights[k + 1], (--a->n - k) * sizeof(*a->flights));
}

/* Issues an instruction of the kernel. */
static void issue(struct adversary *a, struct sass_insn insn)
{
	enum sass_class class = sass_op(insn)->class;
	bool stores = class == SASS_STORE;
	struct flight f = { .insn = insn, .reg = sass_field(insn, 16, 8), .predicate = NO_PREDICATE };

	if ((class != SASS_SLOW && class != SASS_LOAD && !stores) || has_known_latency(a->arch, insn) || sass_field(insn, 12, 4) == 15)
		return;
	/* BMOV.CLEAR with destination RZ has no result: it only clears a barrier */
	if ((sass_opcode(insn) & 0x1ff) == 0x155 && f.reg == 255)
		return;
	f.n = stores || f.reg == 255 || writes_uniform(insn) ? 0 : loaded(insn);
	if (sass_predicate_is_slow(insn))
		f.predicate = sass_field(insn, 81, 3);
	f.told = as_board(sass_write_board(insn));
	f.read = f.told | as_board(sass_read_board(insn));
	if (stores)
		f.told = f.read;
	if (a->n == MAX_FLIGHTS)
		forget_flight(a, 0);
	a->flights[a->n++] = f;
}

static void land_in(struct thread *t, const struct flight *f)
{
	for (unsigned r = f->reg; r < (unsigned)f->reg + f->n && r < 255; r++)
		t->r[r] = LANDS + r;
	if (f->predicate != NO_PREDICATE)
		t->p[f->predicate] = !t->p[f->predicate];
}

static void land(struct adversary *a, uint32_t k, struct thread *t)
{
	if (a->kernel) /* both threads had the same predicate value; the result inverts it in the kernel's thread */
		land_in(a->kernel, &a->flights[k]);
	if (t)
		land_in(t, &a->flights[k]);
	if (t && a->kernel && a->flights[k].predicate != NO_PREDICATE)
		t->p[a->flights[k].predicate] = a->kernel->p[a->flights[k].predicate];
	forget_flight(a, k);
}

static bool is_in_order(struct sass_insn insn)
{
	static const uint16_t operations[] = { 0x03b, 0x107, 0x108, 0x110, 0x184 }; /* LDSM, FRND, MUFU, F2F.64, LDS */

	return is_one_of(insn, operations, sizeof(operations) / sizeof(*operations));
}

/*
 * Waits for scoreboards: completes the operations that signal them. On an in-order unit this also completes all earlier
 * operations.
 */
static void settle(struct adversary *a, unsigned boards, struct thread *t)
{
	for (uint32_t k = a->n; k-- > 0;) {
		uint32_t operation = sass_opcode(a->flights[k].insn) & 0x1ff;
		bool ordered = is_in_order(a->flights[k].insn) && sass_field(a->flights[k].insn, 12, 4) == 7;

		if (!(a->flights[k].told & boards))
			continue;
		land(a, k, t);
		for (uint32_t j = k; ordered && j-- > 0;)
			if ((sass_opcode(a->flights[j].insn) & 0x1ff) == operation) {
				land(a, j, t);
				k--;
			}
	}
	for (uint32_t k = 0; k < a->n; k++)
		a->flights[k].read = a->flights[k].read & boards ? 0x3f : a->flights[k].read;
}

static bool names(const struct flight *f, const struct sass_operand *o)
{
	return o->n && !o->uniform && o->reg < f->reg + f->n && f->reg < o->reg + o->n;
}

/*
 * The kernel may read or overwrite the register of an operation in flight without a wait. The compiler then knew that
 * the operation had completed, so this function completes it.
 */
static void rely(struct adversary *a, struct sass_insn insn, struct thread *t)
{
	enum sass_class class = sass_op(insn)->class;
	struct sass_operand named[SASS_OPERANDS + 1];
	unsigned n = sass_operands_named(a->arch, insn, named);

	/* the destination register is unknown for other classes */
	if ((class == SASS_FIXED || class == SASS_SLOW || class == SASS_LOAD) && !writes_uniform(insn))
		named[n++] = (struct sass_operand){ .reg = sass_field(insn, 16, 8), .n = class == SASS_LOAD ? 2 : 1 };
	for (uint32_t k = a->n; k-- > 0;) {
		bool relies = false;

		for (unsigned o = 0; o < n; o++)
			relies |= names(&a->flights[k], &named[o]);
		if (relies)
			land(a, k, t);
	}
}

/*
 * Does the operation in flight read one of these registers late? Checks only the sources that the operand table lists.
 */
static bool reads_late(const struct adversary *a, const struct flight *f, const struct sass_operand *o)
{
	struct sass_operand named[SASS_OPERANDS];
	unsigned n = sass_operands_named(a->arch, f->insn, named);

	for (unsigned i = 0; i < n; i++) {
		const struct sass_operand *x = &named[i];

		if (!x->written && !x->uniform && x->n && x->reg < o->reg + o->n && o->reg < x->reg + x->n)
			return true;
	}
	return false;
}

/* Issues an instruction of a probe. It has one of the forms that probes may have. */
static void issue_probe_insn(struct adversary *a, struct sass_insn insn, struct thread *t)
{

	for (uint32_t k = a->n; k-- > 0;) {
		bool read = a->flights[k].predicate != NO_PREDICATE && sass_predicates_read(insn) >> a->flights[k].predicate & 1;

		for (unsigned o = 0; o < SASS_OPERANDS; o++) {
			struct sass_operand x = insn.operand[o];

			read |= !x.written && names(&a->flights[k], &x);
			a->wrong |= x.written && x.n && !a->flights[k].read && reads_late(a, &a->flights[k], &x);
		}
		a->landed += read;
		if (read)
			land(a, k, t);
	}
}

static void land_all(struct adversary *a, struct thread *t)
{
	while (a->n)
		land(a, a->n - 1, t);
}

#endif
