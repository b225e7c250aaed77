/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the top level of a program text: declarations, and probes with their filters and blocks. */
#include "cli/lang/lang.h"

#include <errno.h>
#include <string.h>

#include "parse.h"

/* Parse let @x = hash(1000); */
static void declare(struct lang_parser *p)
{
	struct lang_map *map;
	uint32_t pos;

	lang_next(&p->lex);
	lang_next(&p->lex);
	pos = p->lex.pos;
	map = p->lex.token == LANG_T_MAP ? lang_map_named(p, p->lex.string, pos) : NULL;
	lang_expect(p, LANG_T_MAP, "after let");
	lang_expect(p, LANG_T_SET, "after the map");
	if (!map)
		return;
	if (map->declared)
		lang_fail(p->l, pos, "declare it once", "%s is already declared", map->name);
	map->declared = true;
	map->lru = lang_word_is(p, "lruhash") || lang_word_is(p, "percpulruhash");
	if (!map->lru && !lang_word_is(p, "hash") && !lang_word_is(p, "percpuhash"))
		lang_fail(p->l, p->lex.pos,
			  "hash(4096), lruhash(4096), percpuhash(4096) and percpulruhash(4096) are supported",
			  "unknown type of map");
	lang_next(&p->lex);
	lang_expect(p, LANG_T_OPEN, "after the type");
	if (p->lex.token == LANG_T_NUMBER && (!p->lex.number || p->lex.number > LANG_MAX_DECLARED_KEYS))
		lang_fail(p->l, p->lex.pos, "1 to 16777216", "a map cannot have this number of keys");
	map->room = p->lex.number;
	lang_expect(p, LANG_T_NUMBER, "for the number of keys");
	lang_expect(p, LANG_T_CLOSE, "after the number");
	if (p->lex.token != LANG_T_SEMICOLON)
		lang_expect(p, LANG_T_SEMICOLON, "after the declaration");
}

static bool begins_with(const struct lang_lex *x, const char *word)
{
	size_t n = strlen(word);

	return x->at + n < lang_end(x) && !memcmp(x->l->text + x->at, word, n) && strchr(" \t\n@", x->l->text[x->at + n]);
}

static void filter(struct lang_parser *p, struct lang_block *b)
{
	lang_next(&p->lex);
	if (p->lex.token != LANG_T_DIV)
		return;
	p->filter = true;
	p->operators = 0;
	lang_next(&p->lex);
	b->filter = lang_expression(p);
	p->filter = false;
	lang_expect(p, LANG_T_DIV, "after the filter");
}

static void parse_body(struct lang_parser *p, struct lang_block *b)
{
	p->block = b;
	p->depth = 0;
	filter(p, b);
	if (p->lex.token != LANG_T_LBRACE)
		lang_fail(p->l, p->lex.pos, "e.g. gpu/exit/* /lane == 0/ { @ = count(); }",
			  "a block { ... } is missing after the probe");
	b->body = lang_block(p);
}

/* Parse the block again for each probe after the first, because the probes have different places for a field. */
static void split_block(struct lang_parser *p, struct lang_block *b, const struct lang_lex *after_probes)
{
	struct lang_probe *rest = b->probes->next;

	b->probes->next = NULL;
	while (rest && !p->l->failed) {
		struct lang_probe *probe = rest;

		b->next = lang_alloc(p->l, sizeof(*b));
		b = b->next;
		if (!b)
			return;
		rest = probe->next;
		probe->next = NULL;
		probe->block = b;
		b->probes = probe;
		p->lex = *after_probes;
		parse_body(p, b);
	}
}

static struct lang_block *parse_block(struct lang_parser *p)
{
	struct lang_block *b = lang_alloc(p->l, sizeof(*b));
	struct lang_lex after_probes;

	if (!b)
		return NULL;
	p->block = b;
	lang_parse_probes(&p->lex, b);
	after_probes = p->lex;
	parse_body(p, b);
	if (b->splits)
		split_block(p, b, &after_probes);
	return b;
}

int lang_parse(struct lang *l)
{
	struct lang_parser p = { .l = l, .lex = { .l = l } };
	struct lang_block **end = &l->blocks;

	lang_find_macros(l, 0, (uint32_t)l->size);
	lang_skip(&p.lex);
	while (p.lex.at < lang_end(&p.lex) && !l->failed) {
		if (begins_with(&p.lex, "let")) {
			declare(&p);
		} else if (!lang_declaration(&p) && (*end = parse_block(&p))) {
			while (*end)
				end = &(*end)->next;
		}
		lang_skip(&p.lex);
	}
	lang_end_directives(&p);
	if (!l->failed && !l->blocks)
		lang_fail(l, 0, "e.g. gpu/exit/* { @[kernel] = count(); }", "the program is empty");
	return l->failed ? -EINVAL : 0;
}
