/* SPDX-License-Identifier: Apache-2.0 */
/* Makes nodes, and reads and expects single tokens. All files of the parser use these functions. */
#include <string.h>

#include "parse.h"

struct lang_node *lang_node(struct lang_parser *p, enum lang_kind kind, uint32_t pos)
{
	struct lang_node *n = lang_alloc(p->l, sizeof(*n));

	if (!n) {
		n = &p->l->spare;
		memset(n, 0, sizeof(*n));
	}
	n->kind = kind;
	n->pos = pos;
	n->action = -1;
	return n;
}

bool lang_accept(struct lang_parser *p, enum lang_token token)
{
	if (p->lex.token != token)
		return false;
	lang_next(&p->lex);
	return true;
}

void lang_expect(struct lang_parser *p, enum lang_token token, const char *where)
{
	char remedy[96];

	if (lang_accept(p, token))
		return;
	snprintf(remedy, sizeof(remedy), "put %s there", lang_token_text(token));
	lang_fail(p->l, p->lex.pos, remedy, "%s is missing %s", lang_token_text(token), where);
}

bool lang_word_is(const struct lang_parser *p, const char *word)
{
	return p->lex.token == LANG_T_WORD && !strcmp(p->lex.string, word);
}

void lang_enter_nesting(struct lang_parser *p)
{
	if (++p->depth > LANG_DEPTH)
		lang_fail(p->l, p->lex.pos, "store parts of it in variables", "this is nested more than %u levels deep",
			  LANG_DEPTH);
}
