/* SPDX-License-Identifier: Apache-2.0 */
/*
 * around [sm_FIRST] FILE...: tests probes at memory accesses, atomics, barriers, branches, lines and any instructions.
 * Each FILE is a cubin, or a .cu that nvcc compiles for each architecture from FIRST on. The bodies of the probes are
 * hand-made and need no assembler.
 * - The code has as many instructions of a kind as the target lists places.
 * - An emulator runs each stub on random registers. The stub passes the address and value of the instruction, has
 *   effects for exactly the lanes of the instruction, executes the instruction once and unchanged, and preserves the
 *   kernel's registers and predicates.
 * - The same holds for a body with branches and a loop. Lanes that entered together reconverge once after the body,
 *   also where two predicates exclude lanes. Compilers seldom emit a second predicate, so the test adds one to every
 *   other guarded EXIT.
 * - Results of the kernel that are in flight at the start of a stub are written as late as possible
 *   (tests/backends/cuda/sass/adversary.h), and none gets lost.
 * - An exit probe uses registers of the kernel. After random paths through the kernel, the probe reads the values that
 *   the probe itself wrote, however late the kernel's results are written.
 * - The checker refuses each changed stub, except a stub whose probe contains the kernel's own NOP.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sass/analysis/live.h"
#include "tests/backends/cuda/sass/each_cubin.h"
#include "changes.h"
#include "exits.h"
#include "tests/backends/cuda/sass/isa/insn.h"

/* Does an instruction with this opcode have a place of this kind? */
static bool is_expected(struct sass_insn insn, enum gpubpf_site kind)
{
	uint32_t operation = sass_opcode(insn) & 0x1ff;

	if (sass_field(insn, 12, 4) == 15)
		return false;
	if (kind == GPUBPF_SITE_ATOMIC)
		return is_atomic(insn) || is_unreported_atomic(insn);
	if (kind == GPUBPF_SITE_BRANCH)
		return (sass_opcode(insn) == 0x947 && !sass_is_unconditional(insn) && !sass_field(insn, 91, 14)) || sass_opcode(insn) == 0x547 ||
		       sass_opcode(insn) == 0x949 || sass_opcode(insn) == 0x958;
	if (kind == GPUBPF_SITE_INSN)
		return true;
	if (kind == GPUBPF_SITE_MEM || kind == GPUBPF_SITE_MEM_BEFORE || kind == GPUBPF_SITE_MEM_CAPTURE)
		return is_global(insn) || is_unplaced_access(insn);
	if (kind == GPUBPF_SITE_MEM_SHARED)
		return is_shared(insn) || is_generic(insn) || is_copy(insn);
	if (kind == GPUBPF_SITE_MEM_LOCAL)
		return is_local(insn) || is_generic(insn);
	if (kind == GPUBPF_SITE_MEM_CONST)
		return reads_variable(insn);
	if (gpubpf_place_kind(kind)->spaces)
		return is_global(insn) || is_unplaced_access(insn) || is_near(insn) || is_texture(insn) || reads_variable(insn);
	return (operation == 0x11d && sass_field(insn, 77, 2) != 1) || operation == 0x1a7;
}

/* Does the instruction have two places of this kind? A copy is a load and a store. */
static bool has_two_places(struct sass_insn insn, enum gpubpf_site kind)
{
	return is_copy(insn) && (kind == GPUBPF_SITE_MEM_ALL || kind == GPUBPF_SITE_MEM_BEFORE_ALL);
}

/* Returns the number of instructions before the padding. */
static uint32_t end_of(const struct sass_code *code)
{
	uint32_t n = code->n;

	while (n && (sass_opcode(sass_code_at(code, n - 1)) == 0x918 ||
		     (sass_opcode(sass_code_at(code, n - 1)) == 0x947 && sass_branch(code->arch, sass_code_at(code, n - 1)) == -16)))
		n--;
	return n;
}

static struct gpubpf_lines lines;          /* line table of the current file */

