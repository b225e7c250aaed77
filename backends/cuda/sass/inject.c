/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the twin of a kernel from its machine code and compiled probes.
 *
 * Does:     reads the probes, finds the places, patches the code, writes the twin and checks it.
 * Before:   the assembler has compiled the job's probes to a cubin.
 * After:    the twin is a cubin with a list of addresses that the agent fills in.
 * Requires: sites of one kernel, which the first site of the job names.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/wire/twin_format.h"
#include "backends/cuda/sass/analysis/callees.h"
#include "backends/cuda/sass/check/check.h"
#include "core/model/diag.h"
#include "core/wire/name.h"
#include "backends/cuda/sass/rewrite/count.h"
#include "backends/cuda/sass/analysis/functions.h"
#include "backends/cuda/sass/cubin/image.h"
#include "backends/cuda/sass/analysis/dump.h"
#include "backends/cuda/sass/rewrite/join.h"
#include "backends/cuda/sass/probe/entry_value_reuse.h"
#include "backends/cuda/sass/cubin/lines.h"
#include "backends/cuda/sass/analysis/live.h"
#include "target.h"
#include "backends/cuda/sass/rewrite/twin.h"

/* state of one injection: the sites of the job at the kernel that its first site names */
struct injection {
	const struct gpubpf_lower_job *job;
	struct sass_cubin probes;
	struct sass_probe begin, entry, exit, end; /* `begin` is the entry probe of the first lane of a block. `end`
	                                            * is the exit probe of the last lane of a block. */
	bool has_begin, has_entry, has_exit, has_end;
	uint32_t kinds;                /* GPUBPF_SITE_BIT() of the kinds of instruction places that have a probe */
	struct sass_body (*bodies)[2]; /* bodies[site], for a site at instructions: [0] is the body for places
	                                * without a predicate, [1] the body for places with predicates */
	struct sass_insn_probes insn_probes;
	struct gpubpf_blob made;
	bool found;
};

/* Refuses programs that the site does not support. Only probes at exits may end the thread, because the EXITs of
 * other probes lead back to the kernel. Programs at functions cannot read arguments, because machine code does not
 * say which registers hold them. */
static int check_site(const struct gpubpf_lower_job *job, const struct gpubpf_site_desc *site, struct gpubpf_diag *diag)
{
	const uint32_t ends = GPUBPF_SITE_BIT(EXIT) | GPUBPF_SITE_BIT(BLOCK_END);

	for (uint32_t i = 0; !(ends >> site->site & 1) && i < site->nprogs; i++) {
		const struct gpubpf_prog *prog = &job->unit->progs[site->progs[i]];
		bool function = gpubpf_place_kind(site->site)->where == GPUBPF_WHERE_FUNCTION;

		if (function && (!prog->facts || prog->facts->ctx_args))
			return gpubpf_diag_set(diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC,
					       "program %s reads arguments of a function, whose registers are not "
					       "known in machine code",
					       prog->name);
		if (!prog->facts || prog->facts->ends_thread)
			return gpubpf_diag_set(diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC,
					       "program %s ends threads (helper 507), which machine code supports only "
					       "at exits of the kernel",
					       prog->name);
	}
	return 0;
}

static struct sass_insns wrap_insns(const struct sass_insn *insns)
{
	return (struct sass_insns){ insns, sizeof(*insns) };
}

/* Reads the probe of a site at instructions as two bodies: one for places without a predicate, one for places with
 * predicates. */
