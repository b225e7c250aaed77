/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether a second copy of some code has the same meaning as the first. A #define or #include has lasting
 * effects, __COUNTER__ advances, and a copy may be in other columns. The check reads all tokens of the code, including
 * branches that the preprocessor skips. It follows macros through other macros.
 */
#include <string.h>

#include "definitions.h"
#include "backends/spirv/opencl_c/event/range.h"

/*
 * Names whose value depends on the position in the text. A prefix or suffix of such a name counts as the name if it has
 * at least `part` characters, because ## may add the rest.
 */
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
	[CLREAD_WORD_BUILTIN_FILE] = { "__builtin_FILE_NAME", 11 }, /* matches also the shorter name __builtin_FILE */
};

#define NWORDS (sizeof(words) / sizeof(*words))

static const char why_directive[] = "code with directives that must not be compiled twice (#define, #include)";
static const char why_counter[] = "code with __COUNTER__, whose values change if the code is compiled twice";
static const char why_column[] = "code that reads its column (__builtin_COLUMN), which probes change";
static const char why_own_name[] =
	"code with a directive that tests __func__ or a similar name, which a copy of the code defines as a macro";

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

static uint32_t find_token_words(const char *token)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < NWORDS; i++)
		if (!strcmp(token, words[i].name) || is_part(token, words[i].name, words[i].part))
			mask |= 1u << i;
	return mask;
}

/*
 * Returns the position-dependent names (1 << CLREAD_WORD_...) in a macro's expansion that read_macros() has found up to
 * now.
 */
static uint32_t find_macro_words(const struct reader *r, const char *name)
{
	uint32_t mask = 0;

	for (uint32_t i = 0; i < r->nmacro_words; i++)
		if (!strcmp(r->unit->macro[r->macro_words[i].macro], name))
			mask |= r->macro_words[i].words;
	return mask;
}

/*
 * Collect the position-dependent names in a macro's definition. Returns true if the set of names that is recorded for
 * the macro changed.
 */
static bool read_definition(struct reader *r, uint32_t macro, const struct cl_body *b)
{
	uint32_t mask = 0, i = 0;
	struct macro_words *t;

	for (unsigned k = b->first; k < b->n; k++)
		if (b->kind[k] == CXToken_Identifier || b->kind[k] == CXToken_Keyword)
			mask |= find_token_words(b->token[k]) | find_macro_words(r, b->token[k]);
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

/* Is the directive without lasting effect? `i` is the index of the token after its '#'. */
static bool is_harmless_directive(char *const *token, unsigned i, unsigned n)
{
	static const char *const harmless[] = { "if",   "ifdef", "ifndef", "elif",  "elifdef", "elifndef",
						"else", "endif", "line",   "error", "warning", NULL };
	static const char *const pragmas[] = { "once", "push_macro", "pop_macro", NULL };

	if (i < n && !strcmp(token[i], "pragma"))
		return i + 1 < n && !is_one_of(token[i + 1], pragmas);
	return i < n && is_one_of(token[i], harmless);
}

/*
 * Does word i of a directive test whether a name of clread_copy_macros is defined? Copies define these names as macros.
 */
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
			*mask |= find_token_words(token[i]) | find_macro_words(r, token[i]);
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
