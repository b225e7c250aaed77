/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are known when the text is compiled: sizeof(), getopt(), and the distance between clocks. */
#include <string.h>
#include <time.h>

#include "parse.h"

static struct lang_node *constant(struct lang_parser *p, uint32_t pos, uint64_t value, enum lang_base base)
{
	struct lang_node *n = lang_node(p, LANG_N_NUMBER, pos);

	n->value = value;
	n->type = (struct lang_type){ base, base == LANG_INT };
	n->literal = base == LANG_INT;
	return n;
}

static struct lang_node *size_of_type(struct lang_parser *p, uint32_t pos)
{
	bool is_signed;
	uint32_t bits = 0;

	if (p->lex.token != LANG_T_WORD || !lang_target_named(p->lex.string, &bits, &is_signed))
		lang_fail(p->l, p->lex.pos, "sizeof(uint32), sizeof(float *)", "sizeof() expects the name of a type");
	lang_next(&p->lex);
	while (lang_accept(p, LANG_T_MUL))
		bits = 64;
	lang_expect(p, LANG_T_CLOSE, "after the type");
	return constant(p, pos, bits / 8, LANG_INT);
}

/* -- getopt -- */

/* Return the text after NAME= in the parameters, "" for the parameter NAME, or NULL. */
static const char *find_option(const struct lang *l, const char *name)
{
	size_t n = strlen(name);

	for (uint32_t i = 0; i < l->nparams; i++) {
		const char *text = l->params[i] + (strncmp(l->params[i], "--", 2) ? 0 : 2);

		if (!strncmp(text, name, n) && (text[n] == '=' || !text[n]))
			return text + n + (text[n] == '=');
	}
	return NULL;
}

static bool is_true(struct lang_parser *p, const char *text, uint32_t pos)
{
	bool yes = !text[0] || !strcmp(text, "true") || !strcmp(text, "1");

	if (!yes && strcmp(text, "false") && strcmp(text, "0"))
		lang_fail(p->l, pos, "pass true or false", "the parameter's value %.60s is neither true nor false", text);
	return yes;
}

/* Return the value of an option with the type of its default, which is NULL for a truth value. */
static struct lang_node *option_value(struct lang_parser *p, const char *text, struct lang_node *other, uint32_t pos)
{
	uint64_t v = 0;

	if (!other || other->type.base == LANG_BOOL)
		return text  ? constant(p, pos, is_true(p, text, pos), LANG_BOOL) :
		       other ? other :
			       constant(p, pos, 0, LANG_BOOL);
	if (!text)
		return other;
	if (other->kind == LANG_N_STRING) {
		other->text = text;
		return other;
	}
	if (!text[0] || lang_number(text, strlen(text), &v) != strlen(text))
		lang_fail(p->l, pos, "pass a number", "the parameter's value %.60s is not a number", text);
	return constant(p, pos, v, LANG_INT);
}

static struct lang_node *option(struct lang_parser *p, uint32_t pos)
{
	const char *name = p->lex.string;
	struct lang_node *other = NULL;

	lang_expect(p, LANG_T_STRING, "as the name of the parameter");
	if (lang_accept(p, LANG_T_COMMA)) {
		other = lang_expression(p);
		if (other->kind != LANG_N_NUMBER && other->kind != LANG_N_STRING)
			lang_fail(p->l, other->pos, "getopt(\"count\", 5)", "the default of getopt() must be a literal");
	}
	if (lang_accept(p, LANG_T_COMMA))
		lang_expect(p, LANG_T_STRING, "as the description");
	lang_expect(p, LANG_T_CLOSE, "after the arguments");
	return option_value(p, find_option(p->l, name), other, pos);
}

struct lang_node *lang_constant(struct lang_parser *p, const char *word, uint32_t pos)
{
	bool is_size = !strcmp(word, "sizeof");

	if (!is_size && strcmp(word, "getopt"))
		return NULL;
	lang_expect(p, LANG_T_OPEN, "after the function's name");
	return is_size ? size_of_type(p, pos) : option(p, pos);
}

/* -- clocks -- */

static uint64_t time_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct lang_node *lang_clock(struct lang_parser *p, struct lang_node *n, const char *clock)
{
	bool is_boot = !strcmp(clock, "boot"), is_tai = !strcmp(clock, "tai") || !strcmp(clock, "sw_tai");
	struct lang_node *sum;

	if (!is_boot && !is_tai)
		return n;
	sum = lang_node(p, LANG_N_BINARY, n->pos);
	sum->op = LANG_T_ADD;
	sum->a = n;
	sum->b = constant(p, n->pos, time_of(is_boot ? CLOCK_BOOTTIME : CLOCK_TAI) - time_of(CLOCK_MONOTONIC), LANG_INT);
	return sum;
}
