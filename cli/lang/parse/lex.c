/* SPDX-License-Identifier: Apache-2.0 */
/* Splits the text into tokens. After an error, only LANG_T_END is returned, so that the parser stops. */
#include <ctype.h>
#include <string.h>

#include "parse.h"

static const struct {
	const char *text;
	enum lang_token token;
} tokens[] = {
#define LANG_TOKEN(name, text, precedence, assigns) { text, LANG_T_##name },
#include "cli/lang/tree/tokens.def"
};

static const struct {
	const char *suffix;
	uint64_t ns;
} durations[] = {
	{ "ns", 1 },          { "us", 1000 },         { "ms", 1000000 },       { "s", 1000000000 },
	{ "m", 60000000000 }, { "h", 3600000000000 }, { "d", 86400000000000 },
};

uint32_t lang_end(const struct lang_lex *x)
{
	if (x->nreplacements)
		return x->replacement[x->nreplacements - 1].define->end;
	return x->limit ? x->limit : lang_source_end(x->l, x->at);
}

static char at(const struct lang_lex *x, uint32_t ahead)
{
	return x->at + ahead < lang_end(x) ? x->l->text[x->at + ahead] : '\0';
}

bool lang_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void skip_comment(struct lang_lex *x)
{
	uint32_t begin = x->at;

	x->at += 2;
	while (x->at < lang_end(x) && !(at(x, 0) == '*' && at(x, 1) == '/'))
		x->at++;
	if (x->at >= lang_end(x))
		lang_fail(x->l, begin, "end it with */", "the comment is not terminated");
	else
		x->at += 2;
	x->l->lexed += x->at - begin;
}

void lang_skip(struct lang_lex *x)
{
	while (!x->l->failed) {
		bool shebang = !x->at && at(x, 0) == '#' && at(x, 1) == '!';

		if (++x->l->lexed > LANG_LEXED_SIZE)
			lang_fail(x->l, x->at, "use fewer #define and macros",
				  "the text is too long after they are expanded");
		if (x->at >= lang_end(x)) {
			if (!x->nreplacements)
				return;
			x->at = x->replacement[--x->nreplacements].after;
		} else if (isspace((unsigned char)at(x, 0)))
			x->at++;
		else if (at(x, 0) == '\\' && at(x, 1) == '\n')
			x->at += 2;
		else if (at(x, 0) == '/' && at(x, 1) == '*')
			skip_comment(x);
		else if (shebang || (at(x, 0) == '/' && at(x, 1) == '/'))
			for (; x->at < lang_end(x) && at(x, 0) != '\n'; x->at++)
				x->l->lexed++;
		else
			return;
	}
}

/* -- numbers -- */

static bool add_digit(uint64_t *v, unsigned int base, unsigned int digit)
{
	return !__builtin_mul_overflow(*v, base, v) && !__builtin_add_overflow(*v, digit, v);
}

static unsigned int digit_of(char c)
{
	return isdigit((unsigned char)c)  ? c - '0' :
	       isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 :
					    99;
}

/* Parse an exponent such as e6 at *i, and multiply *v by that power of ten. Returns false if the result overflows. */
static bool exponent(const char *text, uint32_t n, uint32_t *i, uint64_t *v)
{
	uint64_t e = 0;

	if (*i + 1 >= n || tolower((unsigned char)text[*i]) != 'e' || !isdigit((unsigned char)text[*i + 1]))
		return true;
	for ((*i)++; *i < n && isdigit((unsigned char)text[*i]); (*i)++)
		if (!add_digit(&e, 10, digit_of(text[*i])) || e > 19)
			return false;
	while (e--)
		if (!add_digit(v, 10, 0))
			return false;
	return true;
}