static void try_kernel(const struct sass_cubin *app, const struct sass_kernel *k, enum gpubpf_site kind, bool wanders)
{
	uint32_t expected = 0;
	struct sass_probe probe;
	struct sass_code code;
	struct kernel_probes m = { .code = &code, .kind = kind };
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (sass_code_read(app, k, &code, &diag) < 0)
		return;
	for (uint32_t i = code.begin, end = end_of(&code); i < end; i++)
		expected += is_expected(sass_code_at(&code, i), kind) * (has_two_places(sass_code_at(&code, i), kind) ? 2 : 1);
	make_probe(&probe, code.arch, kind, wanders);
	for (int guarded = 0; guarded < 2; guarded++)
		if (sass_body_make(code.arch, &probe, guarded, &m.bodies[guarded], &diag) < 0)
			ok(false, "%s", diag.what);
	sass_places_each(&code, 1u << m.kind, &lines, k->text, collect_place, &m);
	if (m.around.n)
		ran("sass", gpubpf_place_kind(kind)->name);
	for (uint32_t i = m.around.n; i-- > 0;)
		sass_code_reserve(&code, m.around.list[i].place.at);
	listed += m.met;
	if (m.met != expected && kind != GPUBPF_SITE_LINE)
		ok(false, "%s has %u places, not %u", app->symbols[k->symbol].name, expected, m.met);
	graft(app, k, &m);
	for (int guarded = 0; guarded < 2; guarded++)
		sass_body_finish(&m.bodies[guarded]);
	free(m.around.list);
	sass_code_finish(&code);
}

/* Checks that the table of memory accesses contains each operation that accesses memory or runs asynchronously. */
static void check_table(void)
{
	const struct sass_arch *arch = sass_arch_find(90);
	uint32_t operations = 0, accesses = 0;

	for (uint32_t operation = 0; operation < 512; operation++) {
		enum sass_class class = sass_op_find(operation)->class;
		struct sass_access access;

		if (class != SASS_LOAD && class != SASS_STORE && class != SASS_ASYNC)
			continue;
		operations++;
		accesses += sass_decode_access(arch, insn_of(operation | SASS_PT << 12, 0), &access);
		if (!sass_access_known(operation))
			ok(false, "0x%03x (%s) is in the table of accesses", operation, sass_op_find(operation)->name);
	}
	ok(operations > 40 && accesses > 25, "%u operations on memory, %u of them accesses", operations, accesses);
}

/*
 * Removes the descriptor operand of some copies (LDGSTS). Some of these copies get a uniform register for the
 * destination address instead.
 */
static void change_copies(const struct sass_section *section, uint32_t sm)
{
	unsigned none = sm >= 100 ? 0xff : 0x3f;

	for (size_t at = 0; at + SASS_INSN <= section->size; at += SASS_INSN) {
		uint8_t *text = (uint8_t *)section->data + at;
		struct sass_insn insn = sass_read(text);

		if (sass_opcode(insn) != 0xfae || random_below(2))
			continue;
		insn = sass_with_field(sass_with_field(insn, 76, 1, 0), 64, sm >= 100 ? 8 : 6, none);
		if (random_below(2))
			insn = sass_with_field(sass_with_field(insn, 0, 12, 0xdae), 64, sm >= 100 ? 8 : 6,
					       random_below(63));
		sass_write(text, insn);
	}
}

/* Adds a second predicate to every other guarded EXIT: P2, or !P3. */
static void add_seconds(const struct sass_section *section)
{
	bool other = false;

	for (size_t at = 0; at + SASS_INSN <= section->size; at += SASS_INSN) {
		uint8_t *text = (uint8_t *)section->data + at;
		struct sass_insn insn = sass_read(text);

		if (sass_opcode(insn) != SASS_OP_EXIT || (sass_field(insn, 12, 4) & 7) == SASS_PT || sass_field(insn, 87, 4) != SASS_PT)
			continue;
		insn = sass_with_field(insn, 87, 4, random_below(2) ? 2 : 3 | 8);
		if ((other = !other))
			sass_write(text, insn);
	}
}

/* Checks the instructions that replace unneeded BSSY and BSYNC in a probe. */
static void try_filler(const struct sass_cubin *app, const struct sass_kernel *k)
{
	static struct sass_section nothing;
	const struct sass_cubin probes = { .sections = &nothing, .nsections = 1 };
	struct sass_insn filler = sass_nop(0, 5), was;
	struct sass_body body;
	struct sass_insn_probe stands = { .place = { .kind = GPUBPF_SITE_LINE, .guard = SASS_PT, .second = SASS_PT }, .body = &body };
	struct sass_code code;
	struct kernel_probes m = { .code = &code, .around = { &stands, 1 } };
	struct sass_patched_code grafted = { 0 };
	struct sass_twin twin = { 0 };
	struct sass_probe probe;
	struct gpubpf_diag diag;
	struct sass_insn *at;
	int err;

	gpubpf_diag_init(&diag);
	if (sass_code_read(app, k, &code, &diag) < 0)
		abort();
	make_probe(&probe, code.arch, GPUBPF_SITE_LINE, true);
	stands.place.at = code.entry_limit + 1;
	at = &code.insns[stands.place.at];
	was = *at;
	*at = filler;
	err = sass_body_make(code.arch, &probe, false, &body, &diag);
	if (!err)
		err = sass_patch_kernel(&code, k->regs, NULL, NULL, &m.around, &grafted, &diag);
	if (!err)
		err = sass_twin_write(app, k, &code, &probes, &grafted, &twin, &diag);
	ok(!err && passes(app, k, &m, &twin), "a NOP like those of its probe is the kernel's own all the same");
	*at = was;
	sass_twin_finish(&twin);
	sass_patched_code_finish(&grafted);
	sass_body_finish(&body);
	sass_code_finish(&code);
}

