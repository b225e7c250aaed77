/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late FILE...: tests predicates of a kernel that are written with variable latency. In a kernel of each cubin, the
 * test inserts an instruction that writes P0 and sets a scoreboard. A place follows. The probe there saves and restores
 * the predicates, so that it could restore the old value of P0:
 * - The probe must first wait for all scoreboards. This holds for each operation that nvdisasm prints with a predicate
 *   as destination.
 * - If the instruction sets no scoreboard, the patcher must assign one, also to a load with an unused result, and where
 *   an exit probe overwrites the kernel's predicates. An instruction with fixed latency needs none.
 * - Without that scoreboard the checker must refuse the twin.
 * - After an atomic that itself writes a predicate, the probe must wait for the atomic.
 * Instructions under a uniform predicate have no place.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sass/check/check.h"
#include "backends/cuda/sass/rewrite/patch.h"
#include "backends/cuda/sass/analysis/live.h"
#include "backends/cuda/sass/rewrite/twin.h"
#include "core/model/diag.h"
#include "tests/backends/cuda/case.h"
#include "tests/tap.h"
#include "tests/backends/cuda/sass/isa/insn.h"

#define ALL_BOARDS 0x3f

static const struct sample {
	const char *text;
	struct sass_word word;
	bool late;
} samples[] = {
	{ "DSETP.NEU.AND P0, PT, R8, RZ, PT", { 0x000000ff0800722a, 0x000e280003f0d000 }, true },
	{ "B2R.RESULT RZ, P0", { 0x0000000000ff731c, 0x000e280000004000 }, true },
	{ "SHFL.DOWN P0, R11, R13, 0x10, 0x10", { 0x0a0010000d0b7f89, 0x000e280000000000 }, true },
	{ "FCHK P0, R16, R49", { 0x0000003110007302, 0x000e280000000000 }, true },
	{ "QSPC.E.S P0, RZ, [R96]", { 0x0000000060ff73aa, 0x000e280000100500 }, true },
	{ "ISETP.NE.AND P0, PT, R0, 0x1, PT", { 0x000000010000780c, 0x000fda0003f05270 }, false },
	{ "SHFL.DOWN PT, R11, R13, 0x10, 0x10", { 0x0a0010000d0b7f89, 0x000e2800000e0000 }, false },
	{ "MUFU.RCP R12, R12", { 0x0000000c000c7308, 0x000e280000001000 }, false },
	{ "ATOMS.CAST.SPIN P0, [R84], R36, R37", { 0x000000245400758d, 0x000e280001800025 }, true },
	{ "ATOMS.CAST.SPIN R41, [R74], R40, R41", { 0x000000284a29738d, 0x000e280001800029 }, false },
	{ "TEX.LL P0, R10, R8, R18, R8, UR4, 0x0, 2D", { 0x2000040812087f60, 0x000f620009900f0a }, true },
	{ "TEX.LL R10, R8, R18, R8, UR4, 0x0, 2D", { 0x2000040812087f60, 0x000f6200099e0f0a }, false },
};

/* the probe: ISETP.NE.U32.AND P0, PT, R0, RZ, PT; EXIT. main() sets it. */
static struct sass_insn insns[2];
static const struct sass_probe probe = { .insns = insns, .n = 2, .regs = 1, .predicates = true };

/* a kernel with an inserted instruction at index `at`, and a place after it */
struct patched {
	uint8_t *bytes;
	struct sass_cubin app;
	const struct sass_kernel *k;
	struct sass_code code;
	struct gpubpf_diag diag;
	struct sass_body body;
	struct sass_insn_probe around;
	uint32_t at;
	const char *why;           /* why there is no place at the inserted instruction; NULL: there is one */
};

static bool has_fixed_latency(const struct sass_code *code, uint32_t i)
{
	struct sass_insn insn = sass_code_at(code, i);

	return i > code->entry_limit && !code->entered[i] && sass_op(insn)->class == SASS_FIXED &&
	       sass_is_unconditional(sass_with_field(insn, 87, 4, SASS_PT)) && sass_is_relocatable(code, i);
}

/*
 * Sets at to the first of three consecutive instructions that have fixed latency and depend on neither lanes nor
 * scoreboards.
 */
