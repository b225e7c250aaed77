/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the twin of a SPIR-V module.
 *
 * Does: turns the function of each selected kernel K into gpubpf_twin_K. The twin has the additional parameters
 * (__global uchar *arena, ulong launch, ulong pid) after K's parameters. A new first basic block fills a struct
 * gpubpf_env (maps/device/devlib.h) and calls the imported gpubpf_site_<i>. All returns branch to a new last basic
 * block that calls the exit site.
 * Before: the module is as the application loaded it.
 * After: the module has the twins in place of their kernels; other kernels are unchanged. All ids keep their numbers,
 * so execution modes, decorations, interfaces and debug information remain valid.
 * Requires: inject.c has checked wraps[].
 *
 * The twin cannot call K, because OpFunctionCall must not call an entry point (section 2.16.1). K's code cannot move to
 * a function that the twin calls either: Intel's runtime 2026.2 crashes if such a function has Workgroup variables. K
 * itself may change here, because the original program stays loaded next to the twin. insn_probe.c inserts probes at
 * instructions.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "backends/spirv/common/env_use.h"
#include "maps/device/devlib.h"
#include "insn_probe.h"
#include "blocks.h"
#include "fill.h"
#include "place_values.h"
#include "splice.h"

static void make_types(struct inject *in)
{
	struct spv_build *b = &in->b;

	in->void_type = spv_void(b);
	in->u8 = SPV_TYPE(b, SpvOpTypeInt, 8, 0);
	in->u32 = SPV_TYPE(b, SpvOpTypeInt, 32, 0);
	in->u64 = SPV_TYPE(b, SpvOpTypeInt, 64, 0);
	in->p8 = SPV_TYPE(b, SpvOpTypePointer, SpvStorageClassFunction, in->u8);
	in->p64 = SPV_TYPE(b, SpvOpTypePointer, SpvStorageClassFunction, in->u64);
	in->global8 = SPV_TYPE(b, SpvOpTypePointer, SpvStorageClassCrossWorkgroup, in->u8);
	in->site_type = SPV_TYPE(b, SpvOpTypeFunction, in->u32, in->p64);
	spv_capability(b, SpvCapabilityAddresses);
	spv_capability(b, SpvCapabilityLinkage);
	spv_capability(b, SpvCapabilityInt64);
	spv_capability(b, SpvCapabilityInt8);
}

/* -- a twin -- */

static uint32_t emit_unary(struct twin *t, uint32_t op, uint32_t type, uint32_t operand)
{
	uint32_t id = spv_id(&t->in->b);

	SPV_OP(&t->body, op, type, id, operand);
	return id;
}

static void store_word(struct twin *t, uint32_t word, uint32_t what)
{
	SPV_OP(&t->body, SpvOpStore, spv_element_pointer(t->in, &t->body, t->in->p64, t->env, word), what,
	       SpvMemoryAccessAlignedMask, 8);
}

static void fill_env(struct twin *t)
{
	struct spv_fill fill = { t->in, &t->variables, &t->body, t->kernel, t->site, t->param, 0, t->use };
	struct spv_build *b = &t->in->b;
	uint32_t n = t->kernel->info.nparams;

	t->env = fill.env = spv_new_env(&fill);
	t->in->env[t->kernel->function] = t->env;
	store_word(t, ENV_WORD(arena), emit_unary(t, SpvOpConvertPtrToU, t->in->u64, t->param[n]));
	store_word(t, ENV_WORD(launch), t->param[n + 1]);
	store_word(t, ENV_WORD(pid_tgid), t->param[n + 2]);
	store_word(t, ENV_WORD(kernel_id), spv_u64(b, t->site->kernel_id));
	/* the device's number; the flags in the upper half are 0 */
	store_word(t, ENV_WORD(device), spv_u64(b, t->in->job->caps->ordinal));
	store_word(t, spv_twin_word(t->in), spv_u64(b, t - t->in->twins));
	spv_fill_args(&fill);
}

/* Emit code that branches to the function's last block if the site's result is not 0, which means: end the thread. */
static void branch_to_end_if(struct twin *t, uint32_t answer)
{
	struct spv_build *b = &t->in->b;
	uint32_t leave = spv_id(b), stay = spv_id(b), requested = spv_id(b);

	SPV_OP(&t->body, SpvOpINotEqual, spv_type(b, SpvOpTypeBool, NULL, 0), requested, answer, spv_u32(b, 0));
	SPV_OP(&t->body, SpvOpBranchConditional, requested, leave, stay);
	SPV_OP(&t->body, SpvOpLabel, leave);
	SPV_OP(&t->body, SpvOpBranch, t->ended);
	SPV_OP(&t->body, SpvOpLabel, stay);
}

