/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the names of types: unsigned long, struct pair *, and names of typedef. */
#include <string.h>

#include "parse.h"

bool lang_type_named(const char *word, uint32_t *bits, bool *is_signed)
{
	static const struct {
		const char *name;
		uint32_t bits;
		bool is_signed;
	} types[] = {
		{ "bool", 8, false },      { "char", 8, true },       { "uchar", 8, false },
		{ "short", 16, true },     { "ushort", 16, false },   { "int", 32, true },
		{ "uint", 32, false },     { "unsigned", 32, false }, { "long", 64, true },
		{ "ulong", 64, false },    { "size_t", 64, false },   { "int8", 8, true },
		{ "int16", 16, true },     { "int32", 32, true },     { "int64", 64, true },
		{ "uint8", 8, false },     { "uint16", 16, false },   { "uint32", 32, false },
		{ "uint64", 64, false },   { "int8_t", 8, true },     { "int16_t", 16, true },
		{ "int32_t", 32, true },   { "int64_t", 64, true },   { "uint8_t", 8, false },
		{ "uint16_t", 16, false }, { "uint32_t", 32, false }, { "uint64_t", 64, false },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].name, word)) {
			*bits = types[i].bits;
			*is_signed = types[i].is_signed;
			return true;
		}
	return false;
}

bool lang_target_named(const char *word, uint32_t *bits, bool *is_signed)
{
	*is_signed = false;
	*bits = !strcmp(word, "half") ? 16 : !strcmp(word, "float") ? 32 : !strcmp(word, "double") ? 64 : 0;
	return *bits || lang_type_named(word, bits, is_signed);
}

/* words of C, OpenCL C and CUDA that do not change a type */
static const char *const qualifiers[] = { "const",    "volatile", "restrict",   "__restrict", "global",
					  "__global", "constant", "__constant", "__user",     "local" };

static bool is_one_of(const struct lang_parser *p, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (lang_word_is(p, words[i]))
			return true;
	return false;
}

static bool is_qualifier(const struct lang_parser *p)
{
	return is_one_of(p, qualifiers, sizeof(qualifiers) / sizeof(qualifiers[0]));
}

bool lang_is_tag(const struct lang_parser *p)
{
	return lang_word_is(p, "struct") || lang_word_is(p, "union") || lang_word_is(p, "enum");
}

static const struct lang_ctype *find_typename(const struct lang *l, const char *name)
{
	for (const struct lang_typename *t = l->typenames; t; t = t->next)
		if (!strcmp(t->name, name))
			return t->type;
	return NULL;
}

bool lang_begins_type(struct lang_parser *p)
{
	static const char *const others[] = { "unsigned", "signed", "void" };

	return p->lex.token == LANG_T_WORD && !lang_parameter(p, p->lex.string, p->lex.pos) &&
	       (lang_is_tag(p) || is_qualifier(p) || is_one_of(p, others, 3) || find_typename(p->l, p->lex.string));
}

struct lang_record *lang_record_named(struct lang_parser *p, const char *name)
{
	struct lang_record *r = p->l->structs;

	while (r && (r->btf || strcmp(r->name, name)))
		r = r->next;
	if (r)
		return r;
	r = lang_alloc(p->l, sizeof(*r));
	if (!r)
		return NULL;
	*r = (struct lang_record){ .next = p->l->structs, .name = name, .align = 1 };
	r->type = (struct lang_ctype){ .kind = LANG_C_RECORD, .record = r };
	p->l->structs = r;
	return r;
}

/* Parse struct NAME, union NAME or enum NAME. A struct that the text does not define may be one of the Linux kernel. */
static const struct lang_ctype *tagged(struct lang_parser *p)
{
	const char *tag = p->lex.string, *name;
	const struct lang_record *found;
	struct lang_record *r;

	lang_next(&p->lex);
	if (p->lex.token != LANG_T_WORD) {
		lang_fail(p->l, p->lex.pos, "struct pair { int a; int b; }", "%s needs a name", tag);
		return NULL;
	}
	name = lang_format(p->l, "%s %s", tag, p->lex.string);
	lang_next(&p->lex);
	if (!strcmp(tag, "enum")) {
		if (!find_typename(p->l, name))
			lang_fail(p->l, p->lex.pos, "define it: enum color { RED, GREEN }", "%s is not defined", name);
		return find_typename(p->l, name);
	}
	for (r = p->l->structs; r; r = r->next)
		if (!r->btf && !strcmp(r->name, name))
			return &r->type;
	found = p->defines ? NULL : lang_btf_record(p->l, name);
	if (found)
		return &found->type;
	r = lang_record_named(p, name);
	return r ? &r->type : NULL;
}

/* Parse the words of a number's type, such as unsigned long long. Returns NULL for void and for unknown words. */
static const struct lang_ctype *number(struct lang_parser *p, bool *known)
{
	bool is_unsigned = false, is_signed = true, is_char = false, is_bool = false, one_signed;
	uint32_t bits = 0, one;

	*known = false;
	while (p->lex.token == LANG_T_WORD) {
		if (lang_word_is(p, "unsigned") || lang_word_is(p, "signed")) {
			is_unsigned |= lang_word_is(p, "unsigned");
			bits = bits ? bits : 32;
		} else if (lang_word_is(p, "void") && !*known) {
			bits = 0;
		} else if (!is_qualifier(p)) {
			if (!lang_target_named(p->lex.string, &one, &one_signed) ||
			    (*known && !lang_word_is(p, "int") && !lang_word_is(p, "long") &&
			     !lang_word_is(p, "short") && !lang_word_is(p, "char")))
				break;
			is_char |= lang_word_is(p, "char");
			is_bool |= lang_word_is(p, "bool");
			is_signed = one_signed;
			bits = lang_word_is(p, "int") && bits ? bits : one;
		}
		*known = true;
		lang_next(&p->lex);
	}
	if (!bits)
		return NULL;
	struct lang_ctype *c = lang_alloc(p->l, sizeof(*c));

	if (c)
		*c = (struct lang_ctype){ .kind = LANG_C_INT,
					  .bytes = bits / 8,
					  .is_signed = is_signed && !is_unsigned,
					  .is_char = is_char && !is_unsigned,
					  .is_bool = is_bool };
	return c;
}

const struct lang_ctype *lang_base_type(struct lang_parser *p)
{
	const struct lang_ctype *found;
	uint32_t pos;
	bool known;

	while (is_qualifier(p))
		lang_next(&p->lex);
	pos = p->lex.pos;
	if (lang_is_tag(p))
		return tagged(p);
	found = p->lex.token == LANG_T_WORD ? find_typename(p->l, p->lex.string) : NULL;
	if (found) {
		lang_next(&p->lex);
		return found;
	}
	found = number(p, &known);
	if (!known)
		lang_fail(p->l, pos, "use int, uint32_t, struct NAME, or a name of typedef",
			  "this is not the name of a type");
	return found;
}

const struct lang_ctype *lang_pointers(struct lang_parser *p, const struct lang_ctype *c)
{
	for (;;) {
		if (lang_accept(p, LANG_T_MUL))
			c = lang_ctype_pointer(p->l, c);
		else if (is_qualifier(p))
			lang_next(&p->lex);
		else
			return c;
	}
}

uint32_t lang_ctype_size(struct lang_parser *p, const struct lang_ctype *c, uint32_t pos)
{
	if (!c || !c->bytes)
		lang_fail(p->l, pos, "define it: struct NAME { int a; };", "the size of %s is not known",
			  c && c->kind == LANG_C_RECORD ? c->record->name : "void");
	return c ? c->bytes : 0;
}
