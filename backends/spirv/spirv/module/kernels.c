/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the kernels of a module: their parameters, whether they or their callees execute barriers, and the reason if a
 * kernel cannot be probed.
 */
#include "spv.h"

#include <errno.h>
#include <spirv/unified1/OpenCL.std.h>
#include <stdio.h>
#include <string.h>

#include "core/wire/name.h"

#define MAX_PARAMS 1024
#define MAX_ROUNDS 64 /* limit of rounds when propagating flags along calls; beyond it, all flags are set */

/* -- barriers, and results that depend on how the runtime vectorizes -- */

/* an internal flag next to enum gpubpf_kernel_flags: the results depend on how many lanes the runtime vectorizes */
#define DEPENDS_ON_WIDTH (1u << 31)

struct calls {
	const struct gpubpf_spv *m;
	uint32_t *flags; /* [bound]: enum gpubpf_kernel_flags of the function with this id */
};

/*
 * Returns true if all work-items of a work-group or sub-group must reach an instruction of this opcode (sections
 * 3.42.20, 3.42.21 and extensions).
 */
static bool is_group_op(uint16_t op)
{
	static const struct {
		uint16_t first, last;
	} ranges[] = {
		{ SpvOpControlBarrier, SpvOpControlBarrier },
		{ SpvOpMemoryNamedBarrier, SpvOpMemoryNamedBarrier },
		{ SpvOpGroupAsyncCopy, SpvOpGroupSMax },
		{ SpvOpGroupNonUniformElect, SpvOpGroupNonUniformQuadSwap },
		{ SpvOpSubgroupBallotKHR, SpvOpSubgroupReadInvocationKHR }, /* including GroupNonUniformRotateKHR */
		{ 4457, 4460 },                                             /* CooperativeMatrix...KHR */
		{ SpvOpGroupNonUniformPartitionNV, SpvOpGroupNonUniformPartitionNV },
		{ SpvOpSubgroupShuffleINTEL, SpvOpSubgroupImageMediaBlockWriteINTEL },
		{ SpvOpControlBarrierArriveINTEL, SpvOpControlBarrierWaitINTEL },
		{ 6221, 6221 },
		{ 6231, 6237 }, /* SubgroupBlockPrefetch, Subgroup2DBlock..., SubgroupMatrix...INTEL */
		{ SpvOpGroupIMulKHR, SpvOpGroupLogicalXorKHR },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (op >= ranges[i].first && op <= ranges[i].last)
			return true;
	return false;
}

/*
 * Returns true if a function of OpenCL.std has exactly one correct result. Other functions may round (OpenCL C 7.4),
 * and Intel's library rounds differently for one lane than for eight vectorized lanes.
 */
static bool is_exact(uint32_t function)
{
	switch (function) {
	case OpenCLstd_Ceil:
	case OpenCLstd_Copysign:
	case OpenCLstd_Fabs:
	case OpenCLstd_Floor:
	case OpenCLstd_Fma:
	case OpenCLstd_Fmax:
	case OpenCLstd_Fmin:
	case OpenCLstd_Ldexp:
	case OpenCLstd_Rint:
	case OpenCLstd_Round:
	case OpenCLstd_Trunc:
	case OpenCLstd_FClamp:
	case OpenCLstd_FMax_common:
	case OpenCLstd_FMin_common:
	case OpenCLstd_Step:
	case OpenCLstd_Sign:
		return true;
	default:
		return function >= OpenCLstd_SAbs;
	}
}

static bool depends_on_width(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn)
{
	const struct gpubpf_spv_insn *set;
	uint32_t end;

	if (insn->op != SpvOpExtInst)
		return is_group_op(insn->op) && insn->op != SpvOpControlBarrier && insn->op != SpvOpGroupAsyncCopy &&
		       insn->op != SpvOpGroupWaitEvents;
	set = gpubpf_spv_def(m, gpubpf_spv_word(m, insn, 3));
	return set && set->op == SpvOpExtInstImport && strcmp(gpubpf_spv_string(m, set, 2, &end), "OpenCL.std") == 0 &&
	       !is_exact(gpubpf_spv_word(m, insn, 4));
}

/* Propagate the flags of callees to their callers once, over all functions. Returns true if a flag changed. */
static bool propagate_flags(struct calls *c)
{
	const struct gpubpf_spv *m = c->m;
	uint32_t function = 0;
	bool changed = false;

	for (uint32_t i = m->functions; i < m->ninsns; i++) {
		const struct gpubpf_spv_insn *insn = &m->insn[i];
		uint32_t callee, flags = 0;

		if (insn->op == SpvOpFunction)
			function = gpubpf_spv_word(m, insn, 2);
		if (is_group_op(insn->op))
			flags = GPUBPF_KINFO_BARRIER;
		if (depends_on_width(m, insn))
			flags |= DEPENDS_ON_WIDTH;
		callee = insn->op == SpvOpFunctionCall ? gpubpf_spv_word(m, insn, 3) : 0;
		if (callee && callee < m->bound)
			flags |= c->flags[callee];
		changed |= (c->flags[function] | flags) != c->flags[function];
		c->flags[function] |= flags;
	}
	return changed;
}

static int find_flags(struct calls *c, struct gpubpf_pool *pool)
{
	unsigned round = 0;

	c->flags = gpubpf_pool_alloc(pool, c->m->bound, sizeof(*c->flags));
	if (!c->flags)
		return -ENOMEM;
	while (round < MAX_ROUNDS && propagate_flags(c))
		round++;
	for (uint32_t i = 0; round == MAX_ROUNDS && i < c->m->bound; i++)
		c->flags[i] |= GPUBPF_KINFO_BARRIER | DEPENDS_ON_WIDTH;
	return 0;
}

/* -- properties of the whole module -- */

static const char *find_module_reason(const struct gpubpf_spv *m)
{
	for (uint32_t i = 0; i < m->functions; i++) {
		const struct gpubpf_spv_insn *insn = &m->insn[i];

		if (insn->op == SpvOpMemoryModel && (gpubpf_spv_word(m, insn, 1) != SpvAddressingModelPhysical64 ||
						     gpubpf_spv_word(m, insn, 2) != SpvMemoryModelOpenCL))
			return "its module is not for 64-bit OpenCL devices";
	}
	return "";
}

/* Returns true if the instruction decorates a built-in variable of sub-groups, or arithmetic with reduced precision. */
static bool module_depends_on_width(const struct gpubpf_spv_insn *insn, uint32_t decoration, uint32_t value)
{
	if (insn->op != SpvOpDecorate)
		return false;
	if (decoration == SpvDecorationBuiltIn)
		return value >= SpvBuiltInSubgroupSize && value <= SpvBuiltInSubgroupLocalInvocationId;
	return decoration == SpvDecorationFPFastMathMode &&
	       value & (SpvFPFastMathModeAllowRecipMask | SpvFPFastMathModeFastMask);
}

/*
 * Returns true for a variable in global memory that kernels may write. Compilers put tables of switches there, with the
 * decoration Constant (SPIR-V section 3.20): "a global variable is constant and never modified". A twin's copy of such a
 * table has the same values.
 */
static bool is_writable_global(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn)
{
	uint32_t id = gpubpf_spv_word(m, insn, 2);

	return insn->op == SpvOpVariable && gpubpf_spv_word(m, insn, 3) == SpvStorageClassCrossWorkgroup &&
	       !m->built_in[id] && !m->constant[id];
}

static uint32_t get_module_flags(const struct gpubpf_spv *m)
{
	uint32_t flags = 0;

	for (uint32_t i = 0; i < m->functions; i++) {
		const struct gpubpf_spv_insn *insn = &m->insn[i];
		uint32_t storage = gpubpf_spv_word(m, insn, 3);

		if (insn->op == SpvOpVariable && storage == SpvStorageClassWorkgroup)
			flags |= GPUBPF_KINFO_LOCAL;
		if (is_writable_global(m, insn))
			flags |= GPUBPF_KINFO_GLOBALS;
		if (module_depends_on_width(insn, gpubpf_spv_word(m, insn, 2), storage))
			flags |= DEPENDS_ON_WIDTH;
	}
	return flags;
}

/* -- parameters -- */

static void name_scalar(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *t, char *buf, size_t size)
{
	static const char *const ints[] = { "uchar", "ushort", "uint", "ulong" };
	static const char *const floats[] = { "?", "half", "float", "double" };
	uint32_t bits = gpubpf_spv_word(m, t, 2);
	unsigned i = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;

	snprintf(buf, size, "%s", t->op == SpvOpTypeInt ? ints[i] : floats[i]);
}

/* Write the OpenCL C name of a type to buf. SPIR-V modules lack some names, so all structs are "struct". */
static void name_type(const struct gpubpf_spv *m, uint32_t type, unsigned depth, char *buf, size_t size)
{
	const struct gpubpf_spv_insn *t = gpubpf_spv_def(m, type);
	char inner[96];

	snprintf(buf, size, "%s", "void");
	if (!t || depth > 4)
		return;
	switch (t->op) {
	case SpvOpTypeInt:
	case SpvOpTypeFloat:
		name_scalar(m, t, buf, size);
		return;
	case SpvOpTypeVector:
		name_type(m, gpubpf_spv_word(m, t, 2), depth + 1, inner, sizeof(inner));
		snprintf(buf, size, "%s%u", inner, gpubpf_spv_word(m, t, 3));
		return;
	case SpvOpTypePointer:
		name_type(m, gpubpf_spv_word(m, t, 3), depth + 1, inner, sizeof(inner));
		snprintf(buf, size, "%s *", inner);
		return;
	case SpvOpTypeStruct:
		snprintf(buf, size, "struct");
		return;
	case SpvOpTypeImage:
		snprintf(buf, size, "image");
		return;
	case SpvOpTypeSampler:
		snprintf(buf, size, "sampler_t");
		return;
	default:
		return;
	}
}

/*
 * Returns the kind of a pointer parameter. If by_value is true, the parameter passes the pointee by value; this is the
 * only use of private pointers in kernels.
 */
static enum gpubpf_param_kind get_pointer_kind(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *t, bool by_value)
{
	switch (gpubpf_spv_word(m, t, 2)) {
	case SpvStorageClassWorkgroup:
		return GPUBPF_PARAM_LOCAL;
	case SpvStorageClassFunction:
		return by_value ? GPUBPF_PARAM_BYTES : GPUBPF_PARAM_POINTER;
	default:
		return GPUBPF_PARAM_POINTER;
	}
}

static enum gpubpf_param_kind get_kind(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *t, bool by_value)
{
	switch (t->op) {
	case SpvOpTypeInt:
	case SpvOpTypeBool: /* not possible in kernels */
		return GPUBPF_PARAM_INT;
	case SpvOpTypeFloat:
		return GPUBPF_PARAM_FLOAT;
	case SpvOpTypePointer:
		return get_pointer_kind(m, t, by_value);
	case SpvOpTypeVector:
	case SpvOpTypeArray:
	case SpvOpTypeStruct:
		return GPUBPF_PARAM_BYTES;
	default:
		return GPUBPF_PARAM_OPAQUE;
	}
}

static const char *name_of(const struct gpubpf_spv *m, uint32_t id)
{
	uint32_t end;

	return m->name[id] ? gpubpf_spv_string(m, &m->insn[m->name[id] - 1], 2, &end) : "";
}

static bool read_param(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *param, bool kernel, struct gpubpf_param *p)
{
	uint32_t type = gpubpf_spv_word(m, param, 1);
	const struct gpubpf_spv_insn *t = gpubpf_spv_def(m, type);

	if (!t)
		return false;
	p->kind = get_kind(m, t, kernel || m->by_value[gpubpf_spv_word(m, param, 2)]);
	name_type(m, type, 0, p->type, sizeof(p->type));
	snprintf(p->name, sizeof(p->name), "%s", name_of(m, gpubpf_spv_word(m, param, 2)));
	if (p->kind == GPUBPF_PARAM_OPAQUE)
		return true;
	if (t->op == SpvOpTypeBool) {
		p->size = p->align = 1;
		return true;
	}
	if (p->kind == GPUBPF_PARAM_BYTES && t->op == SpvOpTypePointer)
		type = gpubpf_spv_word(m, t, 3);
	return gpubpf_spv_layout(m, type, &p->size, &p->align);
}

/*
 * Read the OpFunctionParameter instructions after the OpFunction (section 2.4, 10). Returns false if their types differ
 * from the function's type.
 */
bool gpubpf_spv_params(const struct gpubpf_spv *m, struct gpubpf_pool *pool, struct gpubpf_spv_kernel *k)
{
	const struct gpubpf_spv_insn *function = gpubpf_spv_def(m, k->function), *type;
	uint32_t n = 0, bytes = 0;

	if (!function || function->op != SpvOpFunction)
		return false;
	type = gpubpf_spv_def(m, gpubpf_spv_word(m, function, 4));
	if (!type || type->op != SpvOpTypeFunction || type->n < 3)
		return false;
	n = type->n - 3;
	if (n > MAX_PARAMS)
		return false;
	k->first_param = m->def[k->function];
	k->info.params = gpubpf_pool_alloc(pool, n, sizeof(*k->info.params));
	k->param_type = gpubpf_pool_alloc(pool, n, sizeof(*k->param_type));
	if (!k->info.params || !k->param_type || n > m->ninsns - k->first_param)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct gpubpf_spv_insn *param = &m->insn[k->first_param + i];
		struct gpubpf_param *p = &k->info.params[i];

		k->param_type[i] = gpubpf_spv_word(m, param, 1);
		if (param->op != SpvOpFunctionParameter || k->param_type[i] != gpubpf_spv_word(m, type, 3 + i) ||
		    !read_param(m, param, !(k->info.flags & GPUBPF_KINFO_FUNCTION), p) ||
		    bytes > UINT32_MAX / 2 - p->size - 16)
			return false;
		p->bytes_off = p->size ? bytes : UINT32_MAX;
		bytes += (p->size + 15) & ~15u;
	}
	k->info.nparams = n;
	return true;
}