static bool find_room(struct patched *p)
{
	for (p->at = p->code.begin; p->at + 3 < p->code.n; p->at++)
		if (has_fixed_latency(&p->code, p->at) && has_fixed_latency(&p->code, p->at + 1) && has_fixed_latency(&p->code, p->at + 2))
			return true;
	return false;
}

static void write_insn(struct patched *p, uint32_t at, struct sass_insn insn)
{
	sass_write((uint8_t *)p->app.sections[p->k->text].data + (size_t)at * SASS_INSN, insn);
}

static void read_code(struct patched *p)
{
	sass_code_finish(&p->code);
	if (sass_code_read(&p->app, p->k, &p->code, &p->diag) < 0)
		abort();
}

static void patched_init(struct patched *p, const char *data, size_t size)
{
	bool found = false;

	*p = (struct patched){ .bytes = malloc(size) };
	gpubpf_diag_init(&p->diag);
	if (!p->bytes)
		abort();
	memcpy(p->bytes, data, size);
	if (sass_cubin_open(p->bytes, size, &p->app, &p->diag) < 0)
		abort();
	for (uint32_t i = 0; !found && i < p->app.nkernels; i++) {
		p->k = &p->app.kernels[i];
		sass_code_finish(&p->code);
		found = !sass_code_read(&p->app, p->k, &p->code, &p->diag) && !p->code.calls && !p->code.slow_predicates && find_room(p);
	}
	if (!found || sass_body_make(p->code.arch, &probe, false, &p->body, &p->diag) < 0)
		abort();
	p->around = (struct sass_insn_probe){ { .kind = GPUBPF_SITE_INSN, .at = p->at + 1, .guard = SASS_PT, .second = SASS_PT }, 0, &p->body };
}

static void patched_finish(struct patched *p)
{
	sass_body_finish(&p->body);
	sass_code_finish(&p->code);
	sass_cubin_finish(&p->app);
	free(p->bytes);
}

/* Inserts a probe at the place or, if exit is true, at the exits. */
static bool graft(struct patched *p, bool exit, struct sass_patched_code *g)
{
	const struct sass_insn_probes around = { &p->around, exit ? 0 : 1 };

	return !sass_patch_kernel(&p->code, p->k->regs, NULL, exit ? &probe : NULL, &around, g, &p->diag);
}

static bool passes(struct patched *p, bool exit, const struct sass_patched_code *g)
{
	static struct sass_section nothing;
	const struct sass_cubin probes = { .sections = &nothing, .nsections = 1 };
	const struct sass_insn_probes around = { &p->around, exit ? 0 : 1 };
	struct sass_twin twin = { 0 };
	int err = sass_twin_write(&p->app, p->k, &p->code, &probes, g, &twin, &p->diag);

	if (!err)
		err = sass_check(&p->app, p->k, &p->code, &twin, &(struct sass_twin_contents){ .exit = exit }, &around, &p->diag);
	sass_twin_finish(&twin);
	return !err;
}

static bool stub_waits_for_all(const struct patched *p, const struct sass_patched_code *g)
{
	uint32_t at = p->at + 1, to = at + 1 + sass_branch(p->code.arch, g->insns[at]) / SASS_INSN;

	return sass_opcode(g->insns[at]) == SASS_OP_BRA && to < g->n && sass_wait_mask(g->insns[to]) == ALL_BOARDS;
}

static void test_late_predicate(struct patched *p, const struct sample *s)
{
	struct sass_patched_code g;

	write_insn(p, p->at, sass_decode(s->word));
	read_code(p);
	if (!ok(graft(p, false, &g), "sm_%u takes a probe behind %s", p->app.sm, s->text))
		return;
	ok(stub_waits_for_all(p, &g) == s->late && sass_encode(g.insns[p->at]).hi == s->word.hi && passes(p, false, &g),
	   "which %s for all scoreboards%s%s", s->late ? "waits" : "does not wait", *p->diag.what ? ": " : "",
	   p->diag.what);
	sass_patched_code_finish(&g);
}

