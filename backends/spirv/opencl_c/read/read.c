/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over a source: its macros, included files and definitions. */
#include "read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dialect.h"
#include "definitions.h"
#include "backends/spirv/opencl_c/event/range.h"
#include "core/model/diag.h"

enum { MAX_PASSES = 8 }; /* maximum number of passes over the source; each pass replaces one level of nested macros */

size_t clread_offset_in_main(struct reader *r, CXSourceLocation where, bool *in_main)
{
	unsigned line, column, offset;
	CXFile file;

	clang_getExpansionLocation(where, &file, &line, &column, &offset);
	*in_main = file && clang_File_isEqual(file, r->main);
	return offset;
}

static void add_span(struct reader *r, CXCursor c)
{
	CXSourceRange range = clang_getCursorExtent(c);
	bool first, last;
	size_t start = clread_offset_in_main(r, clang_getRangeStart(range), &first);
	size_t end = clread_offset_in_main(r, clang_getRangeEnd(range), &last);
	struct span *s;

	if (!first || !last)
		return;
	s = clang_getCursorKind(c) == CXCursor_InclusionDirective ? APPEND(r, r->include, r->nincludes) :
								    APPEND(r, r->expansion, r->nexpansions);
	if (s)
		*s = (struct span){ start, end, clang_getRangeStart(range), c, end };
}

/* Does clang's own OpenCL C header contain this declaration or macro? */
static bool is_of_clang(struct reader *r, CXCursor c)
{
	unsigned line, column, offset;
	CXFile file;

	clang_getExpansionLocation(clang_getCursorLocation(c), &file, &line, &column, &offset);
	return strstr(file ? clread_text(r, clang_getFileName(file)) : "", "/opencl-c");
}

/*
 * Record a macro that the application defines. Macros of clang's headers and clang's predefined macros are ignored,
 * because the vendor's compiler has its own versions.
 */
static void add_macro(struct reader *r, CXCursor c)
{
	CXCursor *definition;
	const char **name;

	if (clang_Cursor_isMacroBuiltin(c) || is_of_clang(r, c))
		return;
	name = APPEND(r, r->unit->macro, r->unit->nmacros);
	definition = APPEND(r, r->definition, r->ndefinitions);
	if (!name || !definition)
		return;
	*name = clread_text(r, clang_getCursorSpelling(c));
	*definition = c;
}

/*
 * Find the offset at which a wrapper can be inserted: directly after the definition, outside of macro expansions. If a
 * header contains the definition, it is the offset after the #include of that header.
 */
bool clread_find_place(struct reader *r, CXCursor c, size_t *at)
{
	CXSourceLocation where = clang_getCursorLocation(c);
	const char *newline;
	bool in_main;

	clread_offset_in_main(r, where, &in_main);
	if (in_main) {
		*at = clread_offset_in_main(r, clang_getRangeEnd(clang_getCursorExtent(c)), &in_main);
		for (uint32_t i = 0; i < r->nexpansions; i++)
			if (r->expansion[i].start <= *at && *at < r->expansion[i].arguments_end)
				*at = r->expansion[i].arguments_end;
		return in_main && *at <= r->source->size;
	}
	*at = 0;
	for (uint32_t i = 0; i < r->nincludes; i++)
		if (clang_isBeforeInTranslationUnit(r->include[i].where, where))
			*at = r->include[i].end;
	newline = *at ? memchr(r->source->text + *at, '\n', r->source->size - *at) : NULL;
	if (newline)
		*at = newline + 1 - r->source->text;
	return newline != NULL;
}

void clread_line(struct reader *r, size_t at, uint32_t *line, uint32_t *column)
{
	CXSourceLocation where = clang_getLocationForOffset(r->tu, r->main, at);
	CXString name;

	clang_getPresumedLocation(where, &name, line, column);
	clang_disposeString(name);
}

bool clread_in_expansion(const struct reader *r, size_t at)
{
	for (uint32_t i = 0; i < r->nexpansions; i++)
		if (r->expansion[i].start <= at && at < r->expansion[i].arguments_end)
			return true;
	return false;
}

static enum CXChildVisitResult visit_top(CXCursor c, CXCursor parent, CXClientData data)
{
	struct reader *r = data;