/* Parse the suffix of a number. A unit of time multiplies the number; the suffixes of C (u, l) have no effect. */
static bool suffix(const char *text, uint32_t n, uint64_t *v)
{
	if (strspn(text, "uUlL") >= n)
		return true;
	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++)
		if (strlen(durations[i].suffix) == n && !strncmp(text, durations[i].suffix, n))
			return !__builtin_mul_overflow(*v, durations[i].ns, v);
	return false;
}

uint32_t lang_number(const char *text, size_t size, uint64_t *value)
{
	unsigned int base = 10;
	uint32_t n = 0, i = 0, first;
	uint64_t v = 0;

	while (n < size && lang_is_word(text[n]))
		n++;
	if (!n || !isdigit((unsigned char)text[0]))
		return 0;
	if (n > 2 && text[0] == '0' && tolower((unsigned char)text[1]) == 'x') {
		base = 16;
		i = 2;
	} else if (n > 1 && text[0] == '0' && isdigit((unsigned char)text[1])) {
		base = 8;
	}
	for (first = i; i < n && (digit_of(text[i]) < base || (text[i] == '_' && i > first)); i++)
		if (text[i] != '_' && !add_digit(&v, base, digit_of(text[i])))
			return 0;
	if (i == first || (base == 10 && !exponent(text, n, &i, &v)) || !suffix(text + i, n - i, &v))
		return 0;
	*value = v;
	return n;
}

/* -- strings -- */

static int escape(struct lang_lex *x, char *c)
{
	static const char from[] = "ntr\\\"", to[] = "\n\t\r\\\"";
	const char *known = strchr(from, at(x, 0));
	unsigned int base = at(x, 0) == 'x' ? 16 : 8, max_digits = 3, v = 0, n = 0;

	if (at(x, 0) && known) {
		*c = to[known - from];
		x->at++;
		return 0;
	}
	if (base == 16) {
		x->at++;
		max_digits = 2;
	}
	for (; n < max_digits && digit_of(at(x, 0)) < base; n++, x->at++)
		v = v * base + digit_of(at(x, 0));
	if (!n || !v || v > 255)
		return lang_fail(x->l, x->at - (x->at > 0), "\\n \\t \\r \\\\ \\\" \\x41 and \\101 are supported",
				 "unknown escape sequence in a string");
	*c = (char)v;
	return 0;
}

static void string(struct lang_lex *x)
{
	char buf[LANG_STRING_SIZE];
	uint32_t n = 0;

	x->token = LANG_T_STRING;
	for (x->at++; x->at < lang_end(x) && at(x, 0) != '"';) {
		char c = at(x, 0);

		x->at++;
		if (c == '\n')
			break;
		if (c == '\\' && escape(x, &c) < 0)
			return;
		if (n == sizeof(buf) - 1) {
			lang_fail(x->l, x->pos, "print it in parts", "the string has more than %u bytes",
				  LANG_STRING_SIZE - 1);
			return;
		}
		buf[n++] = c;
	}
	if (at(x, 0) != '"') {
		lang_fail(x->l, x->pos, "end it with \" in the same line", "the string is not terminated");
		return;
	}
	x->at++;
	x->string = lang_copy(x->l, buf, n);
}

/* -- names -- */

static uint32_t word_length(const struct lang_lex *x, uint32_t from)
{
	uint32_t n = from;

	while (lang_is_word(at(x, n)))
		n++;
	return n;
}

static void name(struct lang_lex *x, enum lang_token token, uint32_t n)
{
	x->token = token;
	x->string = lang_copy(x->l, x->l->text + x->at, n);
	x->at += n;
	if (n > 48)
		lang_fail(x->l, x->pos, "shorten it", "the name has more than 48 characters");
}

/* Parse the text of a parameter as a number, which may have a sign. */
static bool signed_number(const char *text, uint64_t *value)
{
	bool minus = text[0] == '-';

	if (!text[minus] || lang_number(text + minus, strlen(text + minus), value) != strlen(text + minus))
		return false;
	*value = minus ? -*value : *value;
	return true;
}

