/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: finds the properties that a kernel has through the functions that it calls: barriers and work-group functions,
 * local variables, and writable program-scope variables.
 * Before: the walk over the unit has collected the callees of each function.
 * After: each kernel's flags include the flags of all functions that it calls. If a callee is unknown, the flags assume
 * the worse case.
 * Requires: the walk has visited every definition of the unit.
 */
#include <string.h>

#include "definitions.h"

/* Is this a function that all work-items of a work-group must reach (OpenCL C 3.0, 6.15.8 and 6.15.16 to 6.15.18)? */
static bool is_group_function(const char *name)
{
	static const char *const begin[] = { "barrier",          "work_group_",       "sub_group_",
					     "intel_sub_group_", "async_work_group_", "wait_group_events",
					     "intel_work_group_" };

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		if (strncmp(name, begin[i], strlen(begin[i])) == 0)
			return true;
	return strstr(name, "barrier") != NULL;
}

static void add_call(struct reader *r, CXCursor call)
{
	CXCursor callee = clang_getCursorReferenced(call);
	struct function *f = &r->function[r->current];
	uint32_t index, *list;

	if (clang_Cursor_isNull(callee) || clang_getCursorKind(callee) != CXCursor_FunctionDecl ||
	    (clang_Cursor_isNull(clang_getCursorDefinition(callee)) &&
	     is_group_function(clread_text(r, clang_getCursorSpelling(callee))))) {
		f->flags |= GPUBPF_KINFO_BARRIER;
		return;
	}
	if (clang_Cursor_isNull(clang_getCursorDefinition(callee)))
		return;
	index = clread_function_index(r, callee);
	f = &r->function[r->current];
	for (uint32_t i = 0; i < f->ncallees; i++)
		if (f->callee[i] == index)
			return;
	list = gpubpf_pool_alloc(r->pool, f->ncallees + 1, sizeof(*list));
	if (!list || index == UINT32_MAX)
		return;
	if (f->ncallees)
		memcpy(list, f->callee, f->ncallees * sizeof(*list));
	list[f->ncallees++] = index;
	f->callee = list;
}

static CXType element_type(CXCursor c)
{
	CXType type = clang_getCursorType(c);

	while (clang_getArrayElementType(type).kind != CXType_Invalid &&
	       clang_getCanonicalType(type).kind == CXType_ConstantArray)
		type = clang_getArrayElementType(type);
	return type;
}

/* Does the variable keep its value between launches of a GPU kernel? */
static bool is_persistent(CXCursor c)
{
	CXCursor parent = clang_getCursorSemanticParent(c);

	return clang_getCursorKind(parent) == CXCursor_TranslationUnit || clang_Cursor_getStorageClass(c) == CX_SC_Static;
}

/*
 * Set has_globals if the variable is shared by the kernels of a program, and is neither constant nor a sampler. A
 * persistent variable without an address space counts too. clang rejects such a variable, but the device's compiler has
 * accepted it.
 */
void clread_variable(struct reader *r, CXCursor c)
{
	CXType type = element_type(c);
	unsigned space = clang_getAddressSpace(type);

	if (clang_isConstQualifiedType(type) || clang_getCanonicalType(type).kind == CXType_OCLSampler)
		return;
	if (space == CLANG_AS_GLOBAL || (space != CLANG_AS_CONSTANT && space != CLANG_AS_LOCAL && is_persistent(c)))
		r->has_globals = true;
}

static enum CXChildVisitResult visit_body(CXCursor c, CXCursor parent, CXClientData data)
{
	struct reader *r = data;

	if (clang_getCursorKind(c) == CXCursor_CallExpr)
		add_call(r, c);
	clread_note_generated_string(r, c, r->current);
	if (clang_getCursorKind(c) == CXCursor_VarDecl) {
		clread_variable(r, c);
		if (clang_getAddressSpace(element_type(c)) == CLANG_AS_LOCAL)
			r->function[r->current].flags |= GPUBPF_KINFO_LOCAL;
	}
	return r->failed ? CXChildVisit_Break : CXChildVisit_Recurse;
}

void clread_function(struct reader *r, CXCursor c)
{
	uint32_t index = clread_function_index(r, c);

	if (index == UINT32_MAX)
		return;
	r->current = index;
	clang_visitChildren(c, visit_body, r);
	if (r->source->places)
		clread_read_definition(r, c, index);
}

uint32_t clread_note_kernel(struct reader *r, CXCursor c, uint32_t kernel)
{
	uint32_t index = clread_function_index(r, c);

	if (index != UINT32_MAX) {
		r->function[index].kernel = kernel;
		r->function[index].source.kernel = true;
	}
	return index;
}

/*
 * Add the flags of callees to their callers, until nothing changes. If clang reported an error, all kernels get the
 * barrier flag, because a barrier may be in the code that clang did not understand.
 */
void clread_propagate_flags(struct reader *r)
{
	uint32_t all = (r->unit->error ? GPUBPF_KINFO_BARRIER : 0) | (r->has_globals ? GPUBPF_KINFO_GLOBALS : 0);
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < r->nfunctions; i++) {
			struct function *f = &r->function[i];
			uint32_t flags = f->flags;

			for (uint32_t k = 0; k < f->ncallees; k++)
				flags |= r->function[f->callee[k]].flags;
			changed |= flags != f->flags;
			f->flags = flags;
		}
	}
	for (uint32_t i = 0; i < r->nfunctions; i++)
		if (r->function[i].kernel >= 0)
			r->unit->kernel[r->function[i].kernel].info.flags = r->function[i].flags | all;
}

void clread_list_functions(struct reader *r)
{
	r->unit->function = gpubpf_pool_alloc(r->pool, r->nfunctions, sizeof(*r->unit->function));
	for (uint32_t i = 0; r->unit->function && i < r->nfunctions; i++) {
		r->unit->function[i] = r->function[i].source;
		r->unit->function[i].callee = r->function[i].callee;
		r->unit->function[i].ncallees = r->function[i].ncallees;
		r->unit->function[i].local = r->function[i].flags & GPUBPF_KINFO_LOCAL;
		r->unit->nfunctions++;
	}
	for (uint32_t i = 0; i < r->unit->nfunctions; i++)
		for (uint32_t k = 0; k < r->function[i].ncallees; k++)
			r->unit->function[r->function[i].callee[k]].called = true;
}
