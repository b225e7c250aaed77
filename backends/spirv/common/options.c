/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Copy the word that starts at `at` to `out`, which must be large enough. Returns a pointer to the end of the word. */
static const char *scan_word(const char *at, char *out)
{
	char quote = 0;

	for (; *at && (quote || !is_blank(*at)); at++) {
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

		while (is_blank(*at))
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

/*
 * Returns the include folder that a word names (-Ifolder, or folder after the word -I), or NULL. `before` is the
 * preceding word.
 */
static const char *include_folder(const struct gpubpf_cl_word *w, const struct gpubpf_cl_word *before)
{
	if (before && strcmp(before->text, "-I") == 0)
		return w->text;
	if (strncmp(w->text, "-I", 2) == 0 && w->text[2])
		return w->text + 2;
	return NULL;
}

/* Add quotes only if a name contains a blank: PoCL 3.1 takes quotes as part of the name. */
static void write_folder(FILE *out, const char *option, const char *cwd, const char *folder)
{
	const char *quote = strpbrk(cwd, " \t") || strpbrk(folder, " \t") ? "\"" : "";

	fprintf(out, "%s%s%s/%s%s ", option, quote, cwd, folder, quote);
}

/*
 * Call write() for each word of the options. Returns the concatenated output, allocated in the pool, or NULL if memory
 * runs out.
 */
static const char *rewrite_words(const char *options, struct gpubpf_pool *pool,
				 void (*write)(FILE *out, const struct gpubpf_cl_word *w,
					       const struct gpubpf_cl_word *before, const void *arg),
				 const void *arg)
{
	struct gpubpf_cl_words words;
	const char *result = NULL;
	char *text = NULL;
	size_t size;
	FILE *out;

	if (gpubpf_cl_split(options, pool, &words) < 0)
		return NULL;
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	for (uint32_t i = 0; i < words.n; i++)
		write(out, &words.word[i], i ? &words.word[i - 1] : NULL, arg);
	if (fclose(out) == 0)
		result = gpubpf_pool_strndup(pool, text, strlen(text));
	free(text);
	return result;
}

struct compile {
	const char *options, *cwd;
};

static void write_compile(FILE *out, const struct gpubpf_cl_word *w, const struct gpubpf_cl_word *before, const void *arg)
{
	const char *folder = include_folder(w, before);
	const struct compile *c = arg;

	if (strcmp(w->text, "-Werror") == 0)
		return;
	if (folder && folder[0] != '/' && c->cwd && c->cwd[0])
		write_folder(out, folder == w->text ? "" : "-I", c->cwd, folder);
	else
		fprintf(out, "%.*s ", (int)(w->end - w->start), c->options + w->start);
}

const char *gpubpf_cl_twin_options(const char *options, const char *cwd, struct gpubpf_pool *pool)
{
	struct compile c = { options, cwd };

	return rewrite_words(options, pool, write_compile, &c);
}

/*
 * These three options permit other operations or another order of operations (OpenCL 3.0, section 5.8.6.3). The
 * remaining math options, such as -cl-finite-math-only, concern only special values.
 */
bool gpubpf_cl_has_loose_math(const char *options)
{
	return strstr(options, "-cl-fast-relaxed-math") || strstr(options, "-cl-unsafe-math-optimizations") ||
	       strstr(options, "-cl-mad-enable");
}

/* linker options of OpenCL 3.0, section 5.8.7 */
static const char *const link_words[] = {
	"-cl-denorms-are-zero", "-cl-no-signed-zeros",   "-cl-unsafe-math-optimizations",
	"-cl-finite-math-only", "-cl-fast-relaxed-math", "-cl-no-subgroup-ifp",
};

static bool is_link_option(const char *word, int spec)
{
	if (!spec)
		return strncmp(word, "-cl-", 4) == 0 && strncmp(word, "-cl-std", 7) != 0 &&
		       strcmp(word, "-cl-kernel-arg-info") != 0;
	for (size_t i = 0; i < sizeof(link_words) / sizeof(link_words[0]); i++)
		if (strcmp(word, link_words[i]) == 0)
			return true;
	return false;
}

static void write_link(FILE *out, const struct gpubpf_cl_word *w, const struct gpubpf_cl_word *before, const void *arg)
{
	if (is_link_option(w->text, *(const int *)arg))
		fprintf(out, "%s ", w->text);
}

const char *gpubpf_cl_link_options(const char *options, int spec, struct gpubpf_pool *pool)
{
	return rewrite_words(options, pool, write_link, &spec);
}
