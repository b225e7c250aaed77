/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Can a kernel's body be read twice? What a #define or an #include in it leaves behind, the second reading would find:
 * it could be another text. The tokens are those of the source, in branches that the preprocessor skips too.
 */
#include <string.h>

#include "reader.h"

static bool one_of(const char *word, const char *const *words)
{
	while (*words && strcmp(*words, word))
		words++;
	return *words;
}

/* the directive that begins with the '#' before token `i` */
static bool leaves_nothing(char *const *token, unsigned i, unsigned n)
{
	static const char *const harmless[] = { "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif",
						"line", "error", "warning", NULL };
	static const char *const pragmas[] = { "once", "push_macro", "pop_macro", NULL };

	if (i < n && !strcmp(token[i], "pragma"))
		return i + 1 < n && !one_of(token[i + 1], pragmas);
	return i < n && one_of(token[i], harmless);
}

static char **spellings(struct reader *r, CXToken *tokens, unsigned n)
{
	char **token = gpubpf_pool_alloc(r->pool, n + 1, sizeof(*token));

	for (unsigned i = 0; token && i < n; i++)
		token[i] = clread_text(r, clang_getTokenSpelling(r->tu, tokens[i]));
	return token;
}

bool clread_repeats(struct reader *r, CXSourceRange body)
{
	CXToken *tokens = NULL;
	bool repeats = true;
	unsigned n = 0;
	char **token;

	clang_tokenize(r->tu, body, &tokens, &n);
	token = spellings(r, tokens, n);
	for (unsigned i = 0; i < n && repeats; i++) {
		CXTokenKind kind = clang_getTokenKind(tokens[i]);

		if (!token)
			repeats = false;
		else if (kind == CXToken_Punctuation && (!strcmp(token[i], "#") || !strcmp(token[i], "%:")))
			repeats = leaves_nothing(token, i + 1, n);
		else if (kind == CXToken_Identifier)
			repeats = strcmp(token[i], "__COUNTER__");
	}
	clang_disposeTokens(r->tu, tokens, n);
	return repeats;
}
