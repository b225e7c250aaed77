/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a struct or an array in one word. The forms are the text of write.c, a C initializer, and JSON:
 *
 *   { .member = VALUE, ... }   { VALUE, ... }   { VALUE <repeats N times> }
 *   {"member": VALUE, ...}   {member: VALUE, ...}   [VALUE, ...]
 *   ["0x01", "0x02", ...]: all bytes of a struct or of a value without a type, as bpftool-map(8) prints them
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "core/load/load.h"
#include "read.h"
#include "typed.h"

static const char *skip_space(const char *s)
{
	return s + strspn(s, " \t\n");
}

/*
 * Returns the end of a value without quotes. Blanks inside belong to the value, as in 1.2 ms. So do commas in
 * parentheses and angle brackets, as in the name of a C++ kernel.
 */
static const char *find_value_end(const char *s)
{
	const char *start = s;
	int nested = 0;

	for (; *s && strncmp(s, "<repeats ", 9) && !strchr(nested ? "{}[]" : ",{}[]", *s); s++)
		nested += *s == '(' || *s == '<' ? 1 : nested && (*s == ')' || *s == '>') ? -1 : 0;
	while (s > start && strchr(" \t\n", s[-1]))
		s--;
	return s;
}

/* Returns the character for the escape sequence at *s, which follows a backslash, and advances *s to its last character. */
static char unescape(const char **s)
{
	char digits[5] = "";

	if (**s == 'n' || **s == 't')
		return **s == 'n' ? '\n' : '\t';
	if (**s != 'u' || strspn(*s + 1, "0123456789abcdefABCDEF") < 4)
		return **s;
	memcpy(digits, *s + 1, 4);
	*s += 4;
	return (char)strtoul(digits, NULL, 16);
}

/*
 * Returns the word at *text, in quotes or up to a separator, or NULL if memory runs out. The caller frees it. If
 * `member` is true, the word is a member's name and gets a leading dot.
 */
static char *take_word(const char **text, bool member)
{
	bool quoted = **text == '"';
	const char *s = *text + quoted, *end;
	char *word = malloc(strlen(s) + 2);
	size_t n = 0;

	if (!word)
		return NULL;
	end = quoted ? s + strlen(s) : member ? s + strcspn(s, " \t\n,{}[]:=") : find_value_end(s);
	if (member && **text != '.')
		word[n++] = '.';
	for (; s < end && !(quoted && *s == '"'); s++) {
		bool escaped = quoted && *s == '\\' && s[1];

		s += escaped;
		word[n++] = escaped ? unescape(&s) : *s;
	}
	word[n] = '\0';
	*text = s + (quoted && *s);
	return word;
}

/* Returns true if braces without a member's name hold the i-th member, and not members of the struct itself. */
static bool holds_member(struct reading *r, const struct spot *at, uint32_t i)
{
	struct spot member;
	const struct btf_type *t = typed_nth_member(r, at, i, &member) ? typed_real_type(r, member.type) : NULL;

	return t && (btf_is_composite(t) || btf_is_array(t));
}

static int enter_nth(struct reading *r, uint32_t i, bool named, struct spot *at)
{
	if (named)
		return typed_refuse(r, "name all members, as in .NAME = VALUE, or none");
	return typed_nth_member(r, at, i, at) ? 0 : typed_refuse(r, "there is no member number %u", i + 1);
}

/*
 * Parses `.NAME =` or `"NAME":` and changes *at from the struct to this member. A value without a name is the i-th
 * member. `*named` receives true if a name was found.
 */
static int enter_member(struct reading *r, const char **text, uint32_t i, bool *named, struct spot *at)
{
	const char *after = *text;
	char *name;
	const char *path;
	int err;

	if (**text == '{' || **text == '[')
		return holds_member(r, at, i) && !*named ? enter_nth(r, i, false, at) : 0;
	name = take_word(&after, true);
	path = name;
	after = skip_space(after);
	if (!name) {
		err = typed_refuse(r, "not enough memory");
	} else if (*after == '=' || *after == ':') {
		*named = true;
		err = typed_step_member(r, &path, at);
		*text = err ? *text : skip_space(after + 1);
	} else if (**text == '.') {
		err = typed_refuse(r, "%s: write a member and its value as .NAME = VALUE", name);
	} else {
		err = enter_nth(r, i, *named, at);
	}
	free(name);
	return err;
}

static int enter_element(struct reading *r, const struct btf_array *a, uint32_t i, struct spot *at)
{
	int64_t size = btf__resolve_size(r->btf, a->type);

	if (i >= a->nelems || size < 0)
		return typed_refuse(r, "there is no element [%u]", i);
	*at = (struct spot){ a->type, at->bit + i * (uint64_t)size * 8, 0 };
	return 0;
}

/* Parses `<repeats N times>` after element *i of an array, and copies the element to the next N - 1 elements. */
static int repeat_element(struct reading *r, const struct btf_array *a, const struct spot *element, uint32_t *i,
			  const char **text)
{
	static const char begin[] = "<repeats ", end[] = " times>";
	int64_t size = btf__resolve_size(r->btf, a->type);
	uint64_t at = element->bit / 8;
	unsigned long n;
	char *after;

	if (strncmp(*text, begin, sizeof(begin) - 1))
		return 0;
	n = strtoul(*text + sizeof(begin) - 1, &after, 10);
	if (strncmp(after, end, sizeof(end) - 1) || !n || size < 0 || n > a->nelems - *i || at + n * size > r->size)
		return typed_refuse(r, "%s: the array has no room for it", *text);
	for (unsigned long k = 1; k < n; k++)
		memcpy(r->data + at + k * size, r->data + at, size);
	*i += n - 1;
	*text = skip_space(after + sizeof(end) - 1);
	return 0;
}

