/* SPDX-License-Identifier: Apache-2.0 */
/* Parses declarations before the probes: config = { }, import, macro and fn. */
#include "cli/lang/lang.h"

#include <ctype.h>
#include <string.h>

#include "parse.h"

enum effect { NONE, MAP_KEYS, LOOP_STEPS, PRINT_MAPS };

static const struct {
	const char *name;
	enum effect effect;
} settings[] = {
#define LANG_CONFIG(name, effect, meaning) { name, effect },
#include "cli/lang/tree/config.def"
};

/* Return the name in lower case and without the prefix of an environment variable. */
static const char *plain_name(struct lang *l, const char *word)
{
	char *name = lang_copy(l, word, strlen(word));

	for (char *c = name; c && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return !name ? "" : !strncmp(name, "bpftrace_", 9) ? name + 9 : name;
}

static bool truth(struct lang_parser *p)
{
	if (p->lex.token == LANG_T_NUMBER)
		return p->lex.number;
	if (!lang_word_is(p, "true") && !lang_word_is(p, "false"))
		lang_fail(p->l, p->lex.pos, "write true or false", "this is neither true nor false");
	return lang_word_is(p, "true");
}

static uint64_t number(struct lang_parser *p, uint32_t most)
{
	if (p->lex.token != LANG_T_NUMBER || !p->lex.number || p->lex.number > most)
		lang_fail(p->l, p->lex.pos, "max_map_keys = 4096", "the value is a number from 1 to %u", most);
	return p->lex.number;
}

static void apply(struct lang_parser *p, enum effect effect)
{
	struct lang_settings *s = &p->l->settings;

	if (effect == PRINT_MAPS)
		s->keeps_maps = !truth(p);
	else if (effect == MAP_KEYS)
		s->max_map_keys = number(p, LANG_MAX_DECLARED_KEYS);
	else if (effect == LOOP_STEPS)
		s->max_loop_steps = number(p, LANG_LOOP_STEPS);
}

static void setting(struct lang_parser *p)
{
	const char *name = plain_name(p->l, p->lex.string);
	size_t i = 0, n = sizeof(settings) / sizeof(settings[0]);

	while (i < n && strcmp(settings[i].name, name))
		i++;
	if (p->lex.token != LANG_T_WORD || i == n)
		lang_fail(p->l, p->lex.pos, "gpubpf-lang(7) lists the names, such as max_map_keys",
			  "%.60s is not a setting", p->lex.string);
	lang_next(&p->lex);
	lang_expect(p, LANG_T_SET, "after the name");
	if (p->lex.token != LANG_T_NUMBER && p->lex.token != LANG_T_WORD && p->lex.token != LANG_T_STRING)
		lang_fail(p->l, p->lex.pos, "max_map_keys = 4096", "a setting is a number, a word or a string");
	apply(p, i < n ? settings[i].effect : NONE);
	lang_next(&p->lex);
	if (p->lex.token != LANG_T_RBRACE)
		lang_expect(p, LANG_T_SEMICOLON, "after the setting");
}

static void config(struct lang_parser *p)
{
	uint32_t pos = p->lex.at;

	if (p->l->blocks)
		lang_fail(p->l, pos, "put it before the first probe", "config must precede all probes");
	lang_next(&p->lex);
	lang_next(&p->lex);
	lang_expect(p, LANG_T_SET, "after config");
	lang_expect(p, LANG_T_LBRACE, "after config =");
	while (p->lex.token != LANG_T_RBRACE && p->lex.token != LANG_T_END && !p->l->failed)
		if (!lang_accept(p, LANG_T_SEMICOLON))
			setting(p);
	if (p->lex.token == LANG_T_END)
		lang_fail(p->l, pos, "end it with }", "config is not terminated");
}

static bool begins_with(const struct lang_parser *p, const char *word, const char *after)
{
	const struct lang *l = p->l;
	uint32_t n = (uint32_t)strlen(word);

	return p->lex.at + n < lang_end(&p->lex) && !memcmp(l->text + p->lex.at, word, n) &&
	       strchr(after, l->text[p->lex.at + n]);
}

/* Parse import "file.bt"; the file is read once. */
static void import(struct lang_parser *p)
{
	uint32_t pos = p->lex.at;
	const char *name;

	lang_next(&p->lex);
	lang_next(&p->lex);
	name = p->lex.string;
	if (p->lex.token != LANG_T_STRING) {
		lang_fail(p->l, p->lex.pos, "import \"file.bt\";", "import needs the name of a file in quotes");
		return;
	}
	lang_next(&p->lex);
	if (p->lex.token != LANG_T_SEMICOLON)
		lang_expect(p, LANG_T_SEMICOLON, "after the import");
	lang_include(p, name, pos, p->lex.at, true);
}

static void type_definition(struct lang_parser *p)
{
	lang_next(&p->lex);
	lang_type_definition(p);
}

static bool begins_type_definition(const struct lang_parser *p)
{
	return begins_with(p, "struct", " \t\n{") || begins_with(p, "union", " \t\n{") ||
	       begins_with(p, "enum", " \t\n{") || begins_with(p, "typedef", " \t\n");
}

bool lang_declaration(struct lang_parser *p)
{
	if (p->l->text[p->lex.at] == '#')
		lang_directive(p);
	else if (begins_with(p, "import", " \t\n\""))
		import(p);
	else if (begins_with(p, "config", " \t\n="))
		config(p);
	else if (begins_with(p, "macro", " \t\n") || begins_with(p, "fn", " \t\n"))
		lang_skip_definition(p);
	else if (begins_type_definition(p))
		type_definition(p);
	else
		return false;
	return true;
}