static int read_bodies(struct injection *m, uint32_t site, const char *name, struct gpubpf_diag *diag)
{
	const struct sass_arch *arch = sass_arch_find(m->probes.sm);
	struct sass_probe probe;
	int err = sass_probe_read(&m->probes, name, m->job, &probe, diag);

	if (err < 0)
		return err;
	for (unsigned guarded = 0; !err && guarded < 2; guarded++) {
		err = sass_body_make(arch, &probe, guarded, &m->bodies[site][guarded], diag);
		sass_dump_insns(m->job, "guard", guarded ? "at places with a predicate" : name, arch,
				wrap_insns(m->bodies[site][guarded].insns), m->bodies[site][guarded].n);
	}
	sass_probe_finish(&probe);
	m->kinds |= 1u << m->job->sites[site].site;
	if (!err && m->bodies[site][0].place_values >> SASS_INPUT_RESULT & 1)
		err = gpubpf_diag_set(diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC,
				      "a program reads the result of a function, whose register is not known in "
				      "machine code");
	return err;
}

static int read_site(struct injection *m, uint32_t i, struct gpubpf_diag *diag)
{
	char name[40];
	int err = check_site(m->job, &m->job->sites[i], diag);

	if (err < 0)
		return err;
	snprintf(name, sizeof(name), "gpubpf_inline_%u", i);
	switch (m->job->sites[i].site) {
	case GPUBPF_SITE_BLOCK_BEGIN:
		m->has_begin = true;
		return sass_probe_read(&m->probes, name, m->job, &m->begin, diag);
	case GPUBPF_SITE_ENTRY:
		m->has_entry = true;
		return sass_probe_read(&m->probes, name, m->job, &m->entry, diag);
	case GPUBPF_SITE_EXIT:
		m->has_exit = true;
		return sass_probe_read(&m->probes, name, m->job, &m->exit, diag);
	case GPUBPF_SITE_BLOCK_END:
		m->has_end = true;
		return sass_probe_read(&m->probes, name, m->job, &m->end, diag);
	default:
		return read_bodies(m, i, name, diag);
	}
}

/* Builds the entry probe from two probes: first the probe of a block's first lane, then the probe of all lanes. */
static int join_entry(struct injection *m)
{
	struct sass_probe both = m->begin;
	int err = 0;

	if (m->has_begin && m->has_entry)
		err = sass_probe_join(sass_arch_find(m->probes.sm), &both, &m->entry, SASS_JOIN_CONVERGED);
	if (err < 0 || !m->has_begin)
		return err;
	m->begin = (struct sass_probe){ 0 };
	m->entry = both;
	return 0;
}

/* Prepends counting code to the probe. If `end` is true, this is the code for lanes that leave the kernel; otherwise it
 * is the code for the entry. `how` says how lanes continue from the counting code to the probe. */
static int prepend_count(const struct sass_arch *arch, bool end, struct sass_probe *probe, enum sass_join_kind how)
{
	struct sass_probe both;
	int err = sass_count_probe(arch, end, &both);

	if (!err)
		err = sass_probe_join(arch, &both, probe, how);
	if (err < 0)
		sass_probe_finish(&both);
	else
		*probe = both;
	return err;
}

/* Adds the counting code to the probes of a kernel: before the entry probe, and after the exit probe. The last lane
 * of the block then continues to the probe at the end of a block. */
static int join_end(struct injection *m)
{
	const struct sass_arch *arch = sass_arch_find(m->probes.sm);
	int err = prepend_count(arch, false, &m->entry, SASS_JOIN_CONVERGED);

	if (!err)
		err = prepend_count(arch, true, &m->end, SASS_JOIN_FILTER);
	if (err < 0)
		return err;
	if (m->has_exit)
		return sass_probe_join(arch, &m->exit, &m->end, SASS_JOIN_SEPARATE);
	m->exit = m->end;
	m->end = (struct sass_probe){ 0 };
	return 0;
}

static int read_probes(struct injection *m, struct gpubpf_diag *diag)
{
	int err = 0;

	m->bodies = calloc(m->job->nsites, sizeof(*m->bodies));
	if (!m->bodies)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < m->job->nsites; i++)
		if (!strcmp(m->job->sites[i].kernel, m->job->sites[0].kernel))
			err = read_site(m, i, diag);
	return err ? err : join_entry(m);
}

