/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: backends/cuda/sass/inspect.c backends/cuda/sass/isa/access.c backends/cuda/sass/isa/constant.c
// SOURCES: backends/cuda/sass/isa/decode.c backends/cuda/sass/isa/demote.c backends/cuda/sass/isa/effects.c
// SOURCES: backends/cuda/sass/isa/form.c backends/cuda/sass/isa/isa.c backends/cuda/sass/isa/lane_count.c
// SOURCES: backends/cuda/sass/isa/operands.c backends/cuda/sass/isa/scoreboard.c backends/cuda/sass/cubin/cubin.c
// SOURCES: backends/cuda/sass/cubin/image.c backends/cuda/sass/cubin/lines.c backends/cuda/sass/cubin/module.c
// SOURCES: backends/cuda/sass/cubin/params.c backends/cuda/sass/analysis/addresses.c
// SOURCES: backends/cuda/sass/analysis/callees.c backends/cuda/sass/analysis/cfg.c
// SOURCES: backends/cuda/sass/analysis/boards.c backends/cuda/sass/analysis/code.c
// SOURCES: backends/cuda/sass/analysis/code_cfg.c backends/cuda/sass/analysis/dataflow.c
// SOURCES: backends/cuda/sass/analysis/flight.c backends/cuda/sass/analysis/liveness.c
// SOURCES: backends/cuda/sass/analysis/dump.c backends/cuda/sass/isa/print.c backends/cuda/sass/probe/coloring.c
// SOURCES: backends/cuda/sass/analysis/functions.c backends/cuda/sass/analysis/live.c
// SOURCES: backends/cuda/sass/analysis/places.c backends/cuda/sass/probe/body.c backends/cuda/sass/probe/branch.c
// SOURCES: backends/cuda/sass/probe/entry_value_reuse.c backends/cuda/sass/probe/numbering.c
// SOURCES: backends/cuda/sass/probe/place_values.c backends/cuda/sass/probe/predicates.c
// SOURCES: backends/cuda/sass/probe/probe.c backends/cuda/sass/probe/regalloc.c
// SOURCES: backends/cuda/sass/probe/regalloc_states.c backends/cuda/sass/probe/schedule.c
// SOURCES: backends/cuda/sass/probe/schedule_control.c backends/cuda/sass/probe/schedule_nodes.c
// SOURCES: backends/cuda/sass/probe/schedule_order.c backends/cuda/sass/probe/schedule_registers.c
// SOURCES: backends/cuda/sass/probe/schedule_simplify.c backends/cuda/sass/probe/straight.c
// SOURCES: backends/cuda/sass/probe/timing.c backends/cuda/sass/probe/vote.c backends/cuda/sass/rewrite/constant_stub.c
// SOURCES: backends/cuda/sass/rewrite/count.c backends/cuda/sass/rewrite/insn_probe.c backends/cuda/sass/rewrite/join.c
// SOURCES: backends/cuda/sass/rewrite/patch.c backends/cuda/sass/rewrite/patch_exit.c
// SOURCES: backends/cuda/sass/rewrite/stub_values.c backends/cuda/sass/rewrite/twin.c
// SOURCES: backends/cuda/sass/rewrite/twin_addresses.c backends/cuda/sass/rewrite/twin_file.c
// SOURCES: backends/cuda/sass/rewrite/twin_info.c backends/cuda/sass/rewrite/twin_sections.c
// SOURCES: backends/cuda/sass/rewrite/twin_symbols.c backends/cuda/sass/check/added_insns.c
// SOURCES: backends/cuda/sass/check/check.c backends/cuda/sass/check/constant.c backends/cuda/sass/check/count.c
// SOURCES: backends/cuda/sass/check/entry.c backends/cuda/sass/check/exit.c backends/cuda/sass/check/exit_table.c
// SOURCES: backends/cuda/sass/check/flight.c backends/cuda/sass/check/insn_probe.c
// SOURCES: backends/cuda/sass/check/kept_values.c backends/cuda/sass/check/kernel_insns.c
// SOURCES: backends/cuda/sass/check/pending.c backends/cuda/sass/check/relocations.c backends/cuda/sass/check/timing.c
// SOURCES: backends/cuda/sass/check/work.c backends/cuda/image/fatbin.c backends/cuda/image/kept_ptx.c
// SOURCES: backends/cuda/wire/fatbin_format.c core/model/diag.c core/model/text/nearest.c core/model/places.c
// SOURCES: core/wire/glob.c core/wire/match.c core/wire/name.c core/worker/lines.c
// LIBS: -ldw -lelf -llz4 -lzstd
/*
 * Parses arbitrary bytes as a cubin, lists its places, and inserts probes into each kernel. The result must be a
 * twin, or a refusal of the injection or of the checker with its reason. Three unused bytes of the ELF header select the probes and the
 * kinds of places.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sass/check/check.h"
#include "backends/cuda/sass/rewrite/count.h"
#include "backends/cuda/sass/analysis/functions.h"
#include "backends/cuda/sass/rewrite/join.h"
#include "backends/cuda/sass/probe/entry_value_reuse.h"
#include "backends/cuda/sass/cubin/lines.h"
#include "backends/cuda/sass/analysis/live.h"
#include "backends/cuda/sass/cubin/params.h"
#include "backends/cuda/sass/target.h"
#include "backends/cuda/sass/rewrite/twin.h"
#include "core/model/diag.h"
#include "tests/backends/cuda/sass/isa/insn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/* -- selection by unused bytes of the ELF header -- */

