/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/target.h"
#include "core/wire/name.h"

#define PAD 8                      /* the number of instructions of a section is a multiple of this */

/* Returns the index of the kernel's instruction that the branch to the entry probe replaces. If the twin has no
 * stubs and its first instruction is a BRA, the result is that instruction. Otherwise it is code->entry_limit (the
 * late entry, backends/cuda/sass/rewrite/patch.h). A twin with stubs always has a late entry, because all its probe
 * registers are above the kernel's. */
static uint32_t find_entry_branch(const struct checked *c)
{
	bool stubs = c->insn_probes->n || c->code->nconstants;

	return !stubs && sass_opcode(insn_at(c, c->code->begin)) == SASS_OP_BRA ? c->code->begin : c->code->entry_limit;
}

/* Finds the entry probe, which follows the exit probe. Then finds the copy of the replaced instruction, which is
 * just before the last branch back to the kernel. */
static void find_entry(struct checked *c)
{
	int64_t to = sass_check_target(c, c->entry_branch);

	c->entry = to >= c->first_added && to < c->first_stub ? to : c->first_added;
	c->entry_copy = c->first_stub - 1;
	while (c->entry_copy > c->entry && (sass_opcode(insn_at(c, c->entry_copy)) != SASS_OP_BRA ||
					    sass_check_target(c, c->entry_copy) != (int64_t)c->entry_branch + 1))
		c->entry_copy--;
	c->entry_copy -= c->entry_copy > c->entry;
	c->location[c->entry_branch] = c->entry_copy;
}

/* Finds the code that each lane of a diverged warp runs separately. After its waits the exit probe may contain VOTE,
 * ISETP and BRA, which test whether the whole warp is converged. If the warp is not converged, the BRA leads to that
 * code. */
static void find_lane_code(struct checked *c)
{
	uint32_t i = c->exit, reg;
	int64_t to;

	c->convergence_branch = c->lane_code = SASS_NONE;
	while (i < c->first_stub && sass_opcode(insn_at(c, i)) == SASS_OP_NOP)
		i++;
	if (c->exit == SASS_NONE || i + 3 > c->first_stub)
		return;
	reg = insn_at(c, i).operand[0].reg;
	to = sass_check_target(c, i + 2);
	if (!same(insn_at(c, i), sass_vote(reg)) || !same(insn_at(c, i + 1), sass_isetp_imm(0, reg, UINT32_MAX, false)) ||
	    sass_opcode(insn_at(c, i + 2)) != SASS_OP_BRA || insn_at(c, i + 2).guard || to <= i || to >= c->first_stub)
		return;
	c->convergence_branch = i + 2;
	c->lane_code = to;
}

/* Returns true if the name `twin` consists of the prefix of twins and the short name of `kernel`. */
static bool is_twin_of(const char *twin, const char *kernel)
{
	char name[GPUBPF_NAME_SIZE];

	gpubpf_name_short(kernel, strlen(kernel), name);
	return !strncmp(twin, GPUBPF_TWIN_PREFIX, strlen(GPUBPF_TWIN_PREFIX)) &&
	       !strcmp(twin + strlen(GPUBPF_TWIN_PREFIX), name);
}

static void update_first_stub(struct checked *c, uint32_t from)
{
	int64_t to = sass_check_target(c, from);

	if (to >= c->first_added && to < c->first_stub)
		c->first_stub = to;
}

/* Sets c->first_stub to the lowest target of the branches that replace instructions. The stubs of instruction probes
 * and constant reads begin there. */
static void find_first_stub(struct checked *c, bool entry)
{
	for (uint32_t k = 0; k < c->insn_probes->n + c->code->nconstants; k++) {
		uint32_t at = k < c->insn_probes->n ? c->insn_probes->list[k].place.at :
						      c->code->constants[k - c->insn_probes->n];

		c->has_stub[at] = true;
		if (!entry || at != c->entry_branch)
			update_first_stub(c, at);
	}
}

static int open_twin(struct checked *c, const struct sass_kernel *kernel, const void *twin, size_t size, bool entry,
		     bool exit)
{
	const char *name = c->app->symbols[kernel->symbol].name;
	const struct sass_section *text;
	const struct sass_kernel *k;
	int err = sass_cubin_open(twin, size, &c->twin, c->diag);

	if (err < 0)
		return err;
	k = c->twin.nkernels == 1 ? &c->twin.kernels[0] : NULL;
	if (!k || !is_twin_of(c->twin.symbols[k->symbol].name, name) || !k->info)
		return sass_check_fail_whole(c, "it does not consist of exactly this kernel");
	text = &c->twin.sections[k->text];
	c->ninsns = c->first_stub = text->size / SASS_INSN;
	c->first_added = exit && c->code->tail != SASS_NONE ? c->code->tail : (c->code->n + PAD - 1) / PAD * PAD;
	c->new_regs = k->regs;
	if (c->first_stub <= c->first_added || c->twin.symbols[k->symbol].head.st_size != c->first_stub * SASS_INSN)
		return sass_check_fail_whole(c, "its symbol's size is not the size of its code");
	if (k->stack < kernel->stack || k->frame < kernel->frame)
		return sass_check_fail_whole(c, "it declares less stack than the kernel");
	c->insns = calloc(c->ninsns, sizeof(*c->insns));
	c->stub_flags = calloc(c->ninsns, 1);
	c->has_stub = calloc(c->code->n, sizeof(*c->has_stub));
	c->location = calloc(c->code->n, sizeof(*c->location));
	if (!c->insns || !c->stub_flags || !c->has_stub || !c->location)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->ninsns; i++)
		c->insns[i] = sass_read(text->data + (size_t)i * SASS_INSN);
	for (uint32_t i = 0; i < c->code->n; i++)
		c->location[i] = i;
	c->entry_branch = find_entry_branch(c);
	find_first_stub(c, entry);
	c->exit = exit ? c->first_added : SASS_NONE;
	c->entry = SASS_NONE;
	if (entry)
		find_entry(c);
	if (entry && c->has_stub[c->entry_branch])
		update_first_stub(c, c->entry_copy);
	find_lane_code(c);
	return 0;
}

int sass_check(const struct sass_cubin *app, const struct sass_kernel *kernel, const struct sass_code *code,
	       const struct sass_twin *twin, const struct sass_twin_contents *has,
	       const struct sass_insn_probes *insn_probes, struct gpubpf_diag *diag)
{
	static int (*const passes[])(struct checked *c) = {
		sass_check_kernel_insns, sass_check_insn_probes,   sass_check_constant, sass_check_unclaimed,
		sass_check_counting,     sass_check_added_insns,   sass_check_entry,    sass_check_exit,
		sass_check_flight,       sass_check_reused_values, sass_check_pending,  sass_check_timing,
		sass_check_exit_list,
	};
	struct checked c = { .code = code,
			     .regs = kernel->regs,
			     .text = kernel->text,
			     .info = kernel->info,
			     .insn_probes = insn_probes,
			     .app = app,
			     .bindings = twin->bindings,
			     .nbindings = twin->nbindings,
			     .counts = has->counts,
			     .diag = diag };
	int err = open_twin(&c, kernel, twin->cubin.data, twin->cubin.size, has->entry, has->exit);

	for (size_t i = 0; !err && i < sizeof(passes) / sizeof(*passes); i++)
		err = passes[i](&c);
	if (!err)
		err = sass_check_texts(&c, kernel);
	if (!err)
		err = sass_check_callee_sizes(&c, kernel);
	free(c.insns);
	free(c.stub_flags);
	free(c.has_stub);
	free(c.location);
	sass_cubin_finish(&c.twin);
	return err;
}