/* -- kernels of a module -- */

struct module {
	const struct gpubpf_spv *m;
	struct calls calls;
	const char *reason;
	uint32_t flags;
};

/*
 * Returns true if the kernel's function can become the twin: it returns void, has a body, and belongs to only this
 * entry point.
 */
static bool has_body(const struct gpubpf_spv *m, const struct gpubpf_spv_kernel *k)
{
	const struct gpubpf_spv_insn *function = gpubpf_spv_def(m, k->function);
	const struct gpubpf_spv_insn *result = function ? gpubpf_spv_def(m, gpubpf_spv_word(m, function, 1)) : NULL;
	uint32_t i = function ? m->def[k->function] : 0;

	if (!result || function->op != SpvOpFunction || result->op != SpvOpTypeVoid)
		return false;
	for (uint32_t e = 0; e < k->entry; e++)
		if (m->insn[e].op == SpvOpEntryPoint && gpubpf_spv_word(m, &m->insn[e], 2) == k->function)
			return false;
	while (i < m->ninsns && m->insn[i].op != SpvOpLabel && m->insn[i].op != SpvOpFunctionEnd)
		i++;
	return i < m->ninsns && m->insn[i].op == SpvOpLabel;
}

/* Returns true if the module already has a function with the twin's name as its Linkage name. */
static bool name_is_taken(const struct gpubpf_spv *m, const char *kernel)
{
	uint32_t end;

	for (uint32_t i = 0; i < m->functions; i++) {
		const struct gpubpf_spv_insn *insn = &m->insn[i];
		const char *name = insn->op == SpvOpDecorate &&
						   gpubpf_spv_word(m, insn, 2) == SpvDecorationLinkageAttributes ?
					   gpubpf_spv_string(m, insn, 3, &end) :
					   "";

		if (!strncmp(name, GPUBPF_TWIN_PREFIX, strlen(GPUBPF_TWIN_PREFIX)) &&
		    !strcmp(name + strlen(GPUBPF_TWIN_PREFIX), kernel))
			return true;
	}
	return false;
}