#define MAX_AROUND 64
#define MAX_KERNELS 16

/* Offsets of the three bytes in the ELF header, and flags in the byte PROBES_AT. */
enum { KINDS_AT = EI_PAD, PROBES_AT, GIVEN_AT };
enum { NO_ENTRY = 1, NO_EXIT = 2, COUNTS = 4, PARTS = 8, MEETS = 16, ENDS_EARLY = 32, VOTES = 64, UNSEEN_TOO = 128 };

struct wanted {
	/* set of the kinds of places that get a probe; only kinds at single instructions and at functions */
	uint32_t kinds;
	uint8_t probes, given;
};

/*
 * Read the selection. The byte at KINDS_AT is the number of a kind of place. The value 0 selects gpu/mem/
 * instead. A number past the last kind selects all kinds.
 */
static struct wanted read_selection(const uint8_t *data)
{
	const uint32_t all = gpubpf_places_of(GPUBPF_WHERE_INSN) | gpubpf_places_of(GPUBPF_WHERE_FUNCTION);
	uint8_t kind = data[KINDS_AT];

	return (struct wanted){ !kind ? 1u << GPUBPF_SITE_MEM : kind < GPUBPF_NSITES ? 1u << kind & all : all, data[PROBES_AT],
				data[GIVEN_AT] };
}

/* -- probes -- */

#define MAX_INSNS 16

/* LDL.64 R4, [given]; ISETP.NE P0, R0; @P0 MOV R2, 0; EXIT */
static const struct sass_word ldl = { 0x0000000000047983, 0x000ea80000100a00 },
			      compare = { 0x000000ff0000720c, 0x004fda0003f05270 },
			      move = { 0x0000000000020802, 0x000fe20000000f00 },
			      ends = { 0x000000000000794d, 0x000fea0003800000 };

/*
 * Make a probe with R0 and R1 = 0. It reads the context; its lanes diverge, vote, load from address 0, reconverge and
 * exit.
 */
static void make_probe(struct sass_probe *probe, const struct sass_arch *arch, unsigned how, unsigned given)
{
	struct sass_insn *i = calloc(MAX_INSNS, sizeof(*i));
	uint32_t n = 0;

	if (!i)
		abort();
	i[n++] = sass_move_imm(0, 0);
	i[n++] = sass_move_imm(1, 0);
	if (given)
		i[n++] = sass_with_field(sass_decode(ldl), 40, 24,
					 SASS_INPUT_BASE + (given - 1) % SASS_NINPUTS * SASS_INPUT_STRIDE);
	i[n++] = sass_decode(compare);
	if (how & ENDS_EARLY)
		i[n++] = sass_with_field(sass_decode(ends), 12, 4, 0);
	if (how & MEETS)
		i[n++] = sass_bssy(0, (3 + !!(how & PARTS)) * SASS_INSN);
	if (how & VOTES)
		i[n++] = sass_vote(3);
	else
		i[n++] = sass_decode(move);
	if (how & PARTS)
		i[n++] = sass_with_field(sass_bra(arch, SASS_INSN), 12, 4, 8);
	i[n++] = sass_with_field(sass_with_field(sass_load(arch, 2, 0, SASS_WIDTH_32), SASS_WRITE_AT, 3, 1), 12, 4, 0);
	if (how & MEETS)
		i[n++] = sass_bsync(0);
	i[n++] = sass_with_field(sass_decode(ends), SASS_WAIT_AT, 6, 2);
	*probe = (struct sass_probe){ .insns = i, .n = n, .frame = 16 };
	sass_probe_update_usage(probe);
}

/* -- a twin -- */

