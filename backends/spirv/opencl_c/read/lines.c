/* SPDX-License-Identifier: Apache-2.0 */
#include "lines.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/*
 * Returns the number of characters of a line splice at `at`: a backslash, optional blanks, which compilers allow, and a
 * newline. Returns 0 if there is no splice.
 */
static size_t splice_size(const char *at, const char *end)
{
	const char *from = at++;

	while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
		at++;
	return *from == '\\' && at < end && *at == '\n' ? at + 1 - from : 0;
}

/*
 * Copy the text to `out` without line splices. Other newlines stay. number[i] receives the line number in the file of
 * line i of the copy. Returns the number of characters in the copy.
 */
static size_t join_splices(const char *text, size_t size, char *out, uint32_t *number)
{
	const char *end = text + size;
	uint32_t line = 1, kept = 0;
	size_t n = 0;

	number[0] = 1;
	while (text < end) {
		size_t splice = *text == '\\' ? splice_size(text, end) : 0;

		line += splice || *text == '\n';
		if (splice) {
			text += splice;
			continue;
		}
		if (*text == '\n')
			number[++kept] = line;
		out[n++] = *text++;
	}
	out[n] = 0;
	return n;
}

/* Returns the end of the string or character literal that begins at `at`. A newline also ends the literal. */
static char *skip_literal(char *at)
{
	char quote = *at++;

	while (*at && *at != '\n' && *at != quote)
		at += *at == '\\' && at[1] && at[1] != '\n' ? 2 : 1;
	return at + (*at == quote);
}

static char *skip_comment(char *at)
{
	if (at[1] == '/')
		return at + strcspn(at, "\n");
	at = strstr(at + 2, "*/");
	return at ? at + 2 : NULL;
}

/*
 * Write the line at `at` to `to`, with a blank for each comment. Returns the start of the next line, or NULL after the
 * last line.
 */
static char *strip_line(char *at, char *to, uint32_t *newlines)
{
	while (*at && *at != '\n') {
		char *end = at + 1;

		if (*at == '/' && (at[1] == '/' || at[1] == '*')) {
			end = skip_comment(at);
			for (char *c = at; *c && c != end; c++)
				*newlines += *c == '\n';
			*to++ = ' ';
			at = end ? end : at + strlen(at);
			continue;
		}
		if (*at == '"' || *at == '\'')
			end = skip_literal(at);
		memmove(to, at, end - at);
		to += end - at;
		at = end;
	}
	at = *at ? at + 1 : NULL;
	*to = 0;
	++*newlines;
	return at;
}

int clread_split_lines(const char *text, size_t size, struct gpubpf_pool *pool, struct cl_lines *lines)
{
	char *joined = gpubpf_pool_alloc(pool, size + 1, 1), *at = joined;
	uint32_t most = 2, newlines = 0, *number;

	for (size_t i = 0; i < size; i++)
		most += text[i] == '\n';
	number = gpubpf_pool_alloc(pool, most, sizeof(*number));
	*lines = (struct cl_lines){ gpubpf_pool_alloc(pool, most, sizeof(*lines->line)) };
	if (!joined || !number || !lines->line)
		return -ENOMEM;
	join_splices(text, size, joined, number);
	lines->trigraphs = strstr(joined, "?\?=") || strstr(joined, "?\?/");
	while (at) {
		struct cl_line *line = &lines->line[lines->n++];

		*line = (struct cl_line){ at, number[newlines] };
		at = strip_line(at, at, &newlines);
	}
	return 0;
}

const char *clread_directive(const char *line, char name[16])
{
	size_t n = 0;

	line += strspn(line, " \t\v\f\r");
	if (*line != '#' && strncmp(line, "%:", 2))
		return NULL;
	line += *line == '#' ? 1 : 2;
	line += strspn(line, " \t\v\f\r");
	while (n < 15 && (isalnum((unsigned char)line[n]) || line[n] == '_'))
		n++;
	memcpy(name, line, n);
	name[n] = 0;
	return line + n;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Returns the end of the token at `at`, which is not an identifier. */
static const char *skip_other(const char *at)
{
	if (*at == '"' || *at == '\'')
		return skip_literal((char *)at);
	if (!isdigit((unsigned char)*at))
		return at + 1;
	while (is_word(*at) || *at == '.' || ((*at == '+' || *at == '-') && strchr("eEpP", at[-1])))
		at++;
	return at;
}

const char *clread_identifier(const char *at, size_t *size)
{
	while (*at && (!is_word(*at) || isdigit((unsigned char)*at)))
		at = skip_other(at);
	if (!*at)
		return NULL;
	for (*size = 0; is_word(at[*size]);)
		++*size;
	return at;
}
