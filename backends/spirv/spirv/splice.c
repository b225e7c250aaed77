/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The twin of a SPIR-V module. A kernel may not be called (section 2.16.1: an entry point is no target
 * of OpFunctionCall), and Intel's runtime 2026.2 crashes in Workgroup variables of a function that an entry
 * point calls. But the twin runs beside the original, so in the twin's module the function of each wanted
 * kernel K itself becomes gpubpf_twin_K: it takes (__global uchar *arena, ulong launch, ulong pid) after K's
 * parameters; a block before its first one fills a struct gpubpf_env (maps/devlib.h) and calls the imported
 * gpubpf_site_<i>; before each OpReturn stands a call of the exit site. All ids stay, so execution modes,
 * decorations, interfaces and debug information hold as they are, and other kernels stay what they were.
 * Probes at instructions: around.c.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/diag.h"
#include "backends/spirv/common/env_use.h"
#include "maps/devlib.h"
#include "around.h"
#include "give.h"
#include "splice.h"

static void make_types(struct inject *in)
{
	struct spv_build *b = &in->b;

	in->none = spv_void(b);
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

static uint32_t value(struct twin *t, uint32_t op, uint32_t type, uint32_t operand)
{
	uint32_t id = spv_id(&t->in->b);

	SPV_OP(&t->body, op, type, id, operand);
	return id;
}

static uint32_t variable(struct twin *t, uint32_t type)
{
	uint32_t pointer = SPV_TYPE(&t->in->b, SpvOpTypePointer, SpvStorageClassFunction, type);
	uint32_t id = spv_id(&t->in->b);

	SPV_OP(&t->variables, SpvOpVariable, pointer, id, SpvStorageClassFunction);
	return id;
}

static uint32_t array_variable(struct twin *t, uint32_t element, uint32_t n)
{
	uint32_t count = spv_u32(&t->in->b, n);

	return variable(t, SPV_TYPE(&t->in->b, SpvOpTypeArray, element, count));
}

static uint32_t element(struct twin *t, uint32_t type, uint32_t base, uint32_t index)
{
	return spv_element(t->in, &t->body, type, base, index);
}

static void store(struct twin *t, uint32_t word, uint32_t what)
{
	SPV_OP(&t->body, SpvOpStore, element(t, t->in->p64, t->env, word), what, SpvMemoryAccessAlignedMask, 8);
}

/* Where the bytes of a parameter lie in private memory, as a pointer to u8. */
static uint32_t address_of(struct twin *t, uint32_t i)
{
	const struct gpubpf_spv_insn *type = gpubpf_spv_def(t->in->b.m, t->kernel->param_type[i]);
	bool by_value = type->op == SpvOpTypePointer &&
			gpubpf_spv_word(t->in->b.m, type, 2) == SpvStorageClassFunction;
	uint32_t at = t->param[i];

	if (!by_value) {
		at = variable(t, t->kernel->param_type[i]);
		SPV_OP(&t->body, SpvOpStore, at, t->param[i]);
	}
	return value(t, SpvOpBitcast, t->in->p8, at);
}

static void copy(struct twin *t, uint32_t to, uint32_t from, uint32_t size)
{
	uint32_t n = spv_u64(&t->in->b, size);

	SPV_OP(&t->body, SpvOpCopyMemorySized, to, from, n, SpvMemoryAccessAlignedMask, 1);
}

/* As include/gpubpf/ctx.h says. */
static void store_arg(struct twin *t, uint32_t i)
{
	const struct gpubpf_param *p = &t->kernel->info.params[i];
	uint32_t word = ENV_WORD(arg) + i, bits = t->param[i];

	if (p->size == 2) /* half alone needs no integers of its size */
		spv_capability(&t->in->b, SpvCapabilityInt16);
	switch (p->kind) {
	case GPUBPF_PARAM_FLOAT:
		bits = value(t, SpvOpBitcast, SPV_TYPE(&t->in->b, SpvOpTypeInt, 8 * p->size, 0), bits);
		/* fall through */
	case GPUBPF_PARAM_INT:
		store(t, word, p->size < 8 ? value(t, SpvOpUConvert, t->in->u64, bits) : bits);
		return;
	case GPUBPF_PARAM_POINTER:
	case GPUBPF_PARAM_LOCAL:
		store(t, word, value(t, SpvOpConvertPtrToU, t->in->u64, bits));
		return;
	case GPUBPF_PARAM_BYTES:
		store(t, word, spv_u64(&t->in->b, 0));
		copy(t, value(t, SpvOpBitcast, t->in->p8, element(t, t->in->p64, t->env, word)), address_of(t, i),
		     p->size < 8 ? p->size : 8);
		return;
	case GPUBPF_PARAM_OPAQUE:
		store(t, word, spv_u64(&t->in->b, 0));
		return;
	}
}

/* For helper 520: the bytes at the offsets of the site. */
static void store_bytes(struct twin *t)
{
	uint32_t size = gpubpf_env_bytes(&t->use, t->site), word;

	word = element(t, t->in->p64, t->env, ENV_WORD(arg_bytes));
	if (!size) {
		SPV_OP(&t->body, SpvOpStore, word, spv_u64(&t->in->b, 0), SpvMemoryAccessAlignedMask, 8);
		return;
	}
	t->bytes = value(t, SpvOpBitcast, t->in->p8, array_variable(t, t->in->u8, size));
	for (uint32_t i = 0; i < t->site->nparams && i < t->kernel->info.nparams; i++)
		if (gpubpf_env_reads_bytes(&t->use, t->site, i))
			copy(t, element(t, t->in->p8, t->bytes, t->site->params[i].bytes_off), address_of(t, i),
			     t->kernel->info.params[i].size);
	SPV_OP(&t->body, SpvOpStore,
	       value(t, SpvOpBitcast, SPV_TYPE(&t->in->b, SpvOpTypePointer, SpvStorageClassFunction, t->in->p8), word),
	       t->bytes, SpvMemoryAccessAlignedMask, 8);
}

static void fill_env(struct twin *t)
{
	struct spv_build *b = &t->in->b;
	uint32_t n = t->kernel->info.nparams;

	t->env = value(t, SpvOpBitcast, t->in->p64, array_variable(t, t->in->u64, ENV_WORDS + t->in->words));
	t->in->env[t->kernel->function] = t->env;
	store(t, ENV_WORD(arena), value(t, SpvOpConvertPtrToU, t->in->u64, t->param[n]));
	store(t, ENV_WORD(launch), t->param[n + 1]);
	store(t, ENV_WORD(pid_tgid), t->param[n + 2]);
	store(t, ENV_WORD(kernel_id), spv_u64(b, t->site->kernel_id));
	/* device, and flags in the upper half */
	store(t, ENV_WORD(device), spv_u64(b, t->in->job->caps->ordinal));
	for (uint32_t i = 0; i < GPUBPF_ENV_ARGS; i++)
		if (t->use.args >> i & 1 && i < n)
			store_arg(t, i);
		else if (t->use.args >> i & 1)
			store(t, ENV_WORD(arg) + i, spv_u64(b, 0));
	store_bytes(t);
}

/* Return if the site's answer asks to end the thread. */
static void leave_if(struct twin *t, uint32_t answer)
{
	struct spv_build *b = &t->in->b;
	uint32_t leave = spv_id(b), stay = spv_id(b), asked = spv_id(b);

	SPV_OP(&t->body, SpvOpINotEqual, spv_type(b, SpvOpTypeBool, NULL, 0), asked, answer, spv_u32(b, 0));
	SPV_OP(&t->body, SpvOpBranchConditional, asked, leave, stay);
	SPV_OP(&t->body, SpvOpLabel, leave);
	spv_op(&t->body, SpvOpReturn, NULL, 0);
	SPV_OP(&t->body, SpvOpLabel, stay);
}

/* K's parameters as they are, three more, and the type of a function that takes them all. */
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
	types[0] = t->in->none;
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
	t->site = &in->job->sites[gpubpf_spv_first_site(w)];
	gpubpf_env_use(in->job, w->entry, &t->use);
	gpubpf_env_use(in->job, w->exit, &t->use);
	gpubpf_env_use(in->job, w->begin, &t->use);
	for (uint32_t i = 0; i < w->nplaces; i++)
		if (!i || w->places[i].site != w->places[i - 1].site)
			gpubpf_env_use(in->job, w->places[i].site, &t->use);
	t->out = spv_id(&in->b);
	err = make_params(t);
	if (err < 0)
		return err;
	fill_env(t);
	if (w->begin != UINT32_MAX)
		spv_call_first(in, &t->body, w->begin, t->env);
	if (w->entry != UINT32_MAX) {
		uint32_t answer = spv_call_site(t->in, &t->body, w->entry, t->env);

		if (t->use.ends_thread)
			leave_if(t, answer);
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

/* The entry point of a twin: K's, with another name, and the same interface, but for what we read ourselves. */
static void write_entry(const struct twin *t, uint32_t i, struct spv_words *out)
{
	const struct gpubpf_spv *m = t->in->b.m;
	const struct gpubpf_spv_insn *entry = &m->insn[i];
	uint32_t end, n, *ids;

	gpubpf_spv_string(m, entry, 3, &end);
	n = entry->n - end;
	ids = calloc(n + 1, sizeof(*ids));
	if (!ids) {
		out->failed = true;
		return;
	}
	memcpy(ids, m->words + entry->at + end, n * sizeof(*ids));
	ids[n] = t->in->local_id;
	for (uint32_t k = 0; k < n; k++)
		if (ids[k] == ids[n])
			ids[n] = 0;
	spv_op_string(out, SpvOpEntryPoint, (uint32_t[]){ SpvExecutionModelKernel, t->kernel->function }, 2, t->name,
		      ids, n + (ids[n] != 0));
	free(ids);
}

/* An instruction before the functions. Runtimes know a kernel by its entry point, by its OpName or by the name
 * that it is linked by: the twin has the first two, and nobody links to it. */
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

/* The twin's own block, which goes on to K's first. A function's variables stand in its first block
 * (section 2.16.1), so K's move here. */
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

/* An instruction of K's function; *first: none of its blocks has begun. */
static void write_twin(struct twin *t, uint32_t i, bool *first, struct spv_words *out)
{
	const struct gpubpf_spv *m = t->in->b.m;
	const struct gpubpf_spv_insn *insn = &m->insn[i];

	switch (insn->op) {
	case SpvOpFunction:
		SPV_OP(out, SpvOpFunction, t->in->none, t->kernel->function, gpubpf_spv_word(m, insn, 3), t->type);
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

/* Sections 1 to 8 of a module's layout, before types (section 2.4). */
static bool before_types(uint16_t op)
{
	switch (op) {
	case SpvOpCapability: case SpvOpExtension: case SpvOpExtInstImport: case SpvOpMemoryModel:
	case SpvOpEntryPoint: case SpvOpExecutionMode: case SpvOpExecutionModeId: case SpvOpString:
	case SpvOpSource: case SpvOpSourceContinued: case SpvOpSourceExtension: case SpvOpName:
	case SpvOpMemberName: case SpvOpModuleProcessed: case SpvOpDecorate: case SpvOpDecorateId:
	case SpvOpDecorateString: case SpvOpMemberDecorate: case SpvOpMemberDecorateString:
	case SpvOpDecorationGroup: case SpvOpGroupDecorate: case SpvOpGroupMemberDecorate:
		return true;
	default:
		return false;
	}
}

/*
 * Intel's runtime 2026.2 crashes in kernels of IL that it vectorises by 8: a conditional load from local memory
 * at a computed index takes the indices of two lanes for one. No probe is needed for it; clang's SPIR-V (-O1) of
 *	if (n & 3) p[get_global_id(0)] += s[(get_local_id(0) + 5) % 64]; atomic_add(count, 1u);
 * with a local n and s behind a barrier will do. Widths of 4 and 16 are well, and so is OpenCL C of the same;
 * but an atomic, as probes are, makes the runtime choose 8 where it would not. A vector type as hint tells it to
 * leave vectorising alone, and means nothing to others.
 */
static void write_hints(struct inject *in, struct spv_words *out)
{
	const uint32_t float4 = 4 << 16 | 5; /* section 3.6, Vec Type Hint */

	for (uint32_t i = 0; i < in->ntwins; i++) {
		const struct gpubpf_spv_kernel *k = in->twins[i].kernel;

		if (k->local && !k->hinted)
			SPV_OP(out, SpvOpExecutionMode, k->function, SpvExecutionModeVecTypeHint, float4);
	}
}

/* Sections 1 to 5: execution modes come after them. */
static bool before_modes(uint16_t op)
{
	return op == SpvOpCapability || op == SpvOpExtension || op == SpvOpExtInstImport || op == SpvOpMemoryModel ||
	       op == SpvOpEntryPoint;
}

/* All of the module, with what is new at the end of its section. */
static void assemble(struct inject *in, struct spv_words *out)
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

static void finish(struct inject *in)
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
	spv_around_finish(in);
}

static bool failed(const struct spv_build *b)
{
	return b->capabilities.failed || b->decorations.failed || b->types.failed || b->declarations.failed;
}

int gpubpf_spv_inject(const struct gpubpf_spv *m, const struct gpubpf_lower_job *job,
		      const struct gpubpf_spv_wrap *wraps, uint32_t nwraps, struct gpubpf_blob *out,
		      struct gpubpf_diag *diag)
{
	struct inject in = { .b = { .m = m, .bound = m->bound }, .job = job };
	struct spv_words words = { 0 };
	struct gpubpf_spv made = { .swapped = m->swapped };
	int err = 0;

	in.twins = calloc(nwraps + 1, sizeof(*in.twins));
	if (!in.twins)
		return -ENOMEM;
	make_types(&in);
	err = spv_around_init(&in, wraps, nwraps);
	for (uint32_t i = 0; i < nwraps && !err; i++)
		err = make_twin(&in, &wraps[i]);
	if (!err)
		assemble(&in, &words);
	if (!err && (failed(&in.b) || words.failed))
		err = -ENOMEM;
	if (!err && in.b.bound > GPUBPF_SPV_MAX_BOUND)
		err = gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the module has no ids left (%u)",
				      in.b.bound);
	if (!err) {
		made.words = words.data;
		made.nwords = words.n;
		err = gpubpf_spv_write(&made, out);
	}
	free(words.data);
	finish(&in);
	return err;
}