struct probing {
	const struct sass_cubin *app;
	const struct sass_kernel *k;
	struct wanted wanted;
	struct sass_code code;
	struct sass_probe entry, exit;
	struct sass_body bodies[2];
	struct sass_insn_probe list[MAX_AROUND];
	struct sass_insn_probes around;
	struct gpubpf_lines lines;
	struct gpubpf_diag diag;
};

static int place(void *arg, const struct sass_place *at)
{
	struct probing *p = arg;

	if (at->why && !(p->wanted.probes & UNSEEN_TOO))
		return 0;
	if (p->around.n == MAX_AROUND)
		return 1;
	p->list[p->around.n++] = (struct sass_insn_probe){ *at, sass_line_at(&p->lines, p->k->text, (uint64_t)at->at * SASS_INSN),
						       &p->bodies[sass_insn_probe_is_guarded(at)] };
	return 0;
}

static int function(void *arg, const struct sass_function *f)
{
	struct probing *p = arg;

	return f->why ? 0 : sass_function_places(&p->code, f, p->wanted.kinds, place, p);
}

static int compare_places(const void *a, const void *b)
{
	const struct sass_place *x = &((const struct sass_insn_probe *)a)->place, *y = &((const struct sass_insn_probe *)b)->place;

	if (x->at != y->at || x->kind != y->kind)
		return x->at != y->at ? (x->at < y->at ? -1 : 1) : (int)x->kind - (int)y->kind;
	return (x->id > y->id) - (x->id < y->id);
}

static void find_places(struct probing *p)
{
	struct sass_probe probe;

	make_probe(&probe, p->code.arch, p->wanted.probes, p->wanted.given);
	for (int guarded = 0; guarded < 2; guarded++)
		if (sass_body_make(p->code.arch, &probe, guarded, &p->bodies[guarded], &p->diag) < 0)
			abort();
	sass_probe_finish(&probe);
	p->around.list = p->list;
	sass_places_each(&p->code, p->wanted.kinds, &p->lines, p->k->text, place, p);
	sass_functions_each(p->app, p->k, &p->code, function, p);
	qsort(p->list, p->around.n, sizeof(*p->list), compare_places);
	for (uint32_t i = p->around.n; i-- > 0;)
		sass_code_reserve(&p->code, p->list[i].place.at);
}

/* Join the code that counts lanes of a block with the probe, which runs after that code. */
static void join(const struct sass_arch *arch, bool end, struct sass_probe *probe)
{
	struct sass_probe both;

	if (sass_count_probe(arch, end, &both) < 0 || sass_probe_join(arch, &both, probe, end ? SASS_JOIN_FILTER : SASS_JOIN_CONVERGED) < 0)
		abort();
	*probe = both;
}

/* Build the probes of entry and exit in the same way as inject.c. */
static void make_probes(struct probing *p)
{
	unsigned how = p->wanted.probes;

	make_probe(&p->entry, p->code.arch, how, 0);
	make_probe(&p->exit, p->code.arch, how, 0);
	if (how & COUNTS) {
		join(p->code.arch, false, &p->entry);
		join(p->code.arch, true, &p->exit);
	} else if (!(how & (NO_ENTRY | NO_EXIT)) && !p->around.n && !p->code.nconstants && !p->code.calls && !p->code.by_pointer &&
		   sass_reuse_entry_values(p->code.arch, &p->entry, &p->exit, sass_max_regs_above(&p->code, p->k->regs)) < 0) {
		abort();
	}
}

static int graft(struct probing *p, const struct sass_twin_contents *has, struct sass_patched_code *grafted)
{
	int err = sass_patch_kernel(&p->code, p->k->regs, has->entry ? &p->entry : NULL, has->exit ? &p->exit : NULL, &p->around, grafted, &p->diag);

	grafted->counts = has->counts;
	return err;
}

static void make_twin(struct probing *p)
{
	static struct sass_section nothing;
	const struct sass_cubin probes = { .sections = &nothing, .nsections = 1 };
	struct sass_twin_contents has = { !(p->wanted.probes & NO_ENTRY), !(p->wanted.probes & NO_EXIT), p->wanted.probes & COUNTS };
	struct sass_patched_code grafted = { 0 };
	struct sass_twin twin = { 0 };
	int err;

	has.entry |= has.counts;
	has.exit |= has.counts;
	err = graft(p, &has, &grafted);
	if (err == -EINVAL && p->around.n && p->diag.what[0]) { /* retry with probes at entry and exit only */
		gpubpf_diag_init(&p->diag);
		p->around.n = 0;
		err = graft(p, &has, &grafted);
	}
	if (!err)
		err = sass_twin_write(p->app, p->k, &p->code, &probes, &grafted, &twin, &p->diag);
	if (!err)
		err = sass_check(p->app, p->k, &p->code, &twin, &has, &p->around, &p->diag);
	sass_twin_finish(&twin);
	has.counts = grafted.counts = !grafted.counts;
	/* check a twin whose declared contents differ from its code; the checker must not crash, its verdict is ignored */
	if (!err && !sass_twin_write(p->app, p->k, &p->code, &probes, &grafted, &twin, &p->diag))
		sass_check(p->app, p->k, &p->code, &twin, &has, &p->around, &p->diag);
	if (err == -EINVAL && !p->diag.what[0])
		abort();
	sass_twin_finish(&twin);
	sass_patched_code_finish(&grafted);
}