/* Collect the ids of K's parameters, add the twin's three parameters, and create the function type. */
static int make_params(struct twin *t)
{
	const struct gpubpf_spv_kernel *k = t->kernel;
	const struct gpubpf_spv *m = t->in->b.m;
	uint32_t n = k->info.nparams, extra[] = { t->in->global8, t->in->u64, t->in->u64 };
	uint32_t *types = calloc(n + 4, 4);

	t->param = calloc(n + 3, 4);
	if (!types || !t->param) {
		free(types);
		return -ENOMEM;
	}
	types[0] = t->in->void_type;
	for (uint32_t i = 0; i < n; i++) {
		types[1 + i] = k->param_type[i];
		t->param[i] = gpubpf_spv_word(m, &m->insn[k->first_param + i], 2);
	}
	for (uint32_t i = 0; i < 3; i++) {
		types[1 + n + i] = extra[i];
		t->param[n + i] = spv_id(&t->in->b);
		SPV_OP(&t->params, SpvOpFunctionParameter, extra[i], t->param[n + i]);
	}
	t->type = spv_type(&t->in->b, SpvOpTypeFunction, types, n + 4);
	free(types);
	return 0;
}

static int make_twin(struct inject *in, const struct gpubpf_spv_wrap *w)
{
	struct twin *t = &in->twins[in->ntwins++];
	int err;

	*t = (struct twin){ .in = in, .wrap = w, .kernel = w->kernel };
	snprintf(t->name, sizeof(t->name), "gpubpf_twin_%s", w->kernel->info.name);
	t->site = gpubpf_env_site(in->job, gpubpf_spv_first_site(w));
	gpubpf_env_use(in->job, w->entry, &t->use);
	gpubpf_env_use(in->job, w->exit, &t->use);
	gpubpf_env_use(in->job, w->begin, &t->use);
	gpubpf_env_use(in->job, w->end, &t->use);
	for (uint32_t i = 0; i < w->nplaces; i++)
		if (!w->places[i].function && (!i || w->places[i].site != w->places[i - 1].site))
			gpubpf_env_use(in->job, w->places[i].site, &t->use);
	t->out = spv_id(&in->b);
	t->ended = spv_id(&in->b);
	err = make_params(t);
	if (err < 0)
		return err;
	fill_env(t);
	if (w->end != UINT32_MAX)
		spv_count_lanes(in, &t->body);
	if (w->begin != UINT32_MAX)
		spv_call_first(in, &t->body, w->begin, t - in->twins, t->env);
	if (w->entry != UINT32_MAX) {
		uint32_t answer = spv_call_site(t->in, &t->body, w->entry, t->env);

		if (t->use.ends_thread)
			branch_to_end_if(t, answer);
	}
	return t->params.failed || t->variables.failed || t->body.failed ? -ENOMEM : 0;
}

/* -- the module -- */

static void copy_insn(const struct gpubpf_spv *m, uint32_t i, struct spv_words *out)
{
	spv_append(out, m->words + m->insn[i].at, m->insn[i].n);
}

static struct twin *twin_of(struct inject *in, uint32_t function)
{
	for (uint32_t i = 0; i < in->ntwins; i++)
		if (in->twins[i].kernel->function == function)
			return &in->twins[i];
	return NULL;
}

/*
 * Write the twin's entry point, which is K's entry point with another name. The list of interface variables also gets
 * the variables that our code reads. Before SPIR-V 1.4, this list may contain only Input and Output variables (section
 * 3.52.6).
 */
static void write_entry(const struct twin *t, uint32_t i, struct spv_words *out)
{
	const struct gpubpf_spv *m = t->in->b.m;
	const struct gpubpf_spv_insn *entry = &m->insn[i];
	uint32_t end, n, had, *ids;

	gpubpf_spv_string(m, entry, 3, &end);
	n = had = entry->n - end;
	ids = calloc(n + SPV_NINPUTS, sizeof(*ids));
	if (!ids) {
		out->failed = true;
		return;
	}
	memcpy(ids, m->words + entry->at + end, n * sizeof(*ids));
	for (uint32_t k = 0; k < SPV_NINPUTS; k++) {
		bool named = !t->in->input[k] || (k == SPV_LANES && m->version < 0x10400);

		for (uint32_t j = 0; j < had; j++)
			named |= ids[j] == t->in->input[k];
		if (!named)
			ids[n++] = t->in->input[k];
	}
	spv_op_string(out, SpvOpEntryPoint, (uint32_t[]){ SpvExecutionModelKernel, t->kernel->function }, 2, t->name,
		      ids, n);
	free(ids);
}

/*
 * Write an instruction that precedes the functions. Runtimes find a kernel by its entry point, its OpName or its
 * Linkage name. Entry point and OpName get the twin's name. The Linkage decoration is dropped, because no module links
 * to the twin.
 */