static void try_file(const char *name, const char *data, size_t size)
{
	static const enum gpubpf_site kinds[] = { GPUBPF_SITE_MEM, GPUBPF_SITE_MEM_BEFORE, GPUBPF_SITE_MEM_CAPTURE, GPUBPF_SITE_ATOMIC, GPUBPF_SITE_BARRIER,
						  GPUBPF_SITE_BARRIER_EXIT, GPUBPF_SITE_MEM_SHARED, GPUBPF_SITE_MEM_LOCAL,
						  GPUBPF_SITE_MEM_CONST, GPUBPF_SITE_MEM_ALL, GPUBPF_SITE_MEM_BEFORE_ALL, GPUBPF_SITE_BRANCH,
						  GPUBPF_SITE_INSN, GPUBPF_SITE_LINE };
	struct gpubpf_diag diag;
	struct sass_cubin app;

	gpubpf_diag_init(&diag);
	listed = stubs = twice = elsewhere = right = refused = changed = seen = walked = exits = came = landed = unread = 0;
	if (!ok(!sass_cubin_open(data, size, &app, &diag), "%s is read", name))
		return;
	sass_lines_read_starts(&app, &lines);
	for (uint32_t k = 0; k < app.nkernels; k++) {
		add_seconds(&app.sections[app.kernels[k].text]);
		change_copies(&app.sections[app.kernels[k].text], app.sm);
	}
	for (uint32_t k = 0; k < app.nkernels; k++)
		for (size_t i = 0; i < 2 * sizeof(kinds) / sizeof(*kinds); i++)
			try_kernel(&app, &app.kernels[k], kinds[i / 2], i % 2);
	for (uint32_t k = 0; k < app.nkernels; k++)
		try_exits(&app, &app.kernels[k]);
	ok(walked && exits == walked, "%u of %u walks are right, %u came to an exit's probe; %u kernels call the driver's functions", exits,
	   walked, came, unread);
	ok(!landed, "%u results landed in such probes", landed);
	ok(stubs && right == 4 * stubs, "%u places in %u kernels, %u with a probe, which did right %u of %u times", listed,
	   app.nkernels, stubs, right, 4 * stubs);
	ok(changed && seen == changed, "%u of %u changes are seen; %u kernels are refused", seen, changed, refused);
	if (sass_kernel_find(&app, "plain"))
		try_filler(&app, sass_kernel_find(&app, "plain"));
	note("%u with a probe with branches under two predicates, %u that meet in another's stub", twice, elsewhere);
	gpubpf_lines_finish(&lines);
	sass_cubin_finish(&app);
}

/* Compiles the source for each architecture from `first` on; older ones lack features that the source uses. */
static void try_source(const char *path, const char *first)
{
	static const char *const arches[] = { "sm_75", "sm_80", "sm_90", "sm_100", "sm_120", NULL };
	const char *const *from = arches;

	while (*from && first && strcmp(*from, first))
		from++;
	if (!compiled_each(path, from, "-O3 -lineinfo", try_file))
		ran("sass", "?");
}

int main(int argc, char **argv)
{
	const char *first = NULL;

	check_table();
	for (int i = 1; i < argc; i++) {
		size_t size;
		char *file;

		if (!strncmp(argv[i], "sm_", 3)) {
			first = argv[i];
			continue;
		}
		if (strstr(argv[i], ".cu") && !strstr(argv[i], ".cubin")) {
			try_source(argv[i], first);
			continue;
		}
		file = read_file(argv[i], &size);
		try_file(base_name(argv[i]), file, size);
		free(file);
	}
	return done();
}
