/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds string literals that the preprocessor creates, from names such as __DATE__ and __FILE__, or from a macro's
 * arguments with #. Some would differ in a twin. The twin is compiled later, and includes headers by absolute paths. A
 * copied body also defines `return` and __func__ as macros.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "definitions.h"

enum { DATED = 1 << 30, IN_HEADER = 1 << 29 }; /* bits in function.flags that enum gpubpf_kernel_flags does not use */

const char *const clread_copy_macros[] = { "__func__",           "__FUNCTION__", "__PRETTY_FUNCTION__",
					   "__builtin_FUNCTION", "return",       NULL };

static enum CXChildVisitResult visit_literal(CXCursor c, CXCursor parent, CXClientData data)
{
	clread_note_generated_string(data, c, UINT32_MAX);
	return CXChildVisit_Recurse;
}

void clread_note_generated_strings(struct reader *r, CXCursor variable)
{
	clang_visitChildren(variable, visit_literal, r);
}

/*
 * Did the preprocessor create the string literal? Then no file contains it, and clang reports no file for its location.
 */
static bool is_generated(CXCursor literal)
{
	CXFile file;

	clang_getSpellingLocation(clang_getCursorLocation(literal), &file, NULL, NULL, NULL);
	return !file;
}

void clread_note_generated_string(struct reader *r, CXCursor c, uint32_t function)
{
	struct generated_string *made;

	if (clang_getCursorKind(c) != CXCursor_StringLiteral || !is_generated(c) ||
	    !(made = APPEND(r, r->generated, r->ngenerated)))
		return;
	*made = (struct generated_string){ function, clread_text(r, clang_getCursorSpelling(c)) };
}

/* Does a part of the text match the pattern? In the pattern, '0' matches a digit or blank, and 'a' matches a letter. */
static bool has_form(const char *text, const char *form)
{
	for (; *text; text++) {
		size_t i = 0;

		while (form[i] && text[i] &&
		       (form[i] == '0' ? isdigit((unsigned char)text[i]) || text[i] == ' ' :
			form[i] == 'a' ? isalpha((unsigned char)text[i]) :
					 text[i] == form[i]))
			i++;
		if (!form[i])
			return true;
	}
	return false;
}

/* C99 6.10.8: __DATE__, __TIME__, __TIMESTAMP__ */
static bool is_dated(const char *text)
{
	return has_form(text, "aaa 00 0000") || has_form(text, "00:00:00");
}

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at++)
		if ((at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')) &&
		    !isalnum((unsigned char)at[n]) && at[n] != '_')
			return true;
	return false;
}

static bool names_header(const struct reader *r, const char *text)
{
	for (uint32_t i = 0; i < r->nheaders; i++)
		if (strstr(text, r->header[i]))
			return true;
	return false;
}

/*
 * Refuse to copy a function if a generated string in it contains a name that copies define as a macro. In the copy, the
 * string could contain the macro's replacement.
 */
static void refuse_own_names(struct reader *r, const struct generated_string *made)
{
	static const char why[] =
		"code with a string that a macro builds from __func__, return or a similar name, which a copy of the "
		"code replaces";
	struct gpubpf_cl_function *f = made->function == UINT32_MAX ? NULL : &r->function[made->function].source;
	int32_t kernel = f ? r->function[made->function].kernel : -1;
	size_t i = 0;

	while (clread_copy_macros[i] && !has_word(made->text, clread_copy_macros[i]))
		i++;
	if (!f || !clread_copy_macros[i])
		return;
	f->end = 0;
	f->why = why;
	if (kernel < 0)
		return;
	r->unit->kernel[kernel].body = r->unit->kernel[kernel].body_end = 0;
	r->unit->kernel[kernel].why = why;
}

static uint32_t flags_of(const struct reader *r, const struct generated_string *made)
{
	return (is_dated(made->text) ? DATED : 0) | (names_header(r, made->text) ? IN_HEADER : 0);
}

/*
 * Add the flags of generated strings to the functions that contain them, and to all callers. Returns the flags of
 * strings outside of functions.
 */
static uint32_t propagate_flags(struct reader *r)
{
	uint32_t all = 0;
	bool changed = true;

	for (uint32_t i = 0; i < r->ngenerated; i++)
		*(r->generated[i].function == UINT32_MAX ? &all : &r->function[r->generated[i].function].flags) |=
			flags_of(r, &r->generated[i]);
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < r->nfunctions; i++)
			for (uint32_t k = 0; k < r->function[i].ncallees; k++) {
				uint32_t flags = r->function[r->function[i].callee[k]].flags & (DATED | IN_HEADER);

				changed |= flags & ~r->function[i].flags;
				r->function[i].flags |= flags;
			}
	}
	return all;
}

void clread_check_generated_strings(struct reader *r)
{
	uint32_t all;

	for (uint32_t i = 0; i < r->ngenerated; i++)
		refuse_own_names(r, &r->generated[i]);
	all = r->ngenerated ? propagate_flags(r) : 0;
	for (uint32_t i = 0; r->ngenerated && i < r->nfunctions; i++) {
		struct gpubpf_kernel_info *info = r->function[i].kernel < 0 ?
							  NULL :
							  &r->unit->kernel[r->function[i].kernel].info;
		uint32_t flags = r->function[i].flags | all;

		if (info && !info->reason[0] && flags & DATED)
			snprintf(info->reason, sizeof(info->reason),
				 "it uses __DATE__, __TIME__ or __TIMESTAMP__, and a twin is compiled at another time; "
				 "pass the time as a macro with -D instead");
		else if (info && !info->reason[0] && flags & IN_HEADER)
			snprintf(info->reason, sizeof(info->reason),
				 "it uses __FILE__ in a header found by a relative path, which would be an absolute "
				 "path in a twin; pass an absolute path with -I");
	}
}