static void write_global(struct inject *in, uint32_t i, struct spv_words *out)
{
	const struct gpubpf_spv *m = in->b.m;
	const struct gpubpf_spv_insn *insn = &m->insn[i];
	const struct twin *t = twin_of(in, gpubpf_spv_word(m, insn, insn->op == SpvOpEntryPoint ? 2 : 1));

	if (t && insn->op == SpvOpEntryPoint && t->kernel->entry == i)
		write_entry(t, i, out);
	else if (t && insn->op == SpvOpName)
		spv_op_string(out, SpvOpName, &t->kernel->function, 1, t->name, NULL, 0);
	else if (insn->op != SpvOpDecorate || gpubpf_spv_word(m, insn, 2) != SpvDecorationLinkageAttributes ||
		 !(t || spv_takes_env(in, gpubpf_spv_word(m, insn, 1))))
		copy_insn(m, i, out);
}

/*
 * Write the twin's new first basic block, which branches to K's first block. K's variables move to this block, because
 * a function's variables must stand in its first block (section 2.16.1).
 */
static void write_first_block(struct twin *t, uint32_t label, struct spv_words *out)
{
	const struct gpubpf_spv *m = t->in->b.m;

	SPV_OP(out, SpvOpLabel, spv_id(&t->in->b));
	spv_append(out, t->variables.data, t->variables.n);
	for (uint32_t i = label; i < m->ninsns && m->insn[i].op != SpvOpFunctionEnd; i++)
		if (m->insn[i].op == SpvOpVariable)
			copy_insn(m, i, out);
	spv_append(out, t->body.data, t->body.n);
	SPV_OP(out, SpvOpBranch, gpubpf_spv_word(m, &m->insn[label], 1));
}

/* Write an instruction of K's function. *first is true until the function's first basic block begins. */
static void write_twin(struct twin *t, uint32_t i, bool *first, struct spv_words *out)
{
	const struct gpubpf_spv *m = t->in->b.m;
	const struct gpubpf_spv_insn *insn = &m->insn[i];

	switch (insn->op) {
	case SpvOpFunction:
		SPV_OP(out, SpvOpFunction, t->in->void_type, t->kernel->function, gpubpf_spv_word(m, insn, 3), t->type);
		return;
	case SpvOpVariable:
		return;
	case SpvOpLabel:
		if (*first) {
			spv_append(out, t->params.data, t->params.n);
			write_first_block(t, i, out);
		}
		*first = false;
		break;
	case SpvOpReturn:
		spv_write_before(t->in, i, t->kernel->function, out);
		SPV_OP(out, SpvOpBranch, t->out);
		return;
	case SpvOpFunctionEnd:
		SPV_OP(out, SpvOpLabel, t->out);
		if (t->wrap->exit != UINT32_MAX)
			spv_call_site(t->in, out, t->wrap->exit, t->env);
		SPV_OP(out, SpvOpBranch, t->ended);
		SPV_OP(out, SpvOpLabel, t->ended);
		if (t->wrap->end != UINT32_MAX)
			spv_call_last(t->in, out, t->wrap->end, t->env);
		spv_op(out, SpvOpReturn, NULL, 0);
		break;
	}
	spv_write_insn(t->in, i, t->kernel->function, out);
}

static void write_functions(struct inject *in, struct spv_words *out)
{
	const struct gpubpf_spv *m = in->b.m;
	struct twin *t = NULL;
	uint32_t function = 0;
	bool first = true;

	for (uint32_t i = m->functions; i < m->ninsns; i++) {
		if (m->insn[i].op == SpvOpFunction) {
			function = gpubpf_spv_word(m, &m->insn[i], 2);
			t = twin_of(in, function);
			first = true;
		}
		if (t)
			write_twin(t, i, &first, out);
		else
			spv_write_function(in, i, function, &first, out);
	}
}

/* Returns true for instructions of sections 1 to 8 of a module's layout, which precede the types (section 2.4). */
static bool before_types(uint16_t op)
{
	switch (op) {
	case SpvOpCapability:
	case SpvOpExtension:
	case SpvOpExtInstImport:
	case SpvOpMemoryModel:
	case SpvOpEntryPoint:
	case SpvOpExecutionMode:
	case SpvOpExecutionModeId:
	case SpvOpString:
	case SpvOpSource:
	case SpvOpSourceContinued:
	case SpvOpSourceExtension:
	case SpvOpName:
	case SpvOpMemberName:
	case SpvOpModuleProcessed:
	case SpvOpDecorate:
	case SpvOpDecorateId:
	case SpvOpDecorateString:
	case SpvOpMemberDecorate:
	case SpvOpMemberDecorateString:
	case SpvOpDecorationGroup:
	case SpvOpGroupDecorate:
	case SpvOpGroupMemberDecorate:
		return true;
	default:
		return false;
	}
}

