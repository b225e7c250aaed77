/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the parameters of kernels and functions: their descriptions for BPF programs, and the types with which a
 * wrapper declares them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "definitions.h"

static enum gpubpf_param_kind get_kind(CXType canonical)
{
	switch (canonical.kind) {
	case CXType_Pointer:
		return clang_getAddressSpace(clang_getPointeeType(canonical)) == CLANG_AS_LOCAL ? GPUBPF_PARAM_LOCAL :
												  GPUBPF_PARAM_POINTER;
	case CXType_Bool:
	case CXType_Char_U:
	case CXType_UChar:
	case CXType_Char_S:
	case CXType_SChar:
	case CXType_UShort:
	case CXType_Short:
	case CXType_UInt:
	case CXType_Int:
	case CXType_ULong:
	case CXType_Long:
	case CXType_ULongLong:
	case CXType_LongLong:
	case CXType_Enum:
		return GPUBPF_PARAM_INT;
	case CXType_Half:
	case CXType_Float16:
	case CXType_BFloat16:
	case CXType_Float:
	case CXType_Double:
		return GPUBPF_PARAM_FLOAT;
	case CXType_Record:
	case CXType_Vector:
	case CXType_ExtVector:
	case CXType_ConstantArray:
		return GPUBPF_PARAM_BYTES;
	default:
		return GPUBPF_PARAM_OPAQUE;
	}
}

/*
 * Remove the parameter's own address space, the last __private, from a type that clang printed. Earlier occurrences of
 * __private belong to pointees.
 */
static char *strip_private(char *text)
{
	static const char word[] = "__private";
	char *last = NULL;

	for (char *at = text; (at = strstr(at, word)); at++)
		last = at;
	if (last)
		memmove(last, last + strlen(word), strlen(last + strlen(word)) + 1);
	while (*text == ' ')
		text++;
	for (size_t n = strlen(text); n && text[n - 1] == ' ';)
		text[--n] = 0;
	return text;
}

static bool is_unnamed(CXType type)
{
	CXCursor declared;
	CXType canonical = clang_getCanonicalType(type);

	while (canonical.kind == CXType_Pointer)
		canonical = clang_getCanonicalType(clang_getPointeeType(canonical));
	declared = clang_getTypeDeclaration(canonical);
	return clang_Cursor_isAnonymous(declared) || clang_Cursor_isAnonymousRecordDecl(declared);
}

/* A wrapper passes a pointer to an unnamed type as a pointer to void in the same address space. */
static const char *get_void_pointer(CXType canonical)
{
	switch (clang_getAddressSpace(clang_getPointeeType(canonical))) {
	case CLANG_AS_GLOBAL:
		return "__global void *";
	case CLANG_AS_LOCAL:
		return "__local void *";
	default:
		return "__constant void *";
	}
}

static const char *make_type_text(struct reader *r, CXType type, CXType canonical, struct gpubpf_cl_kernel *k)
{
	const char *text = strip_private(clread_text(r, clang_getTypeSpelling(type)));

	/* clang prints a type without a name as "(unnamed at FILE:1:2)" */
	if (!strstr(text, " at ") || !is_unnamed(type))
		return text;
	if (canonical.kind == CXType_Pointer)
		return get_void_pointer(canonical);
	if (!k->info.reason[0])
		snprintf(k->info.reason, sizeof(k->info.reason), "%s",
			 "it takes an unnamed struct by value, which a wrapper cannot declare");
	return text;
}

/*
 * Read a parameter that is declared as an array. Returns false for other parameters. In C a parameter int p[4] is a
 * pointer, but libclang reports an array type.
 */
static bool read_array(struct reader *r, CXType type, CXType canonical, struct gpubpf_cl_kernel *k, int i)
{
	struct gpubpf_param *p = &k->info.params[i];

	if (!clread_is_array(canonical))
		return false;
	k->type[i] = k->unqualified[i] = clread_array_pointer(r, type);
	if (!*k->type[i] && !k->info.reason[0])
		snprintf(k->info.reason, sizeof(k->info.reason),
			 "parameter %d is an array whose element type has no name at file scope; add a typedef there",
			 i + 1);
	p->kind = clang_getAddressSpace(type) == CLANG_AS_LOCAL ? GPUBPF_PARAM_LOCAL : GPUBPF_PARAM_POINTER;
	p->size = p->align = sizeof(uint64_t);
	return true;
}