	switch (clang_getCursorKind(c)) {
	case CXCursor_InclusionDirective:
	case CXCursor_MacroExpansion:
		add_span(r, c);
		break;
	case CXCursor_MacroDefinition:
		add_macro(r, c);
		break;
	case CXCursor_VarDecl:
		clread_variable(r, c);
		clread_note_generated_strings(r, c);
		break;
	case CXCursor_FunctionDecl:
		if (!clang_isCursorDefinition(c)) {
			if (r->source->places && !is_of_clang(r, c))
				clread_function_index(r, c);
			break;
		}
		clread_find_arguments_end(r); /* clang visits all macros before the first function */
		clread_function(r, c);
		clread_add_kernel(r, c);
		break;
	default:
		break;
	}
	return r->failed ? CXChildVisit_Break : CXChildVisit_Continue;
}

static bool is_newer(const struct reader *r, const char *name)
{
	struct stat st;

	return r->source->built_ns && stat(name, &st) == 0 &&
	       st.st_ctim.tv_sec * 1000000000ull + st.st_ctim.tv_nsec > r->source->built_ns;
}

/*
 * Add the contents of an included file to the hash of all included files (FNV-1a). The cache must miss if a header
 * changes.
 */
static void hash_file(CXFile file, CXSourceLocation *stack, unsigned depth, CXClientData data)
{
	struct reader *r = data;
	const char *name = depth ? clread_text(r, clang_File_tryGetRealPathName(file)) : NULL;
	size_t size = 0;
	const char *text = depth ? clang_getFileContents(r->tu, file, &size) : NULL;

	for (size_t i = 0; text && i < size; i++)
		r->unit->includes = (r->unit->includes ^ (uint8_t)text[i]) * 0x100000001b3ull;
	if (name && is_newer(r, name))
		r->newer = name;
}

/* Record the name of an included file that clang found through a relative path. */
static void list_header(CXFile file, CXSourceLocation *stack, unsigned depth, CXClientData data)
{
	struct reader *r = data;
	const char *name = depth ? clread_text(r, clang_getFileName(file)) : "/", **header;

	if (name[0] == '/' || !(header = APPEND(r, r->header, r->nheaders)))
		return;
	*header = name;
}

/*
 * Refuse kernels that have local variables and a body that cannot be repeated. The wrapper must not call such a kernel,
 * because PoCL shares the local variables of a called kernel (backends/spirv/opencl_c/write/write.h).
 */
static void refuse_local_variables(struct reader *r)
{
	static const char text[] = "it declares __local variables, so its twin must contain a copy of its body, which is ";

	for (uint32_t i = 0; i < r->unit->nkernels; i++) {
		struct gpubpf_cl_kernel *k = &r->unit->kernel[i];
		char *why = k->why ? gpubpf_pool_alloc(r->pool, sizeof(text) + strlen(k->why), 1) : NULL;

		if (why && k->info.flags & GPUBPF_KINFO_LOCAL)
			k->no_wrapper = strcat(strcpy(why, text), k->why);
	}
}

/* Returns clang's first error in any file, as "line 12: what", or NULL if there is none. */
static const char *find_error(struct reader *r)
{
	for (unsigned i = 0; i < clang_getNumDiagnostics(r->tu); i++) {
		CXDiagnostic d = clang_getDiagnostic(r->tu, i);
		const char *what = clang_getDiagnosticSeverity(d) >= CXDiagnostic_Error ?
					   clread_text(r, clang_getDiagnosticSpelling(d)) :
					   NULL;
		char *text = what ? gpubpf_pool_alloc(r->pool, strlen(what) + 32, 1) : NULL;
		unsigned line;

		clang_getExpansionLocation(clang_getDiagnosticLocation(d), NULL, &line, NULL, NULL);
		clang_disposeDiagnostic(d);
		if (text)
			sprintf(text, "line %u: %s", line, what);
		if (what)
			return text ? text : what;
	}
	return NULL;
}

