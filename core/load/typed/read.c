/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses words of a command line to a key or value; write.c does the reverse. Neither words nor types are trusted:
 * every write is checked against the value's size, every number against its type's range. These forms are accepted:
 *
 * - Bytes as in bpftool-map(8), one per word. After the word "hex" they are in base 16.
 * - All bytes in one word in base 16.
 * - Members of a struct by path (.a.b=1, .c[2]=1). Other members are zero.
 * - A scalar. An array or a struct may have one word per element or member.
 * - A struct or an array in brackets (read_whole.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "core/load/load.h"
#include "read.h"

/* Parses a word of the form .path=VALUE. */
static int read_member(struct reading *r, uint32_t type, const char *word)
{
	struct spot spot = { .type = type };
	const char *path = word;
	int err = 0;

	while (!err && (*path == '.' || *path == '['))
		err = *path == '.' ? typed_step_member(r, &path, &spot) : typed_step_element(r, &path, &spot);
	if (!err && *path != '=')
		err = typed_refuse(r, "%s: write a member and its value as .NAME=VALUE", word);
	return err < 0 ? err : typed_read_word(r, &spot, path + 1);
}

/* Parses one word for each member of a struct, as in the columns of a table. */
static int read_row(struct reading *r, uint32_t type, const char *const *words, uint32_t n)
{
	const struct spot at = { .type = type };
	struct spot member;
	int err = 0;

	if (n != r->size && typed_nth_member(r, &at, n, &member))
		return typed_refuse(r, "its struct has more than %u members; name the members, as in .x=1", n);
	for (uint32_t i = 0; i < n && !err; i++)
		err = typed_nth_member(r, &at, i, &member) ?
			      typed_read_word(r, &member, words[i]) :
			      typed_refuse(r, "it has %zu bytes or %u members, not %u", r->size, i, n);
	return err;
}

/* Parses a value without paths: one word for a scalar, one word for each element of an array or member of a struct. */
static int read_plain(struct reading *r, uint32_t type, const char *const *words, uint32_t n)
{
	const struct btf_type *t = typed_real_type(r, type);
	const struct btf_array *a = t && btf_is_array(t) ? btf_array(t) : NULL;
	int64_t size = a ? btf__resolve_size(r->btf, a->type) : -1;
	int err = 0;

	if (n == 1 && (typed_is_whole(words[0]) || !(a && a->nelems == 1 && !typed_is_char(r, a->type))))
		return typed_read_word(r, &(struct spot){ .type = type }, words[0]);
	if (t && btf_is_composite(t))
		return read_row(r, type, words, n);
	if (!a || a->nelems != n || size < 0)
		return typed_refuse(r, "it has %zu bytes, not %u", r->size, n);
	for (uint32_t i = 0; i < n && !err; i++)
		err = typed_read_word(r, &(struct spot){ a->type, i * (uint64_t)size * 8, 0 }, words[i]);
	return err;
}

static int read_bytes(struct reading *r, const char *const *words, uint32_t n, int base)
{
	if (n != r->size)
		return typed_refuse(r, "it has %zu bytes, not %u", r->size, n);
	for (uint32_t i = 0; i < n; i++) {
		char *end;
		unsigned long byte = strtoul(words[i], &end, base);

		if (end == words[i] || *end || byte > 255 || words[i][0] == '-')
			return typed_refuse(r, "%s is not a byte", words[i]);
		r->data[i] = (uint8_t)byte;
	}
	return 0;
}

/*
 * Returns true if all words start with a digit, so that they are bytes. Enumerators of a one-byte type do not start
 * with a digit.
 */
static bool numbers(const char *const *words, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (words[i][0] < '0' || words[i][0] > '9')
			return false;
	return true;
}

static int read_members(struct reading *r, uint32_t type, const char *const *words, uint32_t n)
{
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++)
		err = read_member(r, type, words[i]);
	return err;
}

/*
 * Returns the words as one word if they are parts of a value in brackets, which a shell has split at its blanks. The
 * caller frees it. Returns NULL if they are not, or if memory runs out.
 */
static char *join_words(const char *const *words, uint32_t n)
{
	size_t size = 1, at = 0;
	int open = 0;
	char *all;

	for (const char *c = n ? words[0] : ""; *c; c++)
		open += strchr("{[", *c) ? 1 : strchr("}]", *c) ? -1 : 0;
	if (n < 2 || open <= 0 || !strchr("{[", words[0][0]))
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		size += strlen(words[i]) + 1;
	all = malloc(size);
	for (uint32_t i = 0; all && i < n; i++)
		at += (size_t)sprintf(all + at, i ? " %s" : "%s", words[i]);
	return all;
}

static int read_value(struct reading *r, uint32_t type, const char *const *words, uint32_t n)
{
	bool hex = n && !strcmp(words[0], "hex");

	if (!n)
		return typed_refuse(r, "it has %zu bytes, not 0", r->size);
	if (hex || (n == r->size && numbers(words, n)))
		return read_bytes(r, words + hex, n - hex, hex ? 16 : 0);
	if (n == 1 && r->size > 1 && !typed_is_text(r, type) && typed_read_hex(words[0], r->size, r->data))
		return 0;
	if (words[0][0] != '.' && (words[0][0] != '[' || typed_is_whole(words[0])))
		return read_plain(r, type, words, n);
	return read_members(r, type, words, n);
}

int gpubpf_typed_read(const struct gpubpf_typed_form *form, const char *const *words, uint32_t n, void *data,
		      size_t size, char *why, size_t why_size)
{
	struct reading r = { form->btf, form->names, data, size, why, why_size, 0 };
	char *joined = join_words(words, n);
	int err;

	memset(data, 0, size);
	err = joined ? read_value(&r, form->type, &(const char *){ joined }, 1) : read_value(&r, form->type, words, n);
	free(joined);
	return err;
}

static int change_value(struct reading *r, uint32_t type, const char *const *words, uint32_t n)
{
	return n == 1 && typed_is_whole(words[0]) ? typed_read_whole(r, &(struct spot){ .type = type }, words[0]) :
						    read_members(r, type, words, n);
}

int gpubpf_typed_change(const struct gpubpf_typed_form *form, const char *const *words, uint32_t n, void *data,
			size_t size, char *why, size_t why_size)
{
	struct reading r = { form->btf, form->names, data, size, why, why_size, 0 };
	char *joined = join_words(words, n);
	int err;

	err = joined ? change_value(&r, form->type, &(const char *){ joined }, 1) : change_value(&r, form->type, words, n);
	free(joined);
	return err;
}
