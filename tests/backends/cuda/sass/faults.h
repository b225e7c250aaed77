/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plants faults in twins; the target's checker must find each of them. Include this header in only one source file of a
 * test, because tests/tap.h counts per file.
 */
#ifndef GPUBPF_TESTS_CUDA_SASS_FAULTS_H
#define GPUBPF_TESTS_CUDA_SASS_FAULTS_H

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sass/check/check.h"
#include "backends/cuda/sass/isa/form.h"
#include "backends/cuda/sass/probe/schedule.h"
#include "backends/cuda/sass/rewrite/twin.h"
#include "core/model/diag.h"
#include "tests/backends/cuda/case.h"
#include "tests/tap.h"
#include "tests/backends/cuda/sass/isa/insn.h"

struct opened {
	struct sass_cubin app;
	const struct sass_kernel *kernel;
	struct sass_code code;
	uint8_t *twin, *text;
	size_t size, n;
};

static bool passes(const struct opened *o)
{
	const struct sass_insn_probes none = { 0 };
	const struct sass_twin twin = { .cubin = { o->twin, o->size } };
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	return !sass_check(&o->app, o->kernel, &o->code, &twin, &(struct sass_twin_contents){ .entry = true, .exit = true }, &none, &diag);
}

static struct sass_insn get(const struct opened *o, uint32_t i)
{
	return sass_read(o->text + i * SASS_INSN);
}

static void set(struct opened *o, uint32_t i, struct sass_insn insn)
{
	sass_write(o->text + i * SASS_INSN, insn);
}

/*
 * Returns the index of the first added instruction. It follows the kernel's code, or replaces the kernel's last EXIT.
 */
static uint32_t first_added(const struct opened *o)
{
	return o->code.tail != SASS_NONE ? o->code.tail : (o->code.n + 7) / 8 * 8;
}

/* Returns the index of the first instruction of the entry probe. */
static uint32_t entry_of(const struct opened *o)
{
	uint32_t at = sass_opcode(get(o, o->code.begin)) == SASS_OP_BRA ? o->code.begin : o->code.entry_limit;

	return at + 1 + sass_branch(o->code.arch, get(o, at)) / SASS_INSN;
}

/* Flips one bit of each instruction that the twin copies from the kernel. */
static void change_kernel_code(struct opened *o)
{
	uint32_t survived = 0;

	for (uint32_t i = 0; i < o->code.n && i < first_added(o); i++) {
		struct sass_insn was = get(o, i);
		uint32_t bit = random_below(105);

		set(o, i, sass_with_field(was, bit, 1, !sass_field(was, bit, 1)));
		survived += passes(o);
		set(o, i, was);
	}
	ok(!survived, "no bit of the kernel's own instructions can change unseen");
}

/* Replaces each added instruction by a forbidden instruction. */
static void change_added(struct opened *o)
{
	static const struct {
		const char *what;
		uint64_t lo, hi;
	} bad[] = {
		{ "a uniform register is written", 0x0000000000047882, 0x000fe20000000000 }, /* UMOV UR4, 0 */
		{ "a register above the twin's is written", 0x0000000000fe7802, 0x000fe20000000f00 }, /* MOV R254, 0 */
		{ "something unknown", 0x0000000000007fff, 0x000fe20000000000 },
		{ "a branch out of it", 0x0000000000007947, 0x000fea000383fff0 }, /* BRA far back */
	};
	uint32_t first = first_added(o);

	for (size_t k = 0; k < sizeof(bad) / sizeof(*bad); k++) {
		struct sass_insn was = get(o, first + 1);

		set(o, first + 1, insn_of(bad[k].lo, bad[k].hi));
		ok(!passes(o), "not in a probe: %s", bad[k].what);
		set(o, first + 1, was);
	}
}

/* Removes waits for scoreboards that the probes need. */
static void drop_waits(struct opened *o)
{
	uint32_t waits = 0, seen = 0, first = first_added(o);

	for (uint32_t i = first; i < o->n; i++) {
		struct sass_insn was = get(o, i);

		if (!sass_wait_mask(was) || !sass_form_find(sass_opcode(was)) || sass_opcode(was) == SASS_OP_EXIT)
			continue;
		waits++;
		set(o, i, sass_with_field(was, SASS_WAIT_AT, 6, 0));
		seen += !passes(o);
		set(o, i, was);
	}
	ok(waits && seen * 2 >= waits, "a wait that is missing is seen (%u of %u: some are for others' sake)", seen, waits);
}