static void try_untold(struct patched *p, const struct sample *s, bool exit)
{
	struct sass_insn word = sass_with_field(sass_with_field(sass_decode(s->word), SASS_WRITE_AT, 3, SASS_NO_SCOREBOARD),
						SASS_READ_AT, 3, SASS_NO_SCOREBOARD);
	bool told = !(p->code.arch->timed_doubles && sass_opcode(word) == 0x22a);
	struct sass_patched_code g;

	write_insn(p, p->at, word);
	/* the kernel restores, and so may write, all predicates */
	write_insn(p, p->at + 2, sass_restore_predicates(0));
	read_code(p);
	if (!ok(graft(p, exit, &g), "sm_%u takes a probe at %s with %s without a scoreboard", p->app.sm, exit ? "exits" : "a place", s->text))
		return;
	ok((sass_write_board(g.insns[p->at]) != SASS_NO_SCOREBOARD) == told, "which %s one", told ? "is given" : "is not given");
	ok(passes(p, exit, &g), "and passes: %s", p->diag.what);
	g.insns[p->at] = word;
	ok(passes(p, exit, &g) == !told, "without it it %s", told ? "is refused" : "passes");
	sass_patched_code_finish(&g);
}

/* Tests a probe after ATOMG.E.ADD.64 P5, R8, [R10], R12. The probe reads no context of the atomic. */
static void test_after_atomic(struct patched *p)
{
	const struct sass_insn atomic = insn_of(0x0000000c0a0873a8, 0x000ea800001ae5ca);
	const struct sass_insn keep = sass_save_predicates(0);
	struct sass_patched_code g;
	unsigned waited = 0;
	uint32_t i;

	write_insn(p, p->at, atomic);
	read_code(p);
	p->around.place.at = p->at;
	p->around.place.kind = GPUBPF_SITE_ATOMIC;
	sass_decode_access(p->code.arch, atomic, &p->around.place.access);
	if (!ok(graft(p, false, &g), "sm_%u takes a probe behind an atomic that writes a predicate", p->app.sm))
		return;
	for (i = g.location[p->at] + 1; i < g.n && sass_opcode(g.insns[i]) != sass_opcode(keep); i++)
		waited |= sass_wait_mask(g.insns[i]);
	ok(i < g.n && waited >> sass_write_board(atomic) & 1 && passes(p, false, &g), "which is there before they are kept");
	while (i-- > g.location[p->at] + 1)
		g.insns[i] = sass_with_field(g.insns[i], SASS_WAIT_AT, 6, 0);
	ok(!passes(p, false, &g), "else it is refused");
	sass_patched_code_finish(&g);
}

static int note_why(void *arg, const struct sass_place *place)
{
	struct patched *p = arg;

	if (place->at == p->at)
		p->why = place->why;
	return 0;
}

/* @P1 MOV R0, 0 must have a place, @UP1 USHF.R.S32.HI UR4, URZ, 0x1f, UR5 must not. */
static void try_warps(struct patched *p)
{
	static const struct sass_word words[] = { { 0x0000001f3f041899, 0x000fe20008011405 },
						  { 0x0000000000001802, 0x000fe20000000f00 } };
	const struct gpubpf_lines none = { 0 };

	for (int lanes = 0; lanes < 2; lanes++) {
		write_insn(p, p->at, sass_decode(words[lanes]));
		read_code(p);
		p->why = NULL;
		sass_places_each(&p->code, 1u << GPUBPF_SITE_INSN, &none, p->k->text, note_why, p);
		ok((p->why == NULL) == (lanes == 1), "sm_%u: %s: %s", p->app.sm, lanes ? "@P1 MOV" : "@UP1 USHF", p->why ? p->why : "has a place");
	}
}

static void try_file(const char *path)
{
	struct patched p;
	size_t size;
	char *data = read_file(path, &size);

	if (!ok(data != NULL, "%s is read", path))
		return;
	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		patched_init(&p, data, size);
		test_late_predicate(&p, &samples[i]);
		if (samples[i].late)
			for (int exit = 0; exit < 2; exit++)
				try_untold(&p, &samples[i], exit);
		patched_finish(&p);
	}
	patched_init(&p, data, size);
	test_after_atomic(&p);
	try_warps(&p);
	patched_finish(&p);
	free(data);
}

int main(int argc, char **argv)
{
	insns[0] = insn_of(0x000000ff0000720c, 0x000fda0003f05070);
	insns[1] = insn_of(0x000000000000794d, 0x000fea0003800000);
	for (int i = 1; i < argc; i++)
		try_file(argv[i]);
	return done();
}
