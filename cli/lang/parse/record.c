/* SPDX-License-Identifier: Apache-2.0 */
/* Parses definitions of struct, union, enum and typedef before the probes. Members lie where a C compiler puts them. */
#include <string.h>

#include "parse.h"

#define MAX_ELEMENTS (1u << 24) /* maximum number of elements of an array */

/* the struct or union that is being defined: where its next member lies */
struct layout {
	struct lang_record *record;
	struct lang_member **end;
	bool is_union;
	uint64_t bit; /* bits so far */
	bool packed;
	uint32_t anonymous; /* the number of structs without a name so far */
};

static const struct lang_ctype *member_type(struct lang_parser *p);

static uint32_t alignment(const struct lang_ctype *c)
{
	if (c->kind == LANG_C_ARRAY)
		return alignment(c->of);
	return c->kind == LANG_C_RECORD ? c->record->align : c->bytes;
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return to ? (n + to - 1) / to * to : n;
}

/* Add a member. bits: the width of a bit-field, or 0. A bit-field that crosses a number of its type begins a new one. */
static void add_member(struct lang_parser *p, struct layout *s, const char *name, const struct lang_ctype *type,
		       uint32_t bits)
{
	struct lang_member *m = lang_alloc(p->l, sizeof(*m));
	uint32_t align = s->packed ? 1 : alignment(type), unit = 8 * type->bytes;

	if (!m)
		return;
	if (s->is_union)
		s->bit = 0;
	if (!bits || s->bit / unit != (s->bit + bits - 1) / unit)
		s->bit = round_up(s->bit, 8ull * (bits ? type->bytes : align));
	*m = (struct lang_member){ .name = name, .type = type, .at = (uint32_t)(s->bit / 8) };
	if (bits) {
		m->at = (uint32_t)(s->bit / unit * type->bytes);
		m->bit = (uint32_t)(s->bit % unit);
		m->bits = bits;
	}
	s->bit += bits ? bits : 8ull * type->bytes;
	*s->end = m;
	s->end = &m->next;
	if (align > s->record->align)
		s->record->align = align;
	if (round_up(s->bit, 8) / 8 > s->record->type.bytes)
		s->record->type.bytes = (uint32_t)(round_up(s->bit, 8) / 8);
	if (s->bit / 8 > MAX_ELEMENTS)
		lang_fail(p->l, p->lex.pos, "use a pointer", "the struct is larger than %u bytes", MAX_ELEMENTS);
}

/* Parse a number of a definition: a literal or an enumerator. */
static uint64_t constant(struct lang_parser *p)
{
	bool minus = lang_accept(p, LANG_T_SUB);
	const struct lang_enumerator *e = p->lex.token == LANG_T_WORD ? lang_enumerator(p, p->lex.string) : NULL;
	uint64_t v = e ? e->value : p->lex.number;

	if (!e && p->lex.token != LANG_T_NUMBER)
		lang_fail(p->l, p->lex.pos, "write the number", "a number is needed here");
	lang_next(&p->lex);
	return minus ? -v : v;
}

/* Parse [N][M] after the name of a member. */
static const struct lang_ctype *dimensions(struct lang_parser *p, const struct lang_ctype *of)
{
	struct lang_ctype *c = lang_alloc(p->l, sizeof(*c));
	uint32_t pos = p->lex.pos;
	uint64_t n = 0;

	if (p->lex.token != LANG_T_LBRACKET || !c)
		return of;
	lang_next(&p->lex);
	if (p->lex.token != LANG_T_RBRACKET)
		n = constant(p);
	lang_expect(p, LANG_T_RBRACKET, "after the number of elements");
	lang_enter_nesting(p);
	of = dimensions(p, of);
	p->depth--;
	if (n > MAX_ELEMENTS || n * of->bytes > MAX_ELEMENTS) {
		lang_fail(p->l, pos, "use a pointer", "the array is larger than %u bytes", MAX_ELEMENTS);
		return of;
	}
	*c = (struct lang_ctype){ .kind = LANG_C_ARRAY, .of = of, .n = (uint32_t)n, .bytes = (uint32_t)n * of->bytes };
	return c;
}