/* number of exit probes, over all kernels, that wait for a scoreboard set just before */
static uint32_t waited;

/*
 * A scoreboard becomes visible only after some cycles. An exit probe that directly follows the kernel's code must not
 * wait in its first instruction.
 */
static void wait_without_delay(struct opened *o)
{
	struct sass_insn was = get(o, first_added(o)), waits = get(o, first_added(o) + 1);

	/* no wait: the probe's registers lie above the kernel's */
	if (o->code.tail == SASS_NONE || sass_opcode(was) != SASS_OP_NOP || !sass_wait_mask(waits))
		return;
	waited++;
	ok(sass_stall(was) >= 2 && !sass_wait_mask(was) && sass_wait_mask(waits), "an exit's probe waits for the kernel, but not at once");
	set(o, first_added(o), waits);
	set(o, first_added(o) + 1, was);
	ok(!passes(o), "a wait for what was set just before is seen");
	set(o, first_added(o) + 1, waits);
	set(o, first_added(o), sass_with_field(was, SASS_STALL_AT, 4, 1));
	ok(!passes(o), "and one a cycle later");
	set(o, first_added(o), was);
}

/* Shortens stall counts that the probes need. */
static void drop_times(struct opened *o)
{
	uint32_t times = 0, seen = 0;

	for (uint32_t i = first_added(o); i < o->n; i++) {
		struct sass_insn was = get(o, i);

		if (sass_stall(was) < 4 || sass_is_slow(was) || sass_op(was)->class != SASS_FIXED)
			continue;
		times++;
		set(o, i, sass_with_field(was, SASS_STALL_AT, 4, 1));
		seen += !passes(o);
		set(o, i, was);
	}
	ok(times && seen * 3 >= times, "a time that is too short is seen (%u of %u: of what nobody waits for, none)", seen, times);
}

/* Removes the cycles after which a newly set scoreboard is visible to a wait. */
static void wait_early(struct opened *o)
{
	uint32_t pairs = 0, early = 0, seen = 0;

	for (uint32_t i = first_added(o); i + 1 < o->n; i++) {
		struct sass_insn was = get(o, i);

		if (!(sass_boards_set(was) & sass_wait_mask(get(o, i + 1))))
			continue;
		pairs++;
		early += sass_stall(was) < 2;
		set(o, i, sass_with_field(was, SASS_STALL_AT, 4, 1));
		seen += !passes(o);
		set(o, i, was);
	}
	ok(!early, "%u instructions wait for what is set just before, %u too early", pairs, early);
	ok(seen == pairs, "one that would be too early is seen");
}

/* Reordering a probe's instructions must not change its value numbers; changing one field of an instruction must. */
static void number_values(struct opened *o)
{
	static const uint8_t fields[] = { 12, 16, 24, 32, 64 };
	uint32_t first = first_added(o), n = 0, changed = 0, same = 0;
	struct sass_insn insns[64];

	while (n < 64 && !(n && sass_opcode(insns[n - 1]) == SASS_OP_EXIT && sass_is_unconditional(insns[n - 1]))) {
		insns[n] = get(o, first + n);
		n++;
	}
	if (!ok(sass_is_equivalent(insns, n, insns, n), "an exit's probe of %u instructions does what it does", n))
		return;
	for (uint32_t i = 0; i + 1 < n; i++)
		for (size_t f = 0; f < sizeof(fields); f++) {
			struct sass_insn other[64];

			memcpy(other, insns, sizeof(other));
			other[i] = sass_with_field(other[i], fields[f], 3, sass_field(other[i], fields[f], 3) ^ 5);
			changed++;
			same += sass_is_equivalent(insns, n, other, n);
		}
	ok(same * 5 < changed, "%u changes of a field make another probe of it, %u are of what is not used", changed - same, same);
}