/*
 * Add a vector type hint to twins with local memory, so that Intel's runtime does not vectorize them. Other runtimes
 * ignore the hint.
 *
 * Intel's runtime 2026.2 crashes in kernels of IL that it vectorizes by 8. For a conditional load from local memory at
 * a computed index, it uses one index for two lanes. This happens without probes too, for example with clang's SPIR-V
 * (-O1) of this code:
 *	if (n & 3) p[get_global_id(0)] += s[(get_local_id(0) + 5) % 64]; atomic_add(count, 1u);
 * Here n and s are local and read after a barrier. Widths of 4 and 16 work, and so does the same code in OpenCL C.
 * Probes contain atomics, and an atomic makes the runtime choose 8 for kernels for which it would otherwise choose
 * another width.
 */
static void write_hints(struct inject *in, struct spv_words *out)
{
	const uint32_t float4 = 4 << 16 | 5; /* float4, in the encoding of section 3.6, Vec Type Hint */

	for (uint32_t i = 0; i < in->ntwins; i++) {
		const struct gpubpf_spv_kernel *k = in->twins[i].kernel;

		if (k->has_local_memory && !k->has_vec_type_hint)
			SPV_OP(out, SpvOpExecutionMode, k->function, SpvExecutionModeVecTypeHint, float4);
	}
}

/* Returns true for instructions of sections 1 to 5 of a module's layout, which precede the execution modes. */
static bool before_modes(uint16_t op)
{
	return op == SpvOpCapability || op == SpvOpExtension || op == SpvOpExtInstImport || op == SpvOpMemoryModel ||
	       op == SpvOpEntryPoint;
}

/* Write the whole module. New instructions are added at the end of their section. */
static void write_module(struct inject *in, struct spv_words *out)
{
	const struct gpubpf_spv *m = in->b.m;
	struct spv_words functions = { 0 };
	uint32_t last = 0;
	bool hints = false;

	write_functions(in, &functions);
	for (uint32_t i = 0; i < m->functions; i++)
		if (before_types(m->insn[i].op))
			last = i;
	spv_append(out, m->words, GPUBPF_SPV_HEADER);
	spv_append(out, in->b.capabilities.data, in->b.capabilities.n);
	for (uint32_t i = 0; i < m->functions; i++) {
		if (!hints && !before_modes(m->insn[i].op)) {
			write_hints(in, out);
			hints = true;
		}
		write_global(in, i, out);
		if (i == last)
			spv_append(out, in->b.decorations.data, in->b.decorations.n);
	}
	spv_append(out, in->b.types.data, in->b.types.n);
	spv_append(out, in->b.declarations.data, in->b.declarations.n);
	spv_append(out, functions.data, functions.n);
	spv_append(out, in->definitions.data, in->definitions.n);
	out->failed |= functions.failed || in->definitions.failed;
	free(functions.data);
	if (!out->failed)
		out->data[3] = in->b.bound;
}

static void free_inject(struct inject *in)
{
	struct spv_build *b = &in->b;

	for (uint32_t i = 0; i < in->ntwins; i++) {
		free(in->twins[i].params.data);
		free(in->twins[i].variables.data);
		free(in->twins[i].body.data);
		free(in->twins[i].param);
	}
	free(in->twins);
	free(b->capabilities.data);
	free(b->decorations.data);
	free(b->types.data);
	free(b->declarations.data);
	spv_insn_probes_finish(in);
}

static bool has_failed(const struct spv_build *b)
{
	return b->capabilities.failed || b->decorations.failed || b->types.failed || b->declarations.failed;
}

int gpubpf_spv_inject(const struct gpubpf_spv *m, const struct gpubpf_lower_job *job, const struct gpubpf_spv_wrap *wraps,
		      uint32_t nwraps, struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	struct inject in = { .b = { .m = m, .bound = m->bound }, .job = job };
	struct spv_words words = { 0 };
	struct gpubpf_spv module = { .swapped = m->swapped };
	int err = 0;

	in.twins = calloc(nwraps + 1, sizeof(*in.twins));
	if (!in.twins)
		return -ENOMEM;
	make_types(&in);
	err = spv_insn_probes_init(&in, wraps, nwraps);
	for (uint32_t i = 0; i < nwraps && !err; i++)
		err = make_twin(&in, &wraps[i]);
	if (!err)
		write_module(&in, &words);
	if (!err && (has_failed(&in.b) || words.failed))
		err = -ENOMEM;
	if (!err && in.b.bound > GPUBPF_SPV_MAX_BOUND)
		err = gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				      "the twin's SPIR-V module needs more ids than SPIR-V allows (%u)", in.b.bound);
	if (!err) {
		module.words = words.data;
		module.nwords = words.n;
		err = gpubpf_spv_write(&module, out);
	}
	free(words.data);
	free_inject(&in);
	return err;
}
