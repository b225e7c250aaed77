/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"

#include <spirv/unified1/OpenCL.std.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/places.h"

#define MAX_STEPS 64 /* maximum number of instructions that derive one pointer from another */

/* rules for the size of an access; HOW_X is the macro X(n) of isa.def */
enum size_rule { HOW_NONE, HOW_TYPE, HOW_OF, HOW_AT, HOW_SIZED, HOW_MANY, HOW_HALVES, HOW_HALVES_OF, HOW_INTS };

struct row {
	const char *name;              /* name of a called function; NULL in rows of instructions */
	uint32_t first, last;          /* range of opcodes */
	enum gpubpf_mem_access access; /* 0: no access */
	uint8_t pointer;
	uint16_t bytes;            /* enum size_rule << 8 | index of the instruction word that the rule uses */
	int value, index, operand; /* indices of instruction words, or NONE, HIDDEN or ONE */
	enum gpubpf_rmw rmw;
	bool aligned, group;
	uint32_t spaces; /* memory spaces (GPUBPF_IN), if the access cannot be described exactly */
	const char *unseen;
};

#define NONE 0
#define HIDDEN (-1)
#define ONE (-1)
#define TYPE(n) (HOW_TYPE << 8 | (n))
#define OF(n) (HOW_OF << 8 | (n))
#define AT(n) (HOW_AT << 8 | (n))
#define SIZED(n) (HOW_SIZED << 8 | (n))
#define MANY(n) (HOW_MANY << 8 | (n))
#define HALVES(n) (HOW_HALVES << 8 | (n))
#define HALVES_OF(n) (HOW_HALVES_OF << 8 | (n))
#define INTS(n) (HOW_INTS << 8 | (n))
#define ALIGNED(n) n, .aligned = true
#define ROW(op, kind, at, size, what, ...) \
	{ .first = op, .last = op, .access = GPUBPF_##kind, .pointer = at, .bytes = size, .value = what, __VA_ARGS__ },

static const struct row core_rows[] = {
#define SPV_ACCESS(op, access, pointer, bytes, value) ROW(Spv##op, access, pointer, bytes, value)
#define SPV_ATOMIC(op, pointer, bytes, value, what, with) \
	ROW(Spv##op, ATOMIC, pointer, bytes, value, .rmw = GPUBPF_RMW_##what, .operand = with)
#define SPV_GROUP_ACCESS(op, access, pointer, bytes, value) ROW(Spv##op, access, pointer, bytes, value, .group = true)
#define SPV_UNSEEN(from, to, in, why) { .first = Spv##from, .last = Spv##to, .spaces = in, .unseen = why },
#define SPV_NO_ACCESS(from, to) { .first = Spv##from, .last = Spv##to },
#include "isa.def"
};

static const struct row extended_rows[] = {
#define SPV_EXT_ACCESS(op, access, pointer, bytes, value, at) \
	ROW(OpenCLstd_##op, access, pointer, bytes, value, .index = at)
#define SPV_EXT_UNSEEN(from, to, in, why) { .first = OpenCLstd_##from, .last = OpenCLstd_##to, .spaces = in, .unseen = why },
#define SPV_EXT_NO_ACCESS(from, to) { .first = OpenCLstd_##from, .last = OpenCLstd_##to },
#include "isa.def"
};

static const struct row call_rows[] = {
#define SPV_CALL_ATOMIC(function, pointer, bytes, value, what, with) \
	ROW(SpvOpFunctionCall, ATOMIC, pointer, bytes, value, .name = function, .rmw = GPUBPF_RMW_##what, .operand = with)
#include "isa.def"
};

static const struct row unknown_row = { .spaces = GPUBPF_IN_ALL, .unseen = "an unknown instruction" };
static const struct row external_row = { .spaces = GPUBPF_IN_ANY, .unseen = "a call of a function of another module" };
static const struct row initializer_row = { .spaces = GPUBPF_IN(LOCAL), .unseen = "the initializer of a variable" };
static const struct row no_access_row = { 0 };

/* -- lookup of rows -- */

static const struct row *find_row(const struct row *rows, size_t n, uint32_t op)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].first <= op && op <= rows[i].last)
			return &rows[i];
	return &unknown_row;
}

/*
 * Returns the row for an extended instruction. Instructions for debug information (SPV_KHR_non_semantic_info,
 * OpenCL.DebugInfo.100) access no memory.
 */
static const struct row *find_extended(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn)
{
	const struct gpubpf_spv_insn *set = gpubpf_spv_def(m, gpubpf_spv_word(m, insn, 3));
	uint32_t end;
	const char *name = set && set->op == SpvOpExtInstImport ? gpubpf_spv_string(m, set, 2, &end) : "";

	if (!strcmp(name, "OpenCL.std"))
		return find_row(extended_rows, sizeof(extended_rows) / sizeof(*extended_rows),
				gpubpf_spv_word(m, insn, 4));
	if (!strncmp(name, "NonSemantic.", 12) || !strcmp(name, "OpenCL.DebugInfo.100") || !strcmp(name, "SPIRV.debug"))
		return &no_access_row;
	return &unknown_row;
}

static bool has_body(const struct gpubpf_spv *m, uint32_t function)
{
	uint32_t i = function < m->bound ? m->def[function] : 0;

	while (i < m->ninsns && m->insn[i].op != SpvOpLabel && m->insn[i].op != SpvOpFunctionEnd)
		i++;
	return i < m->ninsns && m->insn[i].op == SpvOpLabel;
}

const char *gpubpf_spv_linked_name(const struct gpubpf_spv *m, uint32_t id)
{
	uint32_t end;

	for (uint32_t i = 0; i < m->functions; i++)
		if (m->insn[i].op == SpvOpDecorate && gpubpf_spv_word(m, &m->insn[i], 1) == id &&
		    gpubpf_spv_word(m, &m->insn[i], 2) == SpvDecorationLinkageAttributes)
			return gpubpf_spv_string(m, &m->insn[i], 3, &end);
	return "";
}

/*
 * Returns the row for a call of the function. The function's name is mangled. It has "_Z", the length of the plain
 * name, the plain name, and the parameter types, as in "_Z10atomic_incPU3AS1Vi".
 */
static const struct row *find_call(const struct gpubpf_spv *m, uint32_t function)
{
	const char *name;
	char *begin;
	size_t n;

	if (has_body(m, function))
		return &no_access_row;
	name = gpubpf_spv_linked_name(m, function);
	if (strncmp(name, "_Z", 2))
		return &external_row;
	n = strtoul(name + 2, &begin, 10);
	for (size_t i = 0; i < sizeof(call_rows) / sizeof(*call_rows); i++)
		if (strlen(call_rows[i].name) == n && !strncmp(begin, call_rows[i].name, n))
			return &call_rows[i];
	return &external_row;
}

static const struct row *match_row(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn)
{
	switch (insn->op) {
	case SpvOpExtInst:
		return find_extended(m, insn);
	case SpvOpFunctionCall:
		return find_call(m, gpubpf_spv_word(m, insn, 3));
	case SpvOpVariable:
		return insn->n > 4 ? &initializer_row : &no_access_row;
	default:
		return find_row(core_rows, sizeof(core_rows) / sizeof(*core_rows), insn->op);
	}
}

/* -- types -- */

static uint32_t pointee(const struct gpubpf_spv *m, uint32_t pointer)
{
	const struct gpubpf_spv_insn *t = gpubpf_spv_def(m, gpubpf_spv_type_of(m, pointer));

	return t && t->op == SpvOpTypePointer ? gpubpf_spv_word(m, t, 3) : 0;
}

static uint32_t count_elements(const struct gpubpf_spv *m, uint32_t type)
{
	const struct gpubpf_spv_insn *t = gpubpf_spv_def(m, type);

	return t && t->op == SpvOpTypeVector ? gpubpf_spv_word(m, t, 3) : 1;
}

/*
 * Set the access's number of elements and size in bytes from its type. A vector of three elements counts as three
 * elements, without the padding to four. Returns false if the size is unknown.
 */
static bool size_of(const struct gpubpf_spv *m, uint32_t type, struct spv_access *a)
{
	const struct gpubpf_spv_insn *t = gpubpf_spv_def(m, type);
	uint32_t align;

	a->count = count_elements(m, type);
	return gpubpf_spv_layout(m, t && t->op == SpvOpTypeVector ? gpubpf_spv_word(m, t, 2) : type, &a->bytes, &align) &&
	       !__builtin_mul_overflow(a->bytes, a->count, &a->bytes);
}

/*
 * Returns true if the type is an image, sampler, event or another opaque type. A load of such an object is no access to
 * memory.
 */
static bool is_opaque(const struct gpubpf_spv *m, uint32_t type)
{
	const struct gpubpf_spv_insn *t = gpubpf_spv_def(m, type);

	return t && ((t->op >= SpvOpTypeImage && t->op <= SpvOpTypeSampledImage) || t->op == SpvOpTypeOpaque ||
		     (t->op >= SpvOpTypeEvent && t->op <= SpvOpTypePipe) || t->op == SpvOpTypePipeStorage ||
		     t->op == SpvOpTypeNamedBarrier ||
		     (t->op >= SpvOpTypeVmeImageINTEL && t->op <= SpvOpTypeAvcSicResultINTEL));
}

/* -- pointers -- */

/* Returns the id of the pointer from which this pointer was derived, or 0 if unknown. */
static uint32_t find_pointer_origin(const struct gpubpf_spv *m, uint32_t pointer)
{
	const struct gpubpf_spv_insn *def = gpubpf_spv_def(m, pointer);

	switch (def ? def->op : 0) {
	case SpvOpAccessChain:
	case SpvOpInBoundsAccessChain:
	case SpvOpPtrAccessChain:
	case SpvOpInBoundsPtrAccessChain:
	case SpvOpBitcast:
	case SpvOpCopyObject:
	case SpvOpPtrCastToGeneric:
		return gpubpf_spv_word(m, def, 3);
	default:
		return 0;
	}
}

static uint32_t get_class(const struct gpubpf_spv *m, uint32_t pointer)
{
	const struct gpubpf_spv_insn *t = gpubpf_spv_def(m, gpubpf_spv_type_of(m, pointer));

	return t && t->op == SpvOpTypePointer ? gpubpf_spv_word(m, t, 2) : UINT32_MAX;
}

/*
 * Returns the memory spaces to which a pointer may point (GPUBPF_IN), or 0 if it does not point to memory. A generic
 * pointer has the spaces of the pointer from which it was derived.
 */
static uint32_t get_spaces(const struct gpubpf_spv *m, uint32_t pointer)
{
	uint32_t at = pointer;

	for (unsigned i = 0; i < MAX_STEPS && at && get_class(m, at) == SpvStorageClassGeneric; i++)
		at = find_pointer_origin(m, at);
	switch (at ? get_class(m, at) : SpvStorageClassGeneric) {
	case SpvStorageClassInput:
	case SpvStorageClassOutput:
		return 0;
	case SpvStorageClassUniformConstant:
		return GPUBPF_IN(CONSTANT);
	case SpvStorageClassCrossWorkgroup:
	case SpvStorageClassDeviceOnlyINTEL:
	case SpvStorageClassHostOnlyINTEL:
		return GPUBPF_IN(GLOBAL);
	case SpvStorageClassWorkgroup:
		return GPUBPF_IN(SHARED);
	case SpvStorageClassFunction:
	case SpvStorageClassPrivate:
		return GPUBPF_IN(LOCAL);
	case SpvStorageClassImage:
		return GPUBPF_IN_TEXTURE;
	case SpvStorageClassGeneric:
		return GPUBPF_IN(GLOBAL) | GPUBPF_IN(SHARED) | GPUBPF_IN(LOCAL);
	default:
		return GPUBPF_IN_ANY;
	}
}

/*
 * Returns true if the pointer leads to a built-in variable, which work-item functions such as get_global_id() read.
 * These variables are not memory, although some translators place them in constant or global memory.
 */
static bool is_built_in(const struct gpubpf_spv *m, uint32_t pointer)
{
	uint32_t base = pointer, next;

	for (unsigned i = 0; i < MAX_STEPS && (next = find_pointer_origin(m, base)); i++)
		base = next;
	return base < m->bound && m->built_in[base];
}

bool gpubpf_spv_is_memory(const struct gpubpf_spv *m, uint32_t pointer)
{
	return get_spaces(m, pointer) && !is_opaque(m, pointee(m, pointer)) && !is_built_in(m, pointer);
}

/* -- accesses -- */

static bool read_bytes(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn, const struct row *row,
		       struct spv_access *a, uint32_t *type)
{
	uint32_t word = gpubpf_spv_word(m, insn, row->bytes & 0xff);

	a->count = 1;
	*type = 0;
	switch ((enum size_rule)(row->bytes >> 8)) {
	case HOW_NONE:
		return false;
	case HOW_SIZED:
		a->bytes = 1;
		a->times = word;
		return true;
	case HOW_HALVES:
	case HOW_HALVES_OF:
		a->count = count_elements(m, row->bytes >> 8 == HOW_HALVES ? word : gpubpf_spv_type_of(m, word));
		a->bytes = 2 * a->count;
		return true;
	case HOW_INTS:
		a->count = count_elements(m, word);
		a->bytes = 4 * a->count;
		return true;
	case HOW_MANY:
		a->times = word;
		*type = pointee(m, a->pointer);
		break;
	case HOW_TYPE:
		*type = word;
		break;
	case HOW_OF:
		*type = gpubpf_spv_type_of(m, word);
		break;
	case HOW_AT:
		*type = pointee(m, word);
		break;
	}
	return size_of(m, *type, a);
}

static uint32_t get_stride(const struct row *row, const struct spv_access *a)
{
	return row->aligned && a->count == 3 ? a->bytes / 3 * 4 : a->bytes;
}

/*
 * Describe in *a the access that the row states for the instruction. Returns false if the instruction accesses no
 * memory.
 */
static bool read_access(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn, const struct row *row,
			struct spv_access *a)
{
	uint32_t type;

	*a = (struct spv_access){ .access = row->access, .group = row->group, .spaces = row->spaces, .unseen = row->unseen };
	if (a->unseen || !row->access)
		return a->unseen;
	a->pointer = gpubpf_spv_word(m, insn, row->pointer);
	a->spaces = get_spaces(m, a->pointer);
	if (!read_bytes(m, insn, row, a, &type))
		a->unseen = "memory of a type with unknown size";
	if (!a->spaces || is_opaque(m, type) || is_built_in(m, a->pointer))
		return false;
	if (a->spaces & GPUBPF_IN_TEXTURE)
		a->unseen = "an image";
	a->hidden = row->value == HIDDEN;
	a->value = row->value > 0 ? gpubpf_spv_word(m, insn, row->value) : 0;
	a->rmw = row->rmw;
	a->operand_is_one = row->operand == ONE;
	a->operand = row->operand > 0 ? gpubpf_spv_word(m, insn, row->operand) : 0;
	a->old = row->rmw ? gpubpf_spv_word(m, insn, 2) : 0;
	a->index = row->index ? gpubpf_spv_word(m, insn, row->index) : 0;
	a->stride = get_stride(row, a);
	return true;
}

uint32_t gpubpf_spv_accesses(const struct gpubpf_spv *m, uint32_t i, struct spv_access out[SPV_MAX_ACCESSES])
{
	const struct gpubpf_spv_insn *insn = &m->insn[i];
	const struct row *row = match_row(m, insn), *next = row;
	uint32_t n = 0;

	do
		n += read_access(m, insn, next++, &out[n]);
	while (row->access && !row->name && insn->op != SpvOpExtInst &&
	       next < core_rows + sizeof(core_rows) / sizeof(*core_rows) && next->first == row->first &&
	       n < SPV_MAX_ACCESSES);
	return n;
}

/* -- barriers -- */

static const struct {
	uint16_t op, scope;
	const char *unseen;
} barrier_rows[] = {
#define SPV_BARRIER(op, scope) { Spv##op, scope, NULL },
#define SPV_BARRIER_UNSEEN(op, why) { Spv##op, 0, why },
#include "isa.def"
};

/*
 * Returns the kind of a barrier of this scope (section 3.27), or 0 if the barrier joins no lanes, as with scope
 * Invocation.
 */
static enum gpubpf_barrier_kind get_scope_kind(uint32_t scope)
{
	switch (scope) {
	case SpvScopeCrossDevice:
	case SpvScopeDevice:
		return GPUBPF_BARRIER_GRID;
	case SpvScopeWorkgroup:
		return GPUBPF_BARRIER_BLOCK;
	case SpvScopeSubgroup:
		return GPUBPF_BARRIER_WARP;
	default:
		return 0;
	}
}

bool gpubpf_spv_barrier(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn, enum gpubpf_barrier_kind *kind,
			const char **unseen)
{
	const struct gpubpf_spv_insn *scope;
	size_t i = 0;

	while (i < sizeof(barrier_rows) / sizeof(*barrier_rows) && barrier_rows[i].op != insn->op)
		i++;
	if (insn->op == SpvOpFunctionPointerCallINTEL ||
	    (insn->op == SpvOpFunctionCall && find_call(m, gpubpf_spv_word(m, insn, 3)) == &external_row)) {
		*unseen = "barriers in a function of another module";
		return true;
	}
	if (i == sizeof(barrier_rows) / sizeof(*barrier_rows))
		return false;
	scope = gpubpf_spv_def(m, gpubpf_spv_word(m, insn, barrier_rows[i].scope));
	*unseen = barrier_rows[i].unseen;
	*kind = 0;
	if (!*unseen && (!scope || scope->op != SpvOpConstant))
		*unseen = "a barrier whose scope is not constant";
	else if (!*unseen)
		*kind = get_scope_kind(gpubpf_spv_word(m, scope, 3));
	return *unseen || *kind;
}