/* Appends to the cubin the list of addresses that the agent fills in. */
static int pack(const struct sass_cubin *app, struct sass_twin *twin)
{
	struct cuda_twin_address *addresses = calloc(twin->nbindings + 1, sizeof(*addresses));
	int err;

	if (!addresses)
		return -ENOMEM;
	for (uint32_t i = 0; i < twin->nbindings; i++)
		addresses[i] = (struct cuda_twin_address){ app->symbols[twin->bindings[i].symbol].name,
							   twin->bindings[i].off, twin->bindings[i].addend,
							   twin->bindings[i].part };
	err = cuda_twin_pack(&twin->cubin.data, &twin->cubin.size, addresses, twin->nbindings);
	free(addresses);
	return err;
}

/* Checks the twin, and then appends the list of addresses to it. No twin may skip this check. */
static int check_and_pack(struct injection *m, const struct sass_cubin *app, const struct sass_kernel *k,
			  const struct sass_code *code, struct sass_twin *twin, struct gpubpf_diag *diag)
{
	int err;

	err = sass_check(app, k, code, twin, &(struct sass_twin_contents){ m->has_entry, m->has_exit, m->has_end },
			 &m->insn_probes, diag);
	if (err < 0)
		return err;
	err = pack(app, twin);
	if (err < 0)
		return err;
	m->made = twin->cubin;
	twin->cubin = (struct gpubpf_blob){ 0 };
	return 0;
}

struct place_collector {
	struct injection *m;
	const struct sass_code *code;
	struct gpubpf_inserting *at;
	const struct gpubpf_lines *lines;
	uint32_t text, room;
	char function[GPUBPF_NAME_SIZE]; /* name of the function whose places are being collected; "": the kernel */
};

static int collect_place(void *arg, const struct sass_place *place)
{
	struct place_collector *t = arg;
	struct sass_insn_probes *insn_probes = &t->m->insn_probes;
	uint32_t site = gpubpf_site_at(t->at, place->kind, t->function, place->id);
	bool guarded = sass_insn_probe_is_guarded(place);
	struct sass_insn_probe *grown;

	if (site == UINT32_MAX)
		return 0;
	if (insn_probes->n == t->room) {
		t->room = 2 * t->room + 16;
		grown = realloc(insn_probes->list, t->room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		insn_probes->list = grown;
	}
	insn_probes->list[insn_probes->n++] = (struct sass_insn_probe){
		*place, place->line ? place->line : sass_line_at(t->lines, t->text, (uint64_t)place->at * SASS_INSN),
		&t->m->bodies[site][guarded]
	};
	return 0;
}

static int collect_function(void *arg, const struct sass_function *function)
{
	struct place_collector *t = arg;

	gpubpf_name_short(function->name, strlen(function->name), t->function);
	return function->why ? 0 : sass_function_places(t->code, function, t->m->kinds, collect_place, t);
}

static int by_instruction(const void *a, const void *b)
{
	const struct sass_place *x = &((const struct sass_insn_probe *)a)->place,
				*y = &((const struct sass_insn_probe *)b)->place;

	if (x->at != y->at || x->kind != y->kind)
		return x->at != y->at ? (x->at < y->at ? -1 : 1) : (int)x->kind - (int)y->kind;
	return (x->id > y->id) - (x->id < y->id);
}

static int collect_places(struct injection *m, struct sass_module *module, const struct sass_kernel *k,
			  struct sass_code *code, struct gpubpf_inserting *at)
{
	struct place_collector t = { m, code, at, NULL, k->text, 0, "" };
	int err;

	if (!m->kinds)
		return 0;
	t.lines = sass_module_lines(module, m->kinds & GPUBPF_SITE_BIT(LINE));
	err = sass_places_each(code, m->kinds, t.lines, k->text, collect_place, &t);
	if (!err && m->kinds & gpubpf_places_of(GPUBPF_WHERE_FUNCTION))
		err = sass_functions_each(&module->cubin, k, code, collect_function, &t);
	if (!err && m->insn_probes.n)
		qsort(m->insn_probes.list, m->insn_probes.n, sizeof(*m->insn_probes.list), by_instruction);
	for (uint32_t i = m->insn_probes.n; i-- > 0;)
		sass_code_reserve(code, m->insn_probes.list[i].place.at);
	return err;
}

/* Checks that the code has the places of all sites, and that either all exits have a probe or no exit has one. Joins
 * probes, and collects the places at instructions. */
static int check_places(struct injection *m, struct sass_module *module, const struct sass_kernel *k,
			struct sass_code *code, struct gpubpf_diag *diag)
{
	struct gpubpf_inserting at = { .job = m->job, .kernel = m->job->sites[0].kernel };
	bool begin = gpubpf_site_at(&at, GPUBPF_SITE_BLOCK_BEGIN, "", 0) != UINT32_MAX;
	bool entry = gpubpf_site_at(&at, GPUBPF_SITE_ENTRY, "", 0) != UINT32_MAX;
	bool end = gpubpf_site_at(&at, GPUBPF_SITE_BLOCK_END, "", 0) != UINT32_MAX;
	uint32_t exits = 0;
	int err;

	for (uint32_t i = 0; i < code->nexits; i++)
		exits += gpubpf_site_at(&at, GPUBPF_SITE_EXIT, "", i) != UINT32_MAX;
	if (begin != m->has_begin || entry != m->has_entry || (end != m->has_end && code->nexits) ||
	    exits != (m->has_exit ? code->nexits : 0))
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "programs are at %u of its %u exits; machine code needs a probe at each exit or at "
				       "none",
				       exits, code->nexits);
	err = end ? join_end(m) : 0; /* a kernel without exits has an entry probe, but its lanes are not counted */
	m->has_entry |= m->has_begin | end;
	m->has_exit |= m->has_end;
	m->has_end &= end;
	if (!err)
		err = collect_places(m, module, k, code, &at);
	return err ? err : gpubpf_check_all_inserted(&at, diag);
}