static bool has_local(const struct gpubpf_kernel_info *info)
{
	for (uint32_t i = 0; i < info->nparams; i++)
		if (info->params[i].kind == GPUBPF_PARAM_LOCAL)
			return true;
	return info->flags & GPUBPF_KINFO_LOCAL;
}

static bool find_vec_type_hint(const struct gpubpf_spv *m, uint32_t function)
{
	for (uint32_t i = 0; i < m->functions; i++)
		if (m->insn[i].op == SpvOpExecutionMode && gpubpf_spv_word(m, &m->insn[i], 1) == function &&
		    gpubpf_spv_word(m, &m->insn[i], 2) == SpvExecutionModeVecTypeHint)
			return true;
	return false;
}

/*
 * List the places at the kernel's entry and exit. The exit is the single basic block to which all returns will branch.
 * The entry gets the first source line. The exit gets the source line of the last return. The line of an OpLine is
 * valid up to the end of its basic block.
 */
static void read_places(const struct gpubpf_spv *m, struct gpubpf_pool *pool, struct gpubpf_spv_kernel *k)
{
	uint32_t line = 0, first = 0, last = 0;

	for (uint32_t i = m->def[k->function]; i < m->ninsns && m->insn[i].op != SpvOpFunctionEnd; i++) {
		if (m->insn[i].op == SpvOpLine)
			line = gpubpf_spv_word(m, &m->insn[i], 2);
		else if (m->insn[i].op == SpvOpNoLine || m->insn[i].op == SpvOpLabel)
			line = 0;
		first = first ? first : line;
		last = m->insn[i].op == SpvOpReturn ? line : last;
	}
	k->info.places = gpubpf_pool_alloc(pool, 4, sizeof(*k->info.places));
	if (!k->info.places)
		return;
	k->info.places[k->info.nplaces++] = gpubpf_place_of(GPUBPF_SITE_ENTRY, 0, first);
	k->info.places[k->info.nplaces++] = gpubpf_place_of(GPUBPF_SITE_EXIT, 0, last);
	k->info.places[k->info.nplaces++] = gpubpf_place_of(GPUBPF_SITE_BLOCK_BEGIN, 0, first);
	k->info.places[k->info.nplaces++] = gpubpf_place_of(GPUBPF_SITE_BLOCK_END, 0, last);
}

