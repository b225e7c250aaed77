/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether code means the same when the compiler reads it again. A #define or an #include has effects that
 * remain, __COUNTER__ advances, and a probed copy has other columns. The check reads all tokens of the source,
 * including branches that the preprocessor skips, and follows macros through other macros.
 */
#include <string.h>

#include "definitions.h"
#include "backends/spirv/opencl_c/event/range.h"

/* names whose value depends on their place in the text; `part`: length of the shortest prefix or suffix that ## may
 * complete */
static const struct {
	const char *name;
	size_t part;
} words[] = {
	[CLREAD_WORD_COUNTER] = { "__COUNTER__", 5 },
	[CLREAD_WORD_COLUMN] = { "__builtin_COLUMN", 11 },
	[CLREAD_WORD_PLACE] = { "__builtin_source_location", 16 },
	[CLREAD_WORD_PRETTY] = { "__PRETTY_FUNCTION__", 5 },
	[CLREAD_WORD_FILE] = { "__FILE__", 5 },
	[CLREAD_WORD_BASE_FILE] = { "__BASE_FILE__", 5 },
	[CLREAD_WORD_FILE_NAME] = { "__FILE_NAME__", 5 },
	[CLREAD_WORD_BUILTIN_FILE] = { "__builtin_FILE_NAME", 11 }, /* also covers its prefix __builtin_FILE */
};

#define NWORDS (sizeof(words) / sizeof(*words))

static const char why_directive[] = "code with directives that must not be read twice (#define, #include)";
static const char why_counter[] = "code with __COUNTER__, whose values change where it is read twice";
static const char why_column[] = "code that reads its column (__builtin_COLUMN), which probes change";
static const char why_own_name[] = "a directive that tests __func__ or the like, which a copy defines";

static bool is_one_of(const char *word, const char *const *list)
{
	while (*list && strcmp(*list, word))
		list++;
	return *list;
}

/* -- words in macros -- */

static bool is_part(const char *token, const char *name, size_t shortest)
{
	size_t n = strlen(token), all = strlen(name);

	return n >= shortest && n < all && (!strncmp(token, name, n) || !strcmp(token, name + all - n));
}

static uint32_t words_of_token(const char *token)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < NWORDS; i++)
		if (!strcmp(token, words[i].name) || is_part(token, words[i].name, words[i].part))
			mask |= 1u << i;
	return mask;
}

/* Returns the words (1 << CLREAD_WORD_) in a macro's expansion that read_macros() has found so far. */
static uint32_t words_of_macro(const struct reader *r, const char *name)
{
	uint32_t mask = 0;

	for (uint32_t i = 0; i < r->nmacro_words; i++)
		if (!strcmp(r->unit->macro[r->macro_words[i].macro], name))
			mask |= r->macro_words[i].words;
	return mask;
}

/* Collect the words in a definition; true if the macro's set of words changed. */
static bool read_definition(struct reader *r, uint32_t macro, const struct cl_body *b)
{
	uint32_t mask = 0, i = 0;
	struct macro_words *t;

	for (unsigned k = b->first; k < b->n; k++)
		if (b->kind[k] == CXToken_Identifier || b->kind[k] == CXToken_Keyword)
			mask |= words_of_token(b->token[k]) | words_of_macro(r, b->token[k]);
	while (i < r->nmacro_words && r->macro_words[i].macro != macro)
		i++;
	if (!mask || (i < r->nmacro_words && r->macro_words[i].words == mask))
		return false;
	t = i < r->nmacro_words ? &r->macro_words[i] : APPEND(r, r->macro_words, r->nmacro_words);
	if (t)
		*t = (struct macro_words){ macro, mask };
	return t;
}

static void read_macros(struct reader *r)
{
	struct cl_body *body = gpubpf_pool_alloc(r->pool, r->ndefinitions, sizeof(*body));
	bool more = body;

	for (uint32_t i = 0; more && i < r->ndefinitions; i++)
		more = clread_body(r, r->definition[i], &body[i]);
	if (r->ndefinitions && !more)
		r->failed = true;
	while (more) {
		more = false;
		for (uint32_t i = 0; i < r->ndefinitions; i++)
			more |= read_definition(r, i, &body[i]);
	}
	r->has_macro_words = true;
}

/* -- directives -- */

/* Does the directive whose '#' precedes token i have no lasting effect? */
static bool is_harmless_directive(char *const *token, unsigned i, unsigned n)
{
	static const char *const harmless[] = { "if",   "ifdef", "ifndef", "elif",  "elifdef", "elifndef",
						"else", "endif", "line",   "error", "warning", NULL };
	static const char *const pragmas[] = { "once", "push_macro", "pop_macro", NULL };

	if (i < n && !strcmp(token[i], "pragma"))
		return i + 1 < n && !is_one_of(token[i + 1], pragmas);
	return i < n && is_one_of(token[i], harmless);
}

/* Does the directive's word i test whether a macro of clread_copy_macros, which copies define, is defined? */
static bool tests_own_name(char *const *token, unsigned i, unsigned n)
{
	static const char *const looks[] = { "ifdef", "ifndef", "elifdef", "elifndef", "defined", NULL };

	if (!is_one_of(token[i], looks))
		return false;
	i += i + 1 < n && !strcmp(token[i + 1], "(") ? 2 : 1;
	return i < n && is_one_of(token[i], clread_copy_macros);
}

/* -- code -- */

static char **get_spellings(struct reader *r, CXToken *tokens, unsigned n)
{
	char **token = gpubpf_pool_alloc(r->pool, n + 1, sizeof(*token));

	for (unsigned i = 0; token && i < n; i++)
		token[i] = clread_text(r, clang_getTokenSpelling(r->tu, tokens[i]));
	return token;
}

static const char *find_reason(struct reader *r, CXToken *tokens, char *const *token, unsigned n, uint32_t *mask)
{
	const char *why = token ? NULL : why_directive;

	for (unsigned i = 0; i < n && !why; i++) {
		CXTokenKind kind = clang_getTokenKind(tokens[i]);

		if (kind == CXToken_Punctuation && (!strcmp(token[i], "#") || !strcmp(token[i], "%:")))
			why = is_harmless_directive(token, i + 1, n) ? NULL : why_directive;
		else if (kind != CXToken_Literal && tests_own_name(token, i, n))
			why = why_own_name;
		else if (kind == CXToken_Identifier || kind == CXToken_Keyword)
			*mask |= words_of_token(token[i]) | words_of_macro(r, token[i]);
	}
	return why;
}

const char *clread_why_not_repeatable(struct reader *r, CXSourceRange code, bool moved, uint32_t *mask)
{
	CXToken *tokens = NULL;
	const char *why;
	unsigned n = 0;

	if (!r->has_macro_words)
		read_macros(r);
	clang_tokenize(r->tu, code, &tokens, &n);
	why = find_reason(r, tokens, get_spellings(r, tokens, n), n, mask);
	clang_disposeTokens(r->tu, tokens, n);
	if (!why && *mask >> CLREAD_WORD_COUNTER & 1)
		why = why_counter;
	if (!why && moved && *mask & (1u << CLREAD_WORD_COLUMN | 1u << CLREAD_WORD_PLACE))
		why = why_column;
	return why;
}