static void read_param(struct reader *r, CXCursor c, struct gpubpf_cl_kernel *k, int i)
{
	struct gpubpf_param *p = &k->info.params[i];
	CXType type = clang_getCursorType(c), canonical = clang_getCanonicalType(type);
	long long size = clang_Type_getSizeOf(type), align = clang_Type_getAlignOf(type);

	if (!read_array(r, type, canonical, k, i)) {
		k->type[i] = make_type_text(r, type, canonical, k);
		k->unqualified[i] = make_type_text(r, clang_getUnqualifiedType(type), canonical, k);
		p->kind = get_kind(canonical);
		p->size = p->kind == GPUBPF_PARAM_OPAQUE || size < 0 ? 0 : size;
		p->align = p->size && align > 0 ? align : 0;
	}
	snprintf(p->name, sizeof(p->name), "%s", clread_text(r, clang_getCursorSpelling(c)));
	snprintf(p->type, sizeof(p->type), "%s", k->type[i]);
}

void clread_params(struct reader *r, CXCursor function, struct gpubpf_cl_kernel *k)
{
	int n = clang_Cursor_getNumArguments(function);
	uint32_t at = 0;

	n = n < 0 ? 0 : n;
	k->info.params = gpubpf_pool_alloc(r->pool, n, sizeof(*k->info.params));
	k->type = gpubpf_pool_alloc(r->pool, n, sizeof(*k->type));
	k->unqualified = gpubpf_pool_alloc(r->pool, n, sizeof(*k->unqualified));
	if (!k->info.params || !k->type || !k->unqualified)
		return;
	k->info.nparams = n;
	for (int i = 0; i < n; i++) {
		struct gpubpf_param *p = &k->info.params[i];

		read_param(r, clang_Cursor_getArgument(function, i), k, i);
		p->bytes_off = p->size ? at : UINT32_MAX;
		at += (p->size + 15) & ~15u;
	}
}

/* Read the type of the function's result. */
static void read_result(struct reader *r, CXCursor function, struct gpubpf_cl_function *f, struct gpubpf_cl_kernel *k)
{
	CXType type = clang_getCursorResultType(function), canonical = clang_getCanonicalType(type);
	long long size = clang_Type_getSizeOf(type);

	if (canonical.kind == CXType_Void)
		return;
	f->result.kind = get_kind(canonical);
	f->result.size = f->result.kind == GPUBPF_PARAM_OPAQUE || size < 0 ? 0 : size;
	f->result_type = clread_type_name(r, type);
	if (!*f->result_type && !k->info.reason[0])
		snprintf(k->info.reason, sizeof(k->info.reason), "its return type has no name at file scope");
}

void clread_signature(struct reader *r, CXCursor function, struct gpubpf_cl_function *f)
{
	struct gpubpf_cl_kernel *k = gpubpf_pool_alloc(r->pool, 1, sizeof(*k));

	if (!k)
		return;
	clread_params(r, function, k);
	read_result(r, function, f, k);
	if (clang_isFunctionTypeVariadic(clang_getCursorType(function)))
		snprintf(k->info.reason, sizeof(k->info.reason), "it takes a variable number of arguments");
	f->signature = k;
}

/* -- __PRETTY_FUNCTION__ -- */

/*
 * Print a parameter's type as clang prints it in __PRETTY_FUNCTION__. There a parameter int p[4] is a pointer, but
 * libclang reports an array type.
 */
static void print_param(struct reader *r, CXCursor c, FILE *out)
{
	CXType type = clang_getCursorType(c);
	const char *text = clread_text(r, clang_getTypeSpelling(type)), *open = strchr(text, '['),
		   *close = open ? strchr(open, ']') : NULL;

	if (!close || !clread_is_array(clang_getCanonicalType(type)))
		fputs(text, out);
	else
		fprintf(out, close[1] ? "%.*s (*__private)%s" : "%.*s *__private%s", (int)(open - text), text, close + 1);
}

const char *clread_pretty(struct reader *r, CXCursor function)
{
	const char *result = clread_text(r, clang_getTypeSpelling(clang_getCursorResultType(function)));
	const char *result_text = NULL;
	int n = clang_Cursor_getNumArguments(function);
	size_t size, end = strlen(result);
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, end && result[end - 1] == '*' ? "%s%s(" : "%s %s(", result,
		clread_text(r, clang_getCursorSpelling(function)));
	for (int i = 0; i < n; i++) {
		fputs(i ? ", " : "", out);
		print_param(r, clang_Cursor_getArgument(function, i), out);
	}
	fputs(n > 0 ? ")" : "void)", out);
	if (fclose(out) == 0 && !strpbrk(text, "\"\\"))
		result_text = gpubpf_pool_strndup(r->pool, text, size);
	free(text);
	return result_text;
}