/* Refuses a kernel that reads the size of its shared memory, because the counter would change that size. Also
 * refuses a kernel that cannot declare the block barrier of the counting code. */
static int check_counting(const struct injection *m, const struct sass_cubin *app, const struct sass_kernel *k,
			  const struct sass_code *code, struct gpubpf_diag *diag)
{
	if (!m->has_end)
		return 0;
	if (!sass_has_bar(code) && app->head.e_ident[EI_ABIVERSION] < SASS_ABI_13)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "it has no barrier, and gpu/block_end/ cannot declare one in machine code of "
				       "CUDA 12; build it with CUDA 13");
	return sass_callees_check_shared_size(app, k, code->by_pointer, diag);
}

/* Lets the exit probe reuse values of the entry probe. This requires that neither other inserted code nor a callee runs
 * between the two probes. A callee may use registers above the kernel's. */
static int reuse_values(struct injection *m, const struct sass_kernel *k, const struct sass_code *code)
{
	if (!m->has_entry || !m->has_exit || m->has_end || m->insn_probes.n || code->nconstants || code->calls ||
	    code->by_pointer)
		return 0;
	return sass_reuse_entry_values(code->arch, &m->entry, &m->exit, sass_max_regs_above(code, k->regs));
}

/* Dumps the probes at the entry and the exits after all passes over single probes. */
static void dump_ends(const struct injection *m, const struct sass_arch *arch)
{
	if (m->has_entry)
		sass_dump_insns(m->job, "reuse-values", "entry", arch, wrap_insns(m->entry.insns), m->entry.n);
	if (m->has_exit)
		sass_dump_insns(m->job, "reuse-values", "exit", arch, wrap_insns(m->exit.insns), m->exit.n);
}

