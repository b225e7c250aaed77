/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* One word from `at` into out, which has room; returns where it ends. */
static const char *scan_word(const char *at, char *out)
{
	char quote = 0;

	for (; *at && (quote || !blank(*at)); at++) {
		if (quote && *at == quote)
			quote = 0;
		else if (!quote && (*at == '"' || *at == '\''))
			quote = *at;
		else if (*at == '\\' && quote != '\'' && at[1])
			*out++ = *++at;
		else
			*out++ = *at;
	}
	*out = 0;
	return at;
}

int gpubpf_cl_split(const char *options, struct gpubpf_pool *pool, struct gpubpf_cl_words *words)
{
	size_t len = strlen(options);
	const char *at = options;

	words->n = 0;
	words->word = gpubpf_pool_alloc(pool, len / 2 + 1, sizeof(*words->word));
	if (!words->word)
		return -ENOMEM;
	for (;;) {
		struct gpubpf_cl_word *w = &words->word[words->n];
		const char *end;
		char *text;

		while (blank(*at))
			at++;
		if (!*at)
			return 0;
		text = gpubpf_pool_alloc(pool, strlen(at) + 1, 1);
		if (!text)
			return -ENOMEM;
		end = scan_word(at, text);
		*w = (struct gpubpf_cl_word){ text, at - options, end - options };
		words->n++;
		at = end;
	}
}

static const char *finish_text(FILE *out, char **text, struct gpubpf_pool *pool);

/* Where the folder stands in a word that gives an include folder, NULL in any other. `before` is the word
 * in front of it. */
static const char *folder_of(const struct gpubpf_cl_word *w, const struct gpubpf_cl_word *before)
{
	if (before && strcmp(before->text, "-I") == 0)
		return w->text;
	if (strncmp(w->text, "-I", 2) == 0 && w->text[2])
		return w->text + 2;
	return NULL;
}

/* Quotes only where they are needed: PoCL 3.1 takes them as part of a name. */
static void write_folder(FILE *out, const char *option, const char *cwd, const char *folder)
{
	const char *quote = strpbrk(cwd, " \t") || strpbrk(folder, " \t") ? "\"" : "";

	fprintf(out, "%s%s%s/%s%s ", option, quote, cwd, folder, quote);
}

const char *gpubpf_cl_twin_options(const char *options, const char *cwd, struct gpubpf_pool *pool)
{
	struct gpubpf_cl_words words;
	char *text = NULL;
	size_t size;
	FILE *out;

	if (gpubpf_cl_split(options, pool, &words) < 0)
		return NULL;
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	for (uint32_t i = 0; i < words.n; i++) {
		const struct gpubpf_cl_word *w = &words.word[i];
		const char *folder = folder_of(w, i ? w - 1 : NULL);

		if (strcmp(w->text, "-Werror") == 0)
			continue;
		if (folder && folder[0] != '/' && cwd && cwd[0])
			write_folder(out, folder == w->text ? "" : "-I", cwd, folder);
		else
			fprintf(out, "%.*s ", (int)(w->end - w->start), options + w->start);
	}
	return finish_text(out, &text, pool);
}

/* OpenCL 3.0 specification, 5.8.7: linker options */
static const char *const link_words[] = {
	"-cl-denorms-are-zero", "-cl-no-signed-zeros", "-cl-unsafe-math-optimizations",
	"-cl-finite-math-only", "-cl-fast-relaxed-math", "-cl-no-subgroup-ifp",
};

static bool may_repeat(const char *word, int spec)
{
	if (!spec)
		return strncmp(word, "-cl-", 4) == 0 && strncmp(word, "-cl-std", 7) != 0 &&
		       strcmp(word, "-cl-kernel-arg-info") != 0;
	for (size_t i = 0; i < sizeof(link_words) / sizeof(link_words[0]); i++)
		if (strcmp(word, link_words[i]) == 0)
			return true;
	return false;
}

const char *gpubpf_cl_link_options(const char *options, int spec, struct gpubpf_pool *pool)
{
	struct gpubpf_cl_words words;
	char *text = NULL;
	size_t size;
	FILE *out;

	if (gpubpf_cl_split(options, pool, &words) < 0)
		return NULL;
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	for (uint32_t i = 0; i < words.n; i++)
		if (may_repeat(words.word[i].text, spec))
			fprintf(out, "%s ", words.word[i].text);
	return finish_text(out, &text, pool);
}

static const char *finish_text(FILE *out, char **text, struct gpubpf_pool *pool)
{
	const char *kept = NULL;

	if (fclose(out) == 0)
		kept = gpubpf_pool_strndup(pool, *text, strlen(*text));
	free(*text);
	return kept;
}