static void probed(const struct sass_cubin *app, const struct sass_kernel *k, const struct wanted *wanted)
{
	static struct gpubpf_param params[SASS_PARAMS_MAX];
	static struct probing p;

	p = (struct probing){ .app = app, .k = k, .wanted = *wanted };
	gpubpf_diag_init(&p.diag);
	memset(params, 0, sizeof(params));
	sass_params(app, k, params, &p.diag);
	gpubpf_diag_init(&p.diag);
	if (sass_code_read(app, k, &p.code, &p.diag) < 0) {
		if (!p.diag.what[0])
			abort();
		return;
	}
	if (wanted->kinds & 1u << GPUBPF_SITE_LINE)
		sass_lines_read_starts(app, &p.lines);
	else
		sass_lines_read(app, &p.lines);
	find_places(&p);
	make_probes(&p);
	make_twin(&p);
	sass_probe_finish(&p.entry);
	sass_probe_finish(&p.exit);
	sass_body_finish(&p.bodies[0]);
	sass_body_finish(&p.bodies[1]);
	gpubpf_lines_finish(&p.lines);
	sass_code_finish(&p.code);
}

/* -- any bytes -- */

/* Inspect the bytes for a device of the architecture that their header declares. */
static void inspect_bytes(const uint8_t *data, size_t size, uint32_t sm, uint32_t kinds)
{
	const struct gpubpf_image image = { .kind = GPUBPF_IMAGE_CUBIN, .data = data, .size = size, .places = kinds };
	struct gpubpf_device_caps caps = { .backend = "cuda", .warp_size = 32, .address_bits = 64 };
	struct gpubpf_kernel_info *kernels;
	struct gpubpf_diag diag;
	uint32_t n;

	snprintf(caps.arch, sizeof(caps.arch), "sm_%u", sm);
	gpubpf_diag_init(&diag);
	if (!sass_inspect(&image, &caps, &kernels, &n, &diag))
		free(kernels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wanted wanted;
	struct sass_cubin app;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (sass_cubin_open(data, size, &app, &diag) < 0) {
		if (!diag.what[0])
			abort();
		return 0;
	}
	wanted = read_selection(data);
	if (app.nkernels <= MAX_KERNELS)
		inspect_bytes(data, size, app.sm, wanted.kinds);
	for (uint32_t i = 0; i < app.nkernels && i < MAX_KERNELS; i++)
		probed(&app, &app.kernels[i], &wanted);
	sass_cubin_finish(&app);
	return 0;
}

/* -- mutation of inputs -- */

/* Replace one instruction of a kernel, or overwrite it with random bytes. Returns false if the input has no code. */
static bool mutate_code(uint8_t *data, size_t size, unsigned seed)
{
	struct gpubpf_diag diag;
	struct sass_cubin app;
	const struct sass_section *text;
	size_t at, from;
	bool has;

	gpubpf_diag_init(&diag);
	if (sass_cubin_open(data, size, &app, &diag) < 0)
		return false;
	text = app.nkernels ? &app.sections[app.kernels[seed % app.nkernels].text] : NULL;
	has = text && text->size >= SASS_INSN;
	if (has) {
		at = text->data - data + (seed >> 8) % (text->size / SASS_INSN) * SASS_INSN;
		from = text->data - data + (seed >> 16) % (text->size / SASS_INSN) * SASS_INSN;
		if (seed >> 5 & 1)
			memmove(data + at, data + from, SASS_INSN);
		if (seed >> 6 & 3)
			LLVMFuzzerMutate(data + at, SASS_INSN, SASS_INSN);
	}
	sass_cubin_finish(&app);
	return has;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	if (size > EI_NIDENT && seed % 8 == 0)
		data[KINDS_AT + seed / 8 % 3] = seed >> 16;
	else if (size > EI_NIDENT && seed % 2 && mutate_code(data, size, seed >> 1))
		return size;
	return LLVMFuzzerMutate(data, size, most);
}