/* An exit probe has code for a full warp, which reconverges, followed by code for diverged lanes, which does not. */
static void check_meetings(struct opened *o)
{
	uint32_t first = first_added(o), entry = entry_of(o), meetings = 0, ends = 0;
	uint32_t last = entry;
	struct sass_insn bsync = { 0 };

	for (uint32_t i = first; i < entry; i++) {
		struct sass_insn insn = get(o, i);

		if (sass_opcode(insn) != SASS_OP_BSYNC)
			continue;
		meetings++;
		ends = i;
		bsync = insn;
	}
	ok(meetings && ends < first + (entry - first) / 2, "lanes of a whole warp meet %u times at an exit", meetings);
	for (uint32_t i = entry - 2; i > ends && meetings; i--) {
		struct sass_insn was = get(o, i);

		set(o, i, bsync);
		meetings += !passes(o);
		set(o, i, was);
		last = i;
		if (sass_opcode(was) == SASS_OP_EXIT)
			break;
	}
	ok(meetings > 1, "lanes that come apart may not meet");
	bsync = get(o, last);
	set(o, last, sass_vote(0));
	ok(!passes(o), "nor ask who is there");
	set(o, last, bsync);
}

/* An entry probe may use the kernel's convergence barriers if it breaks (leaves) all of them. Removes such a BREAK. */
static void drop_barrier_breaks(struct opened *o)
{
	uint32_t breaks = 0, seen = 0;

	for (uint32_t i = entry_of(o); i < o->n; i++) {
		struct sass_insn was = get(o, i);

		if (sass_opcode(was) != SASS_OP_BREAK)
			continue;
		breaks++;
		set(o, i, sass_nop(0, 5));
		seen += !passes(o);
		set(o, i, was);
	}
	ok(seen > 1 && seen < breaks, "%u of %u barriers of an entry's probe are the kernel's, and left", seen, breaks);
}

/* Flips a bit of each relocation of the code, and a bit of a copied function. */
static void change_copies(struct opened *o, struct sass_cubin *made)
{
	uint32_t seen = 0, changed = 0;

	for (uint32_t i = 1; i < made->nsections; i++) {
		const struct sass_section *s = &made->sections[i];
		bool text = s->head.sh_flags & SHF_EXECINSTR && i != made->kernels[0].text;
		uint8_t *bytes = (uint8_t *)s->data;

		for (size_t at = 0; (text || !strncmp(s->name, ".rela.text.", 11)) && at < s->size; at += 8, changed++) {
			bytes[at] ^= 0x10;
			seen += !passes(o);
			bytes[at] ^= 0x10;
		}
	}
	ok(seen == changed, "%u of %u changes of what is copied are seen", seen, changed);
}

static uint32_t settled;            /* number of exit probes, over all kernels, that use registers of the kernel */

/*
 * Shortens the stall before the probe writes registers of the kernel; in this stall the kernel's fixed-latency results
 * are written.
 */
static void drop_latency_stall(struct opened *o)
{
	uint32_t first = first_added(o), n = 0, time = 0, seen = 0;

	while (sass_opcode(get(o, first + n)) == SASS_OP_NOP)
		time += sass_stall(get(o, first + n++));
	if (time < 45) /* the probe's registers lie above the kernel's */
		return;
	settled++;
	for (uint32_t i = first; i < first + n; i++) {
		struct sass_insn was = get(o, i);

		if (time - sass_stall(was) >= 45)
			continue;
		set(o, i, sass_with_field(was, SASS_STALL_AT, 4, sass_stall(was) - (time - 45) - 1));
		seen += !passes(o);
		set(o, i, was);
	}
	ok(seen, "%u cycles before an exit's probe, of which one may not be missing", time);
}

#define S2R 0x119

static uint32_t keeping;           /* number of exit probes, over all kernels, that reuse values of the entry probe */

/* Sets kept[r] for each register r that the exit probe reads before writing it. Returns false if there is none. */
static bool find_reused_regs(struct opened *o, bool kept[256])
{
	bool written[256] = { false }, any = false;

	for (uint32_t i = first_added(o); i < entry_of(o); i++)
		for (unsigned k = SASS_OPERANDS; k--;) {
			struct sass_operand x = get(o, i).operand[k];

			for (unsigned r = x.reg; r < (unsigned)x.reg + x.n; r++) {
				any |= kept[r] |= !x.written && !written[r];
				written[r] |= x.written;
			}
		}
	return any;
}

static bool passes_with(struct opened *o, uint32_t i, struct sass_insn insn)
{
	struct sass_insn was = get(o, i);
	bool passed;

	set(o, i, insn);
	passed = passes(o);
	set(o, i, was);
	return passed;
}

static bool is_written_again(const struct opened *o, uint32_t i, unsigned reg)
{
	while (++i < o->n) {
		struct sass_operand x = get(o, i).operand[0];

		if (x.n && x.reg <= reg && reg < (unsigned)x.reg + x.n)
			return true;
	}
	return false;
}

