/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the condition of `gpubpf session set LINK where=...`. The agents evaluate it at each launch. */
#include "private.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum kind { NUMBER, SIZE, NAME, ARGUMENT };

static const struct field {
	const char *name;
	enum kind kind;
} fields[GPUBPF_GATE_FIELDS] = {
#define GPUBPF_GATE_FIELD(id, text, how, meaning) [GPUBPF_GATE_##id] = { text, how },
#include "core/wire/gate/fields.def"
};

/* the longer operators come first */
static const struct {
	const char *text;
	enum gpubpf_gate_compare compare;
} operators[] = {
	{ "==", GPUBPF_GATE_EQ }, { "!=", GPUBPF_GATE_NE }, { "<=", GPUBPF_GATE_LE },
	{ ">=", GPUBPF_GATE_GE }, { "<", GPUBPF_GATE_LT },  { ">", GPUBPF_GATE_GT },
};

struct parser {
	struct gpubpf_session *s;
	const char *text, *at;
	struct gpubpf_link_setting *to;
};

static int refuse(struct parser *p, const char *why)
{
	return gpubpf_session_fail(p->s, -EINVAL, "where=%.100s: at '%.40s': %s", p->text, p->at, why);
}

static void skip_space(struct parser *p)
{
	while (*p->at == ' ' || *p->at == '\t')
		p->at++;
}

static bool take(struct parser *p, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(p->at, word, n))
		return false;
	p->at += n;
	skip_space(p);
	return true;
}

static size_t word_length(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyz_");
}

static bool is_word(const struct parser *p, const char *word)
{
	return word_length(p->at) == strlen(word) && !strncmp(p->at, word, strlen(word));
}

static int refuse_field(struct parser *p)
{
	if (is_word(p, "duration"))
		return refuse(p, "the duration is known only after the launch, when its values are already in the maps; "
				 "let a program of gpu/exit/ compare it and arm this link with gpubpf_arm()");
	return refuse(p, "must be a field: kernel, threads, block, grid, launch, pid, tid or argN");
}

/* Parse the suffix of a field: the number of an argument, or a dimension. */
static int parse_index(struct parser *p, enum kind kind, struct gpubpf_gate_term *term)
{
	uint64_t n;

	if (kind == ARGUMENT) {
		const char *end = gpubpf_parse_number(p->at, &n);

		if (!end || n >= 1024)
			return refuse(p, "must be the number of an argument, such as arg0");
		p->at = end;
		term->index = n;
	} else if (kind == SIZE && *p->at == '.') {
		if (p->at[1] < 'x' || p->at[1] > 'z')
			return refuse(p, "must be .x, .y or .z");
		term->index = p->at[1] - 'x' + 1;
		p->at += 2;
	}
	return 0;
}

static int parse_field(struct parser *p, struct gpubpf_gate_term *term)
{
	int err;

	for (term->field = 0; term->field < GPUBPF_GATE_FIELDS; term->field++)
		if (is_word(p, fields[term->field].name))
			break;
	if (term->field == GPUBPF_GATE_FIELDS)
		return refuse_field(p);
	p->at += word_length(p->at);
	err = parse_index(p, fields[term->field].kind, term);
	skip_space(p);
	return err;
}

static int parse_compare(struct parser *p, struct gpubpf_gate_term *term)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (take(p, operators[i].text)) {
			term->compare = operators[i].compare;
			return 0;
		}
	return refuse(p, "must be ==, !=, <, <=, > or >=");
}

/* A glob is in quotes, or ends at a space, `&` or `|`. */
static int parse_name(struct parser *p, struct gpubpf_gate_term *term)
{
	bool quoted = *p->at == '"';
	const char *from = p->at + quoted;
	size_t n = strcspn(from, quoted ? "\"" : " \t&|");

	if (!n || n >= sizeof(term->name) || (quoted && from[n] != '"'))
		return refuse(p, "must be a name or glob of 1 to 103 characters");
	memcpy(term->name, from, n);
	p->at = from + n + quoted;
	if (term->compare != GPUBPF_GATE_EQ && term->compare != GPUBPF_GATE_NE)
		return refuse(p, "a name needs == or != before it");
	return 0;
}

static int parse_value(struct parser *p, struct gpubpf_gate_term *term)
{
	const char *end = gpubpf_parse_number(p->at, &term->value);

	if (!end)
		return refuse(p, "must be a number");
	if (word_length(end))
		return refuse(p, "the number must have no unit");
	p->at = end;
	return 0;
}

static int parse_term(struct parser *p, bool begins)
{
	struct gpubpf_gate_term term = { .begins = begins };
	int err;

	if (p->to->rule.nterms == GPUBPF_GATE_TERMS)
		return refuse(p, "at most 8 comparisons are possible");
	err = parse_field(p, &term);
	if (!err)
		err = parse_compare(p, &term);
	if (!err)
		err = fields[term.field].kind == NAME ? parse_name(p, &term) : parse_value(p, &term);
	if (err < 0)
		return err;
	skip_space(p);
	p->to->term[p->to->rule.nterms++] = term;
	return 0;
}

int gpubpf_where_parse(struct gpubpf_session *s, const char *text, struct gpubpf_link_setting *setting)
{
	struct parser p = { s, text, text, setting };
	bool begins = true;
	int err = 0;

	if (strlen(text) >= sizeof(setting->where))
		return gpubpf_session_fail(s, -EINVAL, "where=: the condition must have at most %zu characters",
					   sizeof(setting->where) - 1);
	strcpy(setting->where, text);
	memset(setting->term, 0, sizeof(setting->term));
	setting->rule.nterms = 0;
	skip_space(&p);
	if (!*p.at)
		return 0;
	while (!(err = parse_term(&p, begins)) && *p.at) {
		begins = take(&p, "||");
		if (!begins && !take(&p, "&&"))
			return refuse(&p, "must be && or ||");
	}
	return err;
}