/* Returns a file that clang does not find although the application's build found it, or NULL if there is none. */
static const char *find_missing(struct reader *r)
{
	static const char says[] = " file not found";

	for (unsigned i = 0; i < clang_getNumDiagnostics(r->tu); i++) {
		CXDiagnostic d = clang_getDiagnostic(r->tu, i);
		char *text = clread_text(r, clang_getDiagnosticSpelling(d)), *end = strstr(text, says);

		clang_disposeDiagnostic(d);
		if (end && !end[sizeof(says) - 1]) {
			*end = 0;
			return text;
		}
	}
	return NULL;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int read_unit(struct reader *r, const char **expanded, struct gpubpf_diag *diag)
{
	const char *missing;

	clang_visitChildren(clang_getTranslationUnitCursor(r->tu), visit_top, r);
	r->unit->error = find_error(r);
	clang_getInclusions(r->tu, list_header, r);
	clread_propagate_flags(r);
	clread_check_generated_strings(r);
	refuse_local_variables(r);
	if (r->source->places)
		clread_list_functions(r);
	*expanded = r->source->places && !r->failed ? clread_expanded(r) : NULL;
	r->unit->includes = 0xcbf29ce484222325ull;
	clang_getInclusions(r->tu, hash_file, r);
	r->unit->included = clread_included(r);
	if (r->failed || r->pool->failed) {
		gpubpf_diag_set(diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "reading the OpenCL C source");
		return -ENOMEM;
	}
	missing = r->source->dialect && r->source->dialect->differs ? NULL : find_missing(r);
	if (missing)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "%s" GPUBPF_CL_HEADER_MISSING, missing);
	if (r->newer)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "%s, which the program includes, was changed after the build, so the compiled "
				       "text is unknown; "
				       "build the program again",
				       r->newer);
	if (r->unit->nmacros)
		qsort(r->unit->macro, r->unit->nmacros, sizeof(*r->unit->macro), compare_names);
	return 0;
}

static struct CXUnsavedFile *make_unsaved_files(const struct gpubpf_cl_source *source, const char *path,
						struct gpubpf_pool *pool)
{
	struct CXUnsavedFile *files = gpubpf_pool_alloc(pool, source->nheaders + 2, sizeof(*files));
	const char *macros = source->dialect ? source->dialect->macros : "";

	if (!files)
		return NULL;
	files[0] = (struct CXUnsavedFile){ path, source->text, source->size };
	files[1] = (struct CXUnsavedFile){ GPUBPF_CL_MACROS, macros, strlen(macros) };
	for (uint32_t i = 0; i < source->nheaders; i++) {
		const struct gpubpf_header *h = &source->headers[i];
		char *name = gpubpf_pool_alloc(pool, strlen(h->name) + sizeof(GPUBPF_CL_FOLDER) + 2, 1);

		if (!name)
			return NULL;
		sprintf(name, "%s/%s", GPUBPF_CL_FOLDER, h->name);
		files[i + 2] = (struct CXUnsavedFile){ name, h->data, h->size };
	}
	return files;
}

/* Read the source once. Stores in *expanded the source for another pass, or NULL if no further pass is needed. */
static int read_once(const struct gpubpf_cl_source *source, const struct gpubpf_device_caps *caps,
		     struct gpubpf_pool *pool, struct gpubpf_cl_unit *unit, const char **expanded,
		     struct gpubpf_diag *diag)
{
	struct reader r = { .pool = pool, .unit = unit, .source = source };
	const char *cwd = source->cwd && source->cwd[0] ? source->cwd : GPUBPF_CL_FOLDER;
	struct CXUnsavedFile *files;
	struct gpubpf_cl_args args;
	CXIndex index;
	char *path;
	int err;

	memset(unit, 0, sizeof(*unit));
	path = gpubpf_pool_alloc(pool, strlen(cwd) + 32, 1);
	if (!path || gpubpf_cl_make_args(source, caps, pool, &args) < 0)
		return -ENOMEM;
	sprintf(path, "%s/gpubpf-source.cl", cwd);
	files = make_unsaved_files(source, path, pool);
	if (!files)
		return -ENOMEM;
	index = clang_createIndex(0, 0);
	err = clang_parseTranslationUnit2(index, path, args.arg, args.n, files, source->nheaders + 2,
					  CXTranslationUnit_DetailedPreprocessingRecord | CXTranslationUnit_KeepGoing,
					  &r.tu);
	if (err != CXError_Success) {
		err = gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				      "clang 22 could not read the OpenCL C source (libclang error %d)", err);
	} else {
		r.main = clang_getFile(r.tu, path);
		err = read_unit(&r, expanded, diag);
		clang_disposeTranslationUnit(r.tu);
	}
	clang_disposeIndex(index);
	return err;
}

int gpubpf_cl_read(struct gpubpf_cl_source *source, const struct gpubpf_device_caps *caps, struct gpubpf_pool *pool,
		   struct gpubpf_cl_unit *unit, struct gpubpf_diag *diag)
{
	char *text = gpubpf_pool_strndup(pool, source->text, source->size);
	int passes = 0, err;
	const char *expanded = NULL;

	if (!text)
		return -ENOMEM;
	clread_blank_splices(text);
	source->text = text;
	while (!(err = read_once(source, caps, pool, unit, &expanded, diag)) && expanded && passes++ < MAX_PASSES) {
		source->text = expanded;
		source->size = strlen(expanded);
	}
	return err;
}