/* Changes a value that the exit probe reuses from the entry probe, or computes it for some lanes only. */
static void change_reused_values(struct opened *o)
{
	uint32_t made = 0, guarded = 0, elsewhere = 0, moved = 0, read = 0;
	bool kept[256] = { false };

	if (!find_reused_regs(o, kept))
		return;
	keeping++;
	for (uint32_t i = entry_of(o); i + 1 < o->n; i++) {
		struct sass_operand x = get(o, i).operand[0];

		if (!x.n || !kept[x.reg] || is_written_again(o, i, x.reg))
			continue;
		made++;
		guarded += passes_with(o, i, sass_with_field(get(o, i), 12, 3, 0));
		elsewhere += (sass_opcode(get(o, i)) & 0x1ff) == S2R &&
			     passes_with(o, i, sass_with_field(get(o, i), 72, 8, 0x43));
		moved += passes_with(o, i, sass_with_reg(get(o, i), 0, x.reg ^ 4));
	}
	for (uint32_t i = first_added(o); i < entry_of(o); i++)
		for (unsigned k = 1; k < SASS_OPERANDS; k++) {
			struct sass_operand x = get(o, i).operand[k];

			if (x.n && kept[x.reg])
				/* an instruction of the kernel that reads the kept register */
				read += passes_with(o, i, sass_with_reg(get(o, i), k, 0));
		}
	ok(made && !guarded && !elsewhere && !moved && !read, "%u results of an entry's probe are its exit's, none can change unseen", made);
}

/* Removes the scoreboards that the twin adds to the kernel's accesses and for which the exit probe waits. */
static void drop_added_scoreboards(struct opened *o)
{
	uint32_t given = 0, seen = 0;

	for (uint32_t i = 0; i < o->code.n && i < first_added(o); i++) {
		struct sass_insn was = sass_code_at(&o->code, i), is = get(o, i);

		if (sass_boards_set(is) == sass_boards_set(was) || sass_opcode(is) != sass_opcode(was))
			continue;
		given++;
		set(o, i, was);
		seen += !passes(o);
		set(o, i, is);
	}
	ok(seen == given, "%u of %u scoreboards that were given are missed", seen, given);
}

/*
 * Changes the kernel's entry instruction, which the twin executes after the probe, and the branch back to the kernel.
 */
static void change_way_back(struct opened *o)
{
	uint32_t at = sass_opcode(get(o, o->code.begin)) == SASS_OP_BRA ? o->code.begin : o->code.entry_limit, i = o->n;
	struct sass_insn was;

	while (--i > entry_of(o))
		if (sass_opcode(get(o, i)) == SASS_OP_BRA && (int64_t)i + 1 + sass_branch(o->code.arch, get(o, i)) / SASS_INSN == at + 1)
			break;
	was = get(o, i);
	set(o, i, sass_with_branch(o->code.arch, was, sass_branch(o->code.arch, was) + SASS_INSN));
	ok(!passes(o), "an entry that leads back to another place is seen");
	set(o, i, sass_nop(0, 1));
	ok(!passes(o), "and one that does not lead back");
	set(o, i, was);
	was = get(o, i - 1);
	set(o, i - 1, sass_with_field(was, 16, 8, sass_field(was, 16, 8) ^ 1));
	ok(!passes(o), "and one that carries out something else there");
	set(o, i - 1, was);
}

/* Does the checker accept the twin with another number in this attribute? */
static bool passes_saying(struct opened *o, const struct sass_cubin *made, uint8_t attr, uint32_t number)
{
	const struct sass_section *info = &made->sections[sass_section_find(made, ".nv.info")];
	struct sass_item item;
	size_t at = 0;
	bool passed = true;

	while (sass_item_next(info->data, info->size, &at, &item)) {
		uint8_t *value = (uint8_t *)item.data + 4;
		uint32_t was;

		if (item.attr != attr || !item.data || sass_get32(item.data) != made->kernels[0].symbol)
			continue;
		memcpy(&was, value, sizeof(was));
		memcpy(value, &number, sizeof(number));
		passed = passes(o);
		memcpy(value, &was, sizeof(was));
	}
	return passed;
}