static int make_from_module(struct injection *m, struct sass_module *module, const struct sass_kernel *k,
			    struct gpubpf_diag *diag)
{
	const struct sass_cubin *app = &module->cubin;
	struct sass_patched_code patched = { 0 };
	struct sass_twin twin = { 0 };
	struct sass_code code;
	int err;

	if (app->sm != m->probes.sm)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "its machine code is for sm_%u, but the probes are for sm_%u", app->sm,
				       m->probes.sm);
	err = sass_code_read(app, k, &code, diag);
	if (err < 0)
		return err;
	sass_dump_blocks(m->job, m->job->sites[0].kernel, &code);
	err = check_places(m, module, k, &code, diag);
	if (!err)
		err = check_counting(m, app, k, &code, diag);
	m->has_exit &= code.nexits || (!m->has_entry && !m->insn_probes.n); /* a kernel without EXIT can still have
	                                                                     * an entry probe */
	if (!err)
		err = reuse_values(m, k, &code);
	dump_ends(m, code.arch);
	if (!err)
		err = sass_patch_kernel(&code, k->regs, m->has_entry ? &m->entry : NULL, m->has_exit ? &m->exit : NULL,
					&m->insn_probes, &patched, diag);
	sass_dump_insns(m->job, "patch", m->job->sites[0].kernel, code.arch, wrap_insns(patched.insns),
			err ? 0 : patched.n);
	patched.counts = m->has_end;
	if (!err)
		err = sass_twin_write(app, k, &code, &m->probes, &patched, &twin, diag);
	if (!err)
		err = check_and_pack(m, app, k, &code, &twin, diag);
	sass_twin_finish(&twin);
	sass_patched_code_finish(&patched);
	sass_code_finish(&code);
	return err;
}

/* Makes the twin if the module has the kernel. Refuses a kernel that is in two cubins of the image, because it is
 * unknown which of the two the driver has loaded. */
static int try_module(void *arg, struct sass_module *module, struct gpubpf_diag *diag)
{
	struct injection *m = arg;
	const struct sass_kernel *k = sass_kernel_find(&module->cubin, m->job->sites[0].kernel);
	int err = 0;

	if (k && m->found)
		err = gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				      "the image contains this kernel twice, and it is unknown which copy runs");
	else if (k)
		err = make_from_module(m, module, k, diag);
	m->found |= k != NULL;
	return err;
}

static int make_twin(struct injection *m, const struct gpubpf_image *image, struct gpubpf_diag *diag)
{
	uint32_t sm = sass_image_arch(image->data, image->size, sass_capability(m->job->caps));
	int err = read_probes(m, diag);

	if (!err)
		err = sass_module_each(image, sm, try_module, m, diag);
	if (!err && !m->found)
		err = gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				      "the image has no machine code of this kernel for sm_%u", sm);
	return err;
}

int sass_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	struct gpubpf_twin_image made = { 0 };
	struct injection m = { .job = job };
	int err;

	if (!job->nsites || !opts->probes_size)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the request names no kernel or has no probes");
	err = sass_cubin_open(opts->probes, opts->probes_size, &m.probes, diag);
	if (err < 0)
		return err;
	err = gpubpf_twin_init_single(job, &made);
	if (!err)
		err = make_twin(&m, image, diag);
	sass_probe_finish(&m.begin);
	sass_probe_finish(&m.entry);
	sass_probe_finish(&m.exit);
	sass_probe_finish(&m.end);
	for (uint32_t i = 0; m.bodies && i < 2 * job->nsites; i++)
		sass_body_finish(&m.bodies[i / 2][i % 2]);
	free(m.bodies);
	free(m.insn_probes.list);
	sass_cubin_finish(&m.probes);
	if (err < 0) {
		free(m.made.data);
		free(made.refused);
		free(made.twins);
		return err;
	}
	made.piece[0] = (struct gpubpf_twin_piece){ GPUBPF_IMAGE_CUBIN, m.made, NULL };
	made.npieces = 1;
	*out = made;
	return 0;
}