/* Parse the rest of a pointer to a function, after its first parenthesis: *name)(arguments). */
static const char *function_pointer(struct lang_parser *p)
{
	const char *name;
	uint32_t depth = 0;

	lang_expect(p, LANG_T_MUL, "in a pointer to a function");
	name = p->lex.string;
	lang_expect(p, LANG_T_WORD, "as the name of the member");
	lang_expect(p, LANG_T_CLOSE, "after the name");
	do {
		depth += p->lex.token == LANG_T_OPEN;
		depth -= p->lex.token == LANG_T_CLOSE && depth;
		lang_next(&p->lex);
	} while (depth && p->lex.token != LANG_T_END);
	return name;
}

static void declarator(struct lang_parser *p, struct layout *s, const struct lang_ctype *base)
{
	const struct lang_ctype *type = lang_pointers(p, base);
	uint32_t pos = p->lex.pos;
	const char *name = p->lex.string;
	uint64_t bits = 0;

	if (lang_accept(p, LANG_T_OPEN)) {
		name = function_pointer(p);
		type = lang_ctype_pointer(p->l, NULL);
	} else {
		lang_expect(p, LANG_T_WORD, "as the name of the member");
	}
	if (!type) {
		lang_fail(p->l, pos, "use a pointer: void *", "a member cannot be void");
		return;
	}
	if (!type->bytes && type->kind != LANG_C_ARRAY)
		lang_ctype_size(p, type, pos);
	type = dimensions(p, type);
	if (lang_accept(p, LANG_T_COLON)) {
		bits = constant(p);
		if (type->kind != LANG_C_INT || !bits || bits > 8 * type->bytes)
			lang_fail(p->l, pos, "a bit-field has 1 to 8 * sizeof(type) bits, and the type of a number",
				  "the width of this bit-field is not possible");
	}
	if (!p->l->failed)
		add_member(p, s, name, type, (uint32_t)bits);
}

static void skip_attribute(struct lang_parser *p, bool *packed)
{
	uint32_t depth = 0;

	while (lang_word_is(p, "__attribute__") && !p->l->failed) {
		lang_next(&p->lex);
		do {
			depth += p->lex.token == LANG_T_OPEN;
			depth -= p->lex.token == LANG_T_CLOSE && depth;
			*packed |= lang_word_is(p, "packed") || lang_word_is(p, "__packed__");
			lang_next(&p->lex);
		} while (depth && p->lex.token != LANG_T_END);
	}
}

/* Returns true if the body that begins at the current token, {, has the attribute `packed` after it. */
static bool is_packed(struct lang_parser *p)
{
	struct lang_parser ahead = *p;
	uint32_t depth = 0;
	bool packed = false;

	do {
		depth += ahead.lex.token == LANG_T_LBRACE;
		depth -= ahead.lex.token == LANG_T_RBRACE && depth;
		lang_next(&ahead.lex);
	} while (depth && ahead.lex.token != LANG_T_END);
	skip_attribute(&ahead, &packed);
	return packed;
}

/* Parse { members } of a struct or union. Afterwards the current token follows the body and its attributes. */
static void body(struct lang_parser *p, struct lang_record *record, bool is_union, bool packed)
{
	struct layout s = { record, &record->members, is_union, .packed = packed };

	if (record->is_known)
		lang_fail(p->l, p->lex.pos, "choose another name", "%s is already defined", record->name);
	s.packed |= is_packed(p);
	lang_expect(p, LANG_T_LBRACE, "at the start of the members");
	lang_enter_nesting(p);
	while (p->lex.token != LANG_T_RBRACE && p->lex.token != LANG_T_END && !p->l->failed) {
		const struct lang_ctype *type = member_type(p);

		if (type && type->kind == LANG_C_RECORD && p->lex.token == LANG_T_SEMICOLON)
			add_member(p, &s, "", type, 0);
		else
			do {
				declarator(p, &s, type);
			} while (lang_accept(p, LANG_T_COMMA) && !p->l->failed);
		lang_expect(p, LANG_T_SEMICOLON, "after the member");
	}
	p->depth--;
	if (p->lex.token == LANG_T_END)
		lang_fail(p->l, p->lex.pos, "end it with }", "the struct is not terminated");
	record->is_known = true;
	record->type.bytes = (uint32_t)round_up(record->type.bytes, record->align);
	lang_next(&p->lex);
	skip_attribute(p, &packed);
}

