/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, errors and tables that all stages of a compilation use. */
#include "cli/lang/lang.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 65536
#define MAX_ARENA_BYTES (256u << 20)      /* maximum bytes for the tree of one program text */
#define MAX_QUOTE_COLUMNS 100              /* maximum columns of a source line that an error message quotes */

struct chunk {
	struct chunk *next;
	size_t used, room;
	max_align_t data[];
};

void *lang_alloc(struct lang *l, size_t size)
{
	struct chunk *c = l->arena;
	void *p;

	size = (size + 15) & ~(size_t)15;
	if (!c || size > c->room - c->used) {
		size_t room = size > CHUNK ? size : CHUNK;

		c = l->used + room > MAX_ARENA_BYTES ? NULL : calloc(1, sizeof(*c) + room);
		if (!c) {
			lang_fail(l, 0, "shorten the program", "out of memory");
			return NULL;
		}
		c->room = room;
		c->next = l->arena;
		l->arena = c;
		l->used += room;
	}
	p = (char *)c->data + c->used;
	c->used += size;
	return p;
}

void lang_free_memory(struct lang *l)
{
	struct chunk *c = l->arena, *next;

	for (; c; c = next) {
		next = c->next;
		free(c);
	}
}

char *lang_copy(struct lang *l, const char *text, size_t size)
{
	char *copy = lang_alloc(l, size + 1);

	if (copy)
		memcpy(copy, text, size);
	return copy;
}

char *lang_format(struct lang *l, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return lang_copy(l, text, strlen(text));
}

/* -- errors -- */

/* Return the included file that contains the position, or NULL for the program text. */
static const struct lang_input *find_source(const struct lang *l, uint32_t pos)
{
	const struct lang_input *s = l->sources;

	while (s && (pos < s->begin || pos > s->end))
		s = s->next;
	return s;
}

const char *lang_source_name(const struct lang *l, uint32_t pos)
{
	const struct lang_input *s = find_source(l, pos);

	return s ? s->name : l->name;
}

uint32_t lang_source_end(const struct lang *l, uint32_t pos)
{
	const struct lang_input *s = find_source(l, pos);

	return s ? s->end : (uint32_t)l->size;
}

static uint32_t line_begin(const struct lang *l, uint32_t pos)
{
	while (pos && l->text[pos - 1] != '\n')
		pos--;
	return pos;
}

void lang_line_column(const struct lang *l, uint32_t pos, uint32_t *line, uint32_t *column)
{
	const struct lang_input *s = find_source(l, pos);

	*line = 1;
	for (uint32_t i = s ? s->begin : 0; i < pos; i++)
		*line += l->text[i] == '\n';
	*column = pos - line_begin(l, pos) + 1;
}

static char printable_char(char c)
{
	return (unsigned char)c >= ' ' && c != 0x7f ? c : c == '\t' ? ' ' : '?';
}

/* Append the source line that contains the position, and a mark below the position. */
static size_t quote(const struct lang *l, uint32_t pos, char *buf, size_t size)
{
	uint32_t begin = line_begin(l, pos), end = pos, from = begin;
	size_t n = 0;

	while (end < l->total && l->text[end] != '\n')
		end++;
	if (pos - from > MAX_QUOTE_COLUMNS * 2 / 3)
		from = pos - MAX_QUOTE_COLUMNS * 2 / 3;
	n += snprintf(buf + n, size - n, "\n  ");
	for (uint32_t i = from; i < end && i < from + MAX_QUOTE_COLUMNS; i++)
		buf[n++] = printable_char(l->text[i]);
	n += snprintf(buf + n, size - n, "\n  %*s^", (int)(pos - from), "");
	return n;
}

int lang_fail(struct lang *l, uint32_t pos, const char *remedy, const char *fmt, ...)
{
	struct lang_refusal *r = &l->refusal;
	uint32_t line, column;
	va_list ap;
	size_t n;

	if (l->failed)
		return -EINVAL;
	l->failed = true;
	pos = pos < l->total ? pos : (uint32_t)l->total;
	va_start(ap, fmt);
	vsnprintf(r->what, sizeof(r->what), fmt, ap);
	va_end(ap);
	lang_line_column(l, pos, &line, &column);
	snprintf(r->place, sizeof(r->place), "%.200s:%u:%u", lang_source_name(l, pos), line, column);
	snprintf(r->remedy, sizeof(r->remedy), "%s", remedy);
	n = snprintf(l->why, sizeof(l->why), "%s: %s", r->place, r->what);
	n += quote(l, pos, l->why + n, sizeof(l->why) - n);
	snprintf(l->why + n, sizeof(l->why) - n, "\ntry: %s", remedy);
	return -EINVAL;
}

void lang_warn(struct lang *l, uint32_t pos, const char *what)
{
	struct lang_warning *w = lang_alloc(l, sizeof(*w)), **end = &l->warnings;
	uint32_t line, column;

	if (!w)
		return;
	lang_line_column(l, pos, &line, &column);
	w->text = lang_format(l, "%.200s:%u:%u: %s", lang_source_name(l, pos), line, column, what);
	while (*end)
		end = &(*end)->next;
	*end = w->text ? w : NULL;
}

const char *lang_why(const struct lang *l)
{
	return l->why;
}

const struct lang_refusal *lang_refusal(const struct lang *l)
{
	return &l->refusal;
}

/* -- probes -- */

bool lang_has_device_probes(const struct lang *l)
{
	for (uint32_t i = 0; i < l->nprobes; i++)
		if (l->probe[i]->when == LANG_ON_DEVICE)
			return true;
	return false;
}

const char *lang_word_text(const struct lang_node *n, const struct lang_probe *probe)
{
	return n->builtin.source == LANG_SOURCE_FUNCTION ? probe->function : probe->section;
}

bool lang_is_host(const struct lang_block *block)
{
	for (const struct lang_probe *p = block->probes; p; p = p->next)
		if (p->when == LANG_ON_DEVICE || p->when == LANG_IN_LINUX)
			return false;
	return true;
}

bool lang_is_linux(const struct lang_block *block)
{
	return block->probes && block->probes->when == LANG_IN_LINUX;
}

/* -- tables -- */

const char *lang_token_text(enum lang_token token)
{
	static const char *const text[LANG_TOKENS] = {
		[LANG_T_NONE] = "nothing",    [LANG_T_END] = "the end", [LANG_T_NUMBER] = "a number",
		[LANG_T_STRING] = "a string", [LANG_T_WORD] = "a word", [LANG_T_VAR] = "a variable",
		[LANG_T_MAP] = "a map",
#define LANG_TOKEN(name, text, precedence, assigns) [LANG_T_##name] = text,
#include "cli/lang/tree/tokens.def"
	};

	return text[token];
}

static const struct lang_function functions[] = {
#define LANG_FUNCTION(NAME, name, least, most, use, shown, meaning) \
	{ LANG_F_##NAME, name, shown, least, most, LANG_USE_##use },
#include "cli/lang/tree/functions.def"
};

const struct lang_function *lang_function_at(uint32_t i)
{
	return i < LANG_FUNCTIONS ? &functions[i] : NULL;
}

const struct lang_function *lang_function_find(const char *name)
{
	for (uint32_t i = 0; i < LANG_FUNCTIONS; i++)
		if (!strcmp(functions[i].name, name))
			return &functions[i];
	return NULL;
}
