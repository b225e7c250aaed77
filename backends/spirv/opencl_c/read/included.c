/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the paths that a source's #include directives search, as comment lines at the end of the twin's source. A twin
 * in the disk cache is valid as long as none of these files changes, appears or disappears
 * (core/session/twins/twin_store.c). The list is unknown if the source tests whether a file exists, or embeds the bytes
 * of a file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/spirv/common/options.h"
#include "core/wire/included.h"
#include "definitions.h"

enum { MAX_PATHS = 2048, MAX_FOLDERS = 64 };

struct include_search {
	struct reader *r;
	const char *folder[MAX_FOLDERS]; /* folders of -I */
	uint32_t nfolders;
	const char **path;
	uint32_t npaths;
	bool known;
};

static void add_path(struct include_search *l, const char *folder, const char *name)
{
	const char *cwd = l->r->source->cwd, *inner = folder[0] == '/' || !cwd ? "" : cwd;
	size_t size = strlen(inner) + strlen(folder) + strlen(name) + 3;
	char *path = gpubpf_pool_alloc(l->r->pool, size, 1);

	if (!path || l->npaths == MAX_PATHS || strchr(name, '\n') || strchr(folder, '\n')) {
		l->known = false;
		return;
	}
	if (name[0] == '/')
		strcpy(path, name);
	else
		snprintf(path, size, "%s%s%s%s%s", inner, inner[0] ? "/" : "", folder, folder[0] ? "/" : "", name);
	l->known &= path[0] == '/';
	for (uint32_t i = 0; i < l->npaths; i++)
		if (!strcmp(l->path[i], path))
			return;
	l->path[l->npaths++] = path;
}

/* Collect the folders of the -I options. The folder is part of the same word as -I, or is the next word. */
static void find_folders(struct include_search *l)
{
	struct gpubpf_cl_words words;

	if (gpubpf_cl_split(l->r->source->options ? l->r->source->options : "", l->r->pool, &words) < 0) {
		l->known = false;
		return;
	}
	for (uint32_t i = 0; i < words.n; i++) {
		const char *w = words.word[i].text;

		if (strncmp(w, "-I", 2))
			continue;
		if (!w[2] && i + 1 == words.n)
			break;
		w = w[2] ? w + 2 : words.word[++i].text;
		if (l->nfolders == MAX_FOLDERS)
			l->known = false;
		else
			l->folder[l->nfolders++] = w;
	}
}

/* Does the text contain an #embed directive, also with blanks after the '#'? */
static bool has_embed(const char *text, size_t size)
{
	const char *at = text, *end = text + size, *hash;

	while ((at = memmem(at, end - at, "embed", strlen("embed")))) {
		for (hash = at; hash > text && (hash[-1] == ' ' || hash[-1] == '\t'); hash--)
			;
		if (hash > text && hash[-1] == '#')
			return true;
		at++;
	}
	return false;
}

static bool tests_files(const char *text, size_t size)
{
	return memmem(text, size, "__has_include", strlen("__has_include")) ||
	       memmem(text, size, "__has_embed", strlen("__has_embed")) || has_embed(text, size);
}

/*
 * Returns the folder of the file that contains the #include directive. Compilers search this folder first for quoted
 * names.
 */
static const char *folder_of(struct reader *r, CXCursor directive)
{
	unsigned line, column, offset;
	CXFile file;
	char *name, *slash;

	clang_getFileLocation(clang_getCursorLocation(directive), &file, &line, &column, &offset);
	name = file ? clread_text(r, clang_getFileName(file)) : "";
	slash = strrchr(name, '/');
	if (!slash)
		return "";
	*slash = 0;
	return name;
}

static enum CXChildVisitResult visit(CXCursor c, CXCursor parent, CXClientData data)
{
	struct include_search *l = data;
	CXFile file = clang_getCursorKind(c) == CXCursor_InclusionDirective ? clang_getIncludedFile(c) : NULL;
	const char *name, *text;
	size_t size;

	if (clang_getCursorKind(c) != CXCursor_InclusionDirective)
		return CXChildVisit_Continue;
	name = clread_text(l->r, clang_getCursorSpelling(c));
	add_path(l, folder_of(l->r, c), name);
	for (uint32_t i = 0; i < l->nfolders; i++)
		add_path(l, l->folder[i], name);
	text = file ? clang_getFileContents(l->r->tu, file, &size) : NULL;
	if (file)
		add_path(l, "", clread_text(l->r, clang_getFileName(file)));
	l->known &= !text || !tests_files(text, size);
	return CXChildVisit_Continue;
}

/*
 * Returns the comment for an unknown list of included files. It contains the build's time, so that the twin is not
 * reused for another build, which may have included other files.
 */
static const char *unknown_list(struct reader *r)
{
	char *text = gpubpf_pool_alloc(r->pool, sizeof(GPUBPF_INCLUDED_UNKNOWN) + 32, 1);

	if (!text)
		return GPUBPF_INCLUDED_UNKNOWN;
	sprintf(text, "%s//%llu\n", GPUBPF_INCLUDED_UNKNOWN, (unsigned long long)r->source->built_ns);
	return text;
}

const char *clread_included(struct reader *r)
{
	struct include_search l = { .r = r, .known = !tests_files(r->source->text, r->source->size) };
	size_t size = sizeof(GPUBPF_INCLUDED_UNKNOWN), at = 0;
	char *text;

	l.path = gpubpf_pool_alloc(r->pool, MAX_PATHS, sizeof(*l.path));
	if (!l.path)
		return unknown_list(r);
	find_folders(&l);
	clang_visitChildren(clang_getTranslationUnitCursor(r->tu), visit, &l);
	for (uint32_t i = 0; i < l.npaths; i++)
		size += strlen(GPUBPF_INCLUDED_PATH) + strlen(l.path[i]) + 1;
	text = l.known ? gpubpf_pool_alloc(r->pool, size + sizeof(GPUBPF_INCLUDED_KNOWN), 1) : NULL;
	if (!text)
		return unknown_list(r);
	for (uint32_t i = 0; i < l.npaths; i++)
		at += sprintf(text + at, "%s%s\n", GPUBPF_INCLUDED_PATH, l.path[i]);
	strcpy(text + at, GPUBPF_INCLUDED_KNOWN);
	return text;
}