/* Parses all bytes of the value at *at, such as ["0x01", 2]. */
static int read_byte_list(struct reading *r, const struct spot *at, const char **text)
{
	int64_t size = at->type ? btf__resolve_size(r->btf, at->type) : (int64_t)r->size;
	uint32_t i = 0;
	int err = 0;

	for (*text = skip_space(*text + 1); !err && **text && **text != ']'; i++) {
		char *word = take_word(text, false), *end = NULL;
		unsigned long byte = word ? strtoul(word, &end, 0) : 0;

		if (!word || end == word || *end || byte > 255 || word[0] == '-')
			err = typed_refuse(r, "%s is not a byte", word ? word : "nothing");
		else if (i < size)
			err = typed_put_bits(r, at->bit + 8ull * i, 8, byte);
		free(word);
		*text = skip_space(*text);
		if (!err && **text != ',' && **text != ']')
			err = typed_refuse(r, "%s: expected , or ] before it", **text ? *text : "nothing");
		*text = !err && **text == ',' ? skip_space(*text + 1) : *text;
	}
	*text += **text == ']';
	return err || i == size ? err : typed_refuse(r, "it has %lld bytes, not %u", (long long)size, i);
}

static int read_each(struct reading *r, const struct spot *at, const char **text, int depth);

static int read_one(struct reading *r, const struct spot *at, const char **text, int depth)
{
	char *word;
	int err;

	if (**text == '{' || **text == '[')
		return read_each(r, at, text, depth);
	word = take_word(text, false);
	err = word ? typed_read_scalar(r, at, word) : typed_refuse(r, "not enough memory");
	free(word);
	return err;
}

/* Parses one element or member, without the separator that follows it. */
static int read_part(struct reading *r, const struct spot *at, const char **text, int depth, uint32_t *i, bool *named)
{
	const struct btf_type *t = typed_real_type(r, at->type);
	const struct btf_array *a = t && btf_is_array(t) ? btf_array(t) : NULL;
	struct spot in = *at;
	int err = a ? enter_element(r, a, *i, &in) : enter_member(r, text, *i, named, &in);

	if (!err)
		err = read_one(r, &in, text, depth + 1);
	*text = skip_space(*text);
	return err || !a ? err : repeat_element(r, a, &in, i, text);
}

/* Parses the elements between an opening bracket and the matching closing bracket. */
static int read_each(struct reading *r, const struct spot *at, const char **text, int depth)
{
	const struct btf_type *t = typed_real_type(r, at->type);
	char end = **text == '{' ? '}' : ']';
	int err = depth < GPUBPF_TYPED_DEPTH ? 0 : typed_refuse(r, "it is nested more than %d times", GPUBPF_TYPED_DEPTH);
	bool named = false;

	if (!err && end == ']' && (!t || btf_is_composite(t)))
		return read_byte_list(r, at, text);
	*text = skip_space(*text + 1);
	for (uint32_t i = 0; !err && **text != end; i++) {
		err = read_part(r, at, text, depth, &i, &named);
		if (!err && **text != ',' && **text != end)
			err = typed_refuse(r, "%s: expected , or %c before it", **text ? *text : "nothing", end);
		*text = !err && **text == ',' ? skip_space(*text + 1) : *text;
	}
	*text += !err;
	return err;
}

bool typed_is_whole(const char *word)
{
	return word[0] == '{' || (word[0] == '[' && word[strlen(word) - 1] == ']');
}

int typed_read_whole(struct reading *r, const struct spot *at, const char *word)
{
	const char *s = word;
	int err = read_each(r, at, &s, 0);

	return !err && *skip_space(s) ? typed_refuse(r, "%s follows the end of the value", skip_space(s)) : err;
}

/* Parses a scalar or text. Quotes around the whole word are not part of it, as in the text of write.c. */
static int read_bare(struct reading *r, const struct spot *at, const char *word)
{
	const char *after = word;
	char *inner;
	int err;

	if (word[0] != '"')
		return typed_read_scalar(r, at, word);
	inner = take_word(&after, false);
	if (inner && !*after && after - word > 1 && after[-1] == '"')
		err = typed_read_scalar(r, at, inner);
	else
		err = inner ? typed_read_scalar(r, at, word) : typed_refuse(r, "not enough memory");
	free(inner);
	return err;
}

int typed_read_word(struct reading *r, const struct spot *at, const char *word)
{
	const struct btf_type *t = typed_real_type(r, at->type);
	bool text = t && btf_is_array(t) && typed_is_char(r, btf_array(t)->type);

	if (!typed_is_whole(word) || text)
		return read_bare(r, at, word);
	if (t ? btf_is_composite(t) || btf_is_array(t) : word[0] == '[' && !at->type)
		return typed_read_whole(r, at, word);
	return read_bare(r, at, word);
}