/* Parse $1 or $#. $1 is a number if its text is a valid number, else a string. $# is the number of parameters. */
static void parameter(struct lang_lex *x)
{
	uint64_t i = 0;
	const char *text;
	uint32_t n = 1;

	x->token = LANG_T_NUMBER;
	if (at(x, 1) == '#') {
		x->at += 2;
		x->number = x->l->nparams;
		return;
	}
	while (isdigit((unsigned char)at(x, n)))
		if (!add_digit(&i, 10, digit_of(at(x, n++))))
			i = UINT32_MAX;
	x->at += n;
	text = i && i <= x->l->nparams ? x->l->params[i - 1] : "0";
	x->string = i > x->l->nparams ? "" : text;
	x->parameter = true;
	if (i && signed_number(text, &x->number))
		return;
	x->token = LANG_T_STRING;
	if (!i)
		lang_fail(x->l, x->pos, "write $1 for the first parameter", "parameters count from 1");
	else if (strlen(text) >= LANG_STRING_SIZE)
		lang_fail(x->l, x->pos, "shorten it", "the parameter has more than %u bytes", LANG_STRING_SIZE - 1);
}

/* If the word has a #define, continue with the text of its definition. */
static bool replace(struct lang_lex *x)
{
	const struct lang_define *d = x->l->defines;

	while (d && strcmp(d->name, x->string))
		d = d->next;
	for (uint32_t i = 0; d && i < x->nreplacements; i++)
		if (x->replacement[i].define == d)
			d = NULL;
	if (!d)
		return false;
	if (x->nreplacements == LANG_DEFINE_DEPTH) {
		lang_fail(x->l, x->pos, "define fewer names by other names",
			  "#define is nested more than %u levels deep", LANG_DEFINE_DEPTH);
		return false;
	}
	x->replacement[x->nreplacements++] = (struct lang_replacement){ d, x->at };
	x->at = d->begin;
	return true;
}

static void operator(struct lang_lex *x)
{
	char c = at(x, 0);

	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		size_t n = strlen(tokens[i].text);

		if (lang_end(x) - x->at < n || memcmp(x->l->text + x->at, tokens[i].text, n))
			continue;
		x->token = tokens[i].token;
		x->at += n;
		return;
	}
	if (c == '\'')
		lang_fail(x->l, x->at, "write the number, 65 for A", "character literals are not supported");
	else
		lang_fail(x->l, x->at, "remove it", "this character is not expected here");
}

void lang_next(struct lang_lex *x)
{
	char c;

	lang_skip(x);
	x->pos = x->at;
	x->token = LANG_T_END;
	x->string = "";
	x->parameter = false;
	c = at(x, 0);
	if (x->l->failed || x->at >= lang_end(x))
		return;
	if (isdigit((unsigned char)c)) {
		uint32_t n = lang_number(x->l->text + x->at, lang_end(x) - x->at, &x->number);

		x->token = LANG_T_NUMBER;
		x->at += n;
		if (!n)
			lang_fail(x->l, x->pos, "100, 0x64, 1e6, 1_000 and 5ms are numbers, up to 64 bits",
				  "this is not a valid number");
	} else if (c == '"') {
		string(x);
	} else if (c == '$' && (isdigit((unsigned char)at(x, 1)) || at(x, 1) == '#')) {
		parameter(x);
	} else if (c == '$' && lang_is_word(at(x, 1))) {
		name(x, LANG_T_VAR, word_length(x, 1));
	} else if (c == '@') {
		name(x, LANG_T_MAP, word_length(x, 1));
	} else if (lang_is_word(c)) {
		name(x, LANG_T_WORD, word_length(x, 0));
		if (replace(x)) {
			lang_next(x);
			return;
		}
	} else {
		operator(x);
	}
	x->len = x->at - x->pos;
	x->l->lexed += x->len;
	if (x->l->failed)
		x->token = LANG_T_END;
	if (!x->string)
		x->string = "";
}