/* Changes the twin's list of exits: moves, removes or adds an exit. */
static void change_ends(struct opened *o, const struct sass_cubin *made)
{
	const struct sass_section *info = &made->sections[made->kernels[0].info];
	struct sass_item item = { 0 };
	size_t at = 0;
	uint8_t *ends;

	while (item.attr != SASS_ATTR_EXIT_OFFSETS && sass_item_next(info->data, info->size, &at, &item))
		;
	if (!ok(item.attr == SASS_ATTR_EXIT_OFFSETS && item.size, "the twin says where %u ends are", item.size / 4))
		return;
	ends = (uint8_t *)item.data;
	ends[0] ^= SASS_INSN;
	ok(!passes(o), "one that is elsewhere is seen");
	ends[0] ^= SASS_INSN;
	ends[-3] = 0; /* turns the list into an attribute of another kind */
	ok(!passes(o), "and that none is told");
	ends[-3] = SASS_ATTR_EXIT_OFFSETS;
	for (uint32_t i = o->n - 1; i > 0; i--) {
		struct sass_insn was = get(o, i);

		if (sass_opcode(was) != SASS_OP_NOP || i + 1 == o->n)
			continue;
		set(o, i, sass_with_control(insn_of(0x794d, 0x03800000), 0, 5)); /* in unreachable padding */
		ok(!passes(o), "and an end that is not told");
		set(o, i, was);
		break;
	}
	ok(passes(o), "as it was it passes");
}

static void change_attributes(struct opened *o, const struct sass_cubin *made)
{
	Elf64_Sym *symbol = (Elf64_Sym *)(made->sections[made->symtab].data + made->kernels[0].symbol * sizeof(*symbol));

	ok(!passes_saying(o, made, SASS_ATTR_REGCOUNT, o->kernel->regs - 1), "fewer registers than the kernel has are seen");
	ok(!passes_saying(o, made, SASS_ATTR_REGCOUNT, 256), "and more than a thread can have");
	if (made->kernels[0].regs > o->kernel->regs)
		ok(!passes_saying(o, made, SASS_ATTR_REGCOUNT, o->kernel->regs), "and fewer than its probes have");
	if (o->kernel->stack)
		ok(!passes_saying(o, made, SASS_ATTR_MIN_STACK_SIZE, o->kernel->stack - 1), "and less stack");
	symbol->st_size -= SASS_INSN;
	ok(!passes(o), "and another size");
	symbol->st_size += SASS_INSN;
}

/*
 * Plants all faults one after the other in the twin of the image's kernel. together: the lanes of the twin's program
 * reconverge.
 */
static void faults_try(const char *image, size_t size, const struct gpubpf_twin_image *twin, const char *kernel, bool together)
{
	struct opened o = { .size = twin->piece[0].blob.size };
	struct sass_cubin made;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	o.twin = malloc(o.size);
	memcpy(o.twin, twin->piece[0].blob.data, o.size);
	if (sass_cubin_open(image, size, &o.app, &diag) < 0 || sass_cubin_open(o.twin, o.size, &made, &diag) < 0)
		abort();
	o.kernel = sass_kernel_find(&o.app, kernel);
	if (sass_code_read(&o.app, o.kernel, &o.code, &diag) < 0)
		abort();
	o.text = (uint8_t *)made.sections[made.kernels[0].text].data;
	o.n = made.sections[made.kernels[0].text].head.sh_size / SASS_INSN;
	ok(passes(&o), "%s: the twin passes as it is", kernel);
	if (!strcmp(kernel, "named"))
		change_copies(&o, &made);
	change_kernel_code(&o);
	change_added(&o);
	drop_waits(&o);
	drop_times(&o);
	wait_early(&o);
	wait_without_delay(&o);
	drop_latency_stall(&o);
	change_reused_values(&o);
	drop_added_scoreboards(&o);
	change_way_back(&o);
	change_ends(&o, &made);
	change_attributes(&o, &made);
	if (!together && !strcmp(kernel, "straight"))
		number_values(&o);
	if (together)
		check_meetings(&o);
	if (together && !strcmp(kernel, "nested"))
		drop_barrier_breaks(&o);
	sass_code_finish(&o.code);
	sass_cubin_finish(&made);
	sass_cubin_finish(&o.app);
	free(o.twin);
}

/*
 * Some faults need a feature that not all twins have. Checks that at least one twin had the feature for each of these
 * faults.
 */
static void check_fault_coverage(bool together)
{
	ok(waited, "%u exits' probes waited for what was just set", waited);
	ok(settled, "%u exits' probes were among the kernel's registers", settled);
	ok(together ? !keeping : keeping > 4, "%u begin with what an entry's has left", keeping);
}

#endif
