/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the definition of a kernel: its declaration, its body, and the reason if it cannot have a twin. */
#include <stdio.h>
#include <string.h>

#include "core/wire/name.h"
#include "definitions.h"

static enum CXChildVisitResult visit_body(CXCursor c, CXCursor parent, CXClientData data)
{
	if (clang_getCursorKind(c) == CXCursor_CompoundStmt)
		*(CXCursor *)data = c;
	return CXChildVisit_Continue;
}

/*
 * List the two places of a kernel, at its entry and its exit. Their lines are the lines of the body's braces. A wrapper
 * calls the sites of these places before and after the body.
 */
static void list_places(struct reader *r, CXSourceRange body, struct gpubpf_kernel_info *info)
{
	uint32_t line, column;
	CXString name;

	info->places = gpubpf_pool_alloc(r->pool, 2, sizeof(*info->places));
	if (!info->places) {
		r->failed = true;
		return;
	}
	clang_getPresumedLocation(clang_getRangeStart(body), &name, &line, &column);
	clang_disposeString(name);
	info->places[info->nplaces++] = gpubpf_place_of(GPUBPF_SITE_ENTRY, 0, line);
	clang_getPresumedLocation(clang_getRangeEnd(body), &name, &line, &column);
	clang_disposeString(name);
	info->places[info->nplaces++] = gpubpf_place_of(GPUBPF_SITE_EXIT, 0, line);
}

/* Find the text of the kernel's body in the compiled source. */
static void find_body(struct reader *r, CXCursor c, struct gpubpf_cl_kernel *k)
{
	struct gpubpf_cl_function f = { .name = k->name };
	CXCursor body = clang_getNullCursor();

	clang_visitChildren(c, visit_body, &body);
	list_places(r, clang_getCursorExtent(body), &k->info);
	k->why = clread_find_body(r, c, false, &f);
	if (k->why)
		return;
	k->body = f.body;
	k->body_end = f.end;
	k->body_line = f.body_line;
	k->body_column = f.body_column;
	k->body_file = f.body_file;
	k->pretty = f.pretty;
}

/*
 * Split the declaration, as clang prints it, at "void name(" and at the closing parenthesis. The text before, with the
 * kernel keyword, goes to k->head. The text after, with the attributes, goes to k->tail. Returns false if the function
 * is not a kernel.
 */
static bool split_declaration(struct reader *r, CXCursor c, struct gpubpf_cl_kernel *k)
{
	CXPrintingPolicy policy = clang_getCursorPrintingPolicy(c);
	char *text, *open, *close, *word;
	int depth = 0;

	clang_PrintingPolicy_setProperty(policy, CXPrintingPolicy_TerseOutput, 1);
	text = clread_text(r, clang_getCursorPrettyPrinted(c, policy));
	clang_PrintingPolicy_dispose(policy);
	word = gpubpf_pool_alloc(r->pool, strlen(k->name) + 8, 1);
	if (!word)
		return false;
	sprintf(word, "void %s(", k->name);
	open = strstr(text, word);
	if (!open)
		return false;
	close = open + strlen(word) - 1;
	do
		depth += (*close == '(') - (*close == ')');
	while (*close++ && depth > 0);
	*open = 0;
	k->head = text;
	k->tail = depth == 0 ? close : "";
	return strstr(text, "kernel") != NULL;
}

/* Returns clang's first error inside a definition, or NULL. */
static const char *find_first_error(struct reader *r, CXCursor c)
{
	CXSourceRange range = clang_getCursorExtent(c);
	bool ok;
	size_t start = clread_offset_in_main(r, clang_getRangeStart(range), &ok);
	size_t end = clread_offset_in_main(r, clang_getRangeEnd(range), &ok);

	for (unsigned i = 0; i < clang_getNumDiagnostics(r->tu); i++) {
		CXDiagnostic d = clang_getDiagnostic(r->tu, i);
		size_t at = clread_offset_in_main(r, clang_getDiagnosticLocation(d), &ok);
		bool hit = ok && clang_getDiagnosticSeverity(d) >= CXDiagnostic_Error && start <= at && at < end;
		const char *text = hit ? clread_text(r, clang_getDiagnosticSpelling(d)) : NULL;

		clang_disposeDiagnostic(d);
		if (text)
			return text;
	}
	return NULL;
}

static void refuse(struct gpubpf_cl_kernel *k, const char *why, const char *what)
{
	if (!k->info.reason[0])
		snprintf(k->info.reason, sizeof(k->info.reason), "%s%s", why, what);
}

static bool is_listed(const struct gpubpf_cl_unit *unit, const char *name)
{
	for (uint32_t i = 0; i < unit->nkernels; i++)
		if (strcmp(unit->kernel[i].name, name) == 0)
			return true;
	return false;
}

void clread_add_kernel(struct reader *r, CXCursor c)
{
	struct gpubpf_cl_kernel k = { .name = clread_text(r, clang_getCursorSpelling(c)) }, *added;

	if (is_listed(r->unit, k.name))
		return;
	gpubpf_name_short(k.name, strlen(k.name), k.info.name);
	if (!split_declaration(r, c, &k))
		return;
	clread_params(r, c, &k);
	k.error = find_first_error(r, c);
	if (clang_isInvalidDeclaration(c))
		refuse(&k, "clang 22 cannot read its declaration: ", k.error ? k.error : "it has errors");
	if (!clread_find_place(r, c, &k.at))
		refuse(&k, "no wrapper can be inserted after its definition", "");
	else
		clread_line(r, k.at, &k.line, &k.column);
	find_body(r, c, &k);
	added = APPEND(r, r->unit->kernel, r->unit->nkernels);
	if (!added)
		return;
	*added = k;
	added->function = clread_note_kernel(r, c, r->unit->nkernels - 1);
}