static void read_kernel(const struct module *module, struct gpubpf_pool *pool, struct gpubpf_spv_kernel *k)
{
	const struct gpubpf_spv *m = module->m;
	const struct gpubpf_spv_insn *entry = &m->insn[k->entry];
	struct gpubpf_kernel_info *info = &k->info;
	const char *why = module->reason, *name;
	uint32_t end;

	k->function = gpubpf_spv_word(m, entry, 2);
	name = gpubpf_spv_string(m, entry, 3, &end);
	gpubpf_name_short(name, strlen(name), info->name);
	info->flags = module->flags | (k->function < m->bound ? module->calls.flags[k->function] : 0);
	if (!gpubpf_spv_params(m, pool, k)) {
		info->nparams = 0;
		why = "its parameters cannot be read";
	}
	if (!name[0])
		why = "its entry point has no name";
	if (name_is_taken(m, info->name))
		why = "its module already has a function with the name of its twin, " GPUBPF_TWIN_PREFIX
		      " and the kernel's name";
	k->has_local_memory = has_local(info);
	k->has_vec_type_hint = find_vec_type_hint(m, k->function);
	/*
	 * for a kernel with local memory, backends/spirv/spirv/rewrite/splice.c prevents Intel's runtime from
	 * vectorizing, which would change these results
	 */
	if (k->has_local_memory && !k->has_vec_type_hint && info->flags & DEPENDS_ON_WIDTH)
		why = "it uses local memory together with sub-groups or inexact functions, so a probe would change "
		      "its results";
	info->flags &= ~DEPENDS_ON_WIDTH;
	if (info->flags & GPUBPF_KINFO_GLOBALS)
		why = "its program has writable program-scope variables, which a twin would not share";
	if (!has_body(m, k))
		why = "its function has no body, returns a value, or belongs to several entry points";
	else
		read_places(m, pool, k);
	snprintf(info->reason, sizeof(info->reason), "%s", why);
}

int gpubpf_spv_kernels(const struct gpubpf_spv *m, struct gpubpf_pool *pool, struct gpubpf_spv_kernel **kernels,
		       uint32_t *nkernels)
{
	struct module module = { m, { .m = m }, find_module_reason(m), get_module_flags(m) };
	struct gpubpf_spv_kernel *list;
	uint32_t n = 0;
	int err;

	for (uint32_t i = 0; i < m->functions; i++)
		n += m->insn[i].op == SpvOpEntryPoint && gpubpf_spv_word(m, &m->insn[i], 1) == SpvExecutionModelKernel;
	list = gpubpf_pool_alloc(pool, n, sizeof(*list));
	err = list ? find_flags(&module.calls, pool) : -ENOMEM;
	if (err < 0)
		return err;
	n = 0;
	for (uint32_t i = 0; i < m->functions; i++) {
		if (m->insn[i].op != SpvOpEntryPoint || gpubpf_spv_word(m, &m->insn[i], 1) != SpvExecutionModelKernel)
			continue;
		list[n].entry = i;
		read_kernel(&module, pool, &list[n++]);
	}
	*kernels = list;
	*nkernels = n;
	return 0;
}