static void enumerators(struct lang_parser *p, const struct lang_ctype *type)
{
	uint64_t value = 0;

	lang_expect(p, LANG_T_LBRACE, "at the start of the enumerators");
	while (p->lex.token != LANG_T_RBRACE && p->lex.token != LANG_T_END && !p->l->failed) {
		struct lang_enumerator *e = lang_alloc(p->l, sizeof(*e));

		if (!e)
			return;
		e->name = p->lex.string;
		lang_expect(p, LANG_T_WORD, "as the name of an enumerator");
		value = lang_accept(p, LANG_T_SET) ? constant(p) : value;
		e->value = value++;
		e->type = type;
		e->next = p->l->enumerators;
		p->l->enumerators = e;
		if (!lang_accept(p, LANG_T_COMMA))
			break;
	}
	if (p->lex.token != LANG_T_RBRACE)
		lang_expect(p, LANG_T_RBRACE, "after the enumerators");
	lang_next(&p->lex);
}

static void add_typename(struct lang_parser *p, const char *name, const struct lang_ctype *type)
{
	struct lang_typename *t = lang_alloc(p->l, sizeof(*t));

	if (t && type)
		*t = (struct lang_typename){ p->l->typenames, name, type };
	if (t && type)
		p->l->typenames = t;
}

static const struct lang_ctype *enum_definition(struct lang_parser *p, const char *name)
{
	struct lang_ctype *type = lang_alloc(p->l, sizeof(*type));

	if (!type)
		return NULL;
	*type = (struct lang_ctype){ .kind = LANG_C_INT, .bytes = 4, .is_signed = true, .is_enum = true };
	add_typename(p, name, type);
	enumerators(p, type);
	return type;
}

/* Parse a type, which may be the definition of a struct, union or enum. */
static const struct lang_ctype *member_type(struct lang_parser *p)
{
	struct lang_parser ahead = *p;
	const char *tag = p->lex.string, *name;
	struct lang_record *record;
	bool packed = false;

	if (!lang_is_tag(p))
		return lang_base_type(p);
	lang_next(&ahead.lex);
	skip_attribute(&ahead, &packed);
	name = ahead.lex.token == LANG_T_WORD ? ahead.lex.string : lang_format(p->l, "(at %u)", p->lex.pos);
	if (ahead.lex.token == LANG_T_WORD)
		lang_next(&ahead.lex);
	if (ahead.lex.token != LANG_T_LBRACE)
		return lang_base_type(p);
	p->lex = ahead.lex;
	name = lang_format(p->l, "%s %s", tag, name);
	if (!strcmp(tag, "enum"))
		return enum_definition(p, name);
	record = lang_record_named(p, name);
	if (!record)
		return NULL;
	body(p, record, !strcmp(tag, "union"), packed);
	return &record->type;
}

/* Parse struct ... ; or typedef ... NAME; The current token is its first word. */
void lang_type_definition(struct lang_parser *p)
{
	bool is_typedef = lang_word_is(p, "typedef");
	const struct lang_ctype *type;

	p->defines = true;
	if (is_typedef)
		lang_next(&p->lex);
	type = member_type(p);
	if (is_typedef) {
		type = lang_pointers(p, type);
		if (p->lex.token != LANG_T_WORD)
			lang_expect(p, LANG_T_WORD, "as the name of the type");
		const char *name = p->lex.string;

		lang_next(&p->lex);
		type = dimensions(p, type);
		add_typename(p, name, type);
	}
	p->defines = false;
	/* a semicolon may follow; other text belongs to the next declaration or probe */
	if (p->lex.token != LANG_T_SEMICOLON)
		p->lex.at = p->lex.token == LANG_T_END ? p->lex.at : p->lex.pos;
}

const struct lang_enumerator *lang_enumerator(const struct lang_parser *p, const char *name)
{
	const struct lang_enumerator *e = p->l->enumerators;

	while (e && strcmp(e->name, name))
		e = e->next;
	return e;
}
