/* SPDX-License-Identifier: Apache-2.0 */
/* Values in blocks on the host that are bytes in memory: strings, tuples and buffers. Also functions of strings. */
#include <errno.h>
#include <string.h>

#include "gpubpf/ctx.h"
#include "host.h"

static void put_text(uint8_t *to, const char *text)
{
	memset(to, 0, GPUBPF_CTX_NAME);
	memcpy(to, text, strnlen(text, GPUBPF_CTX_NAME - 1));
}

static void put_tuple(struct lang_host *h, const struct lang_node *n, uint8_t *to)
{
	for (const struct lang_node *e = n->list; e; e = e->next) {
		lang_put(h, e, to);
		to += lang_size(e->type);
	}
}

static void put_part(struct lang_host *h, const struct lang_node *n, uint8_t *to)
{
	uint8_t whole[LANG_VALUE_SIZE];

	lang_put(h, n->a, whole);
	memcpy(to, whole + n->a->type.shape->at[n->value], lang_size(n->type));
}

static void put_from_map(struct lang_host *h, const struct lang_node *n, uint8_t *to)
{
	if (!lang_map_read(h, n, to))
		memset(to, 0, lang_size(n->type));
}

/* Store the string that str() yields: a copy, which the second argument may limit. */
static void put_copy(struct lang_host *h, const struct lang_node *n, uint8_t *to)
{
	char buf[LANG_STRING_SIZE];
	const struct lang_node *bytes = n->list->next;

	put_text(to, lang_text(h, n->list, buf));
	if (bytes && bytes->value < GPUBPF_CTX_NAME)
		memset(to + bytes->value, 0, GPUBPF_CTX_NAME - bytes->value);
}

/* Store the bytes of a string, as buf() yields them: their number, then the bytes. */
static void put_buffer(struct lang_host *h, const struct lang_node *n, uint8_t *to)
{
	char buf[LANG_STRING_SIZE];
	const char *text = lang_text(h, n->list, buf);
	uint64_t bytes = n->list->next ? lang_eval(h, n->list->next) : n->type.bytes;

	bytes = bytes < n->type.bytes ? bytes : n->type.bytes;
	memset(to, 0, lang_size(n->type));
	memcpy(to, &bytes, sizeof(bytes));
	memcpy(to + sizeof(bytes), text, strnlen(text, bytes));
}

static void put_block(struct lang_host *h, const struct lang_node *n, uint8_t *to)
{
	memset(to, 0, lang_size(n->type));
	lang_run_list(h, n->list);
	if (n->a && !h->left)
		lang_put(h, n->a, to);
}

static void put_memory(struct lang_host *h, const struct lang_node *n, uint8_t *to)
{
	switch (n->kind) {
	case LANG_N_STRING:
		put_text(to, n->text);
		break;
	case LANG_N_BUILTIN:
		put_text(to, n->builtin.source == LANG_SOURCE_HOST ? program_invocation_short_name :
								     lang_word_text(n, h->probe));
		break;
	case LANG_N_VAR:
		memcpy(to, n->var->text, lang_size(n->type));
		break;
	case LANG_N_TERNARY:
		lang_put(h, lang_eval(h, n->a) ? n->b : n->c, to);
		break;
	case LANG_N_TUPLE:
		put_tuple(h, n, to);
		break;
	case LANG_N_PART:
		put_part(h, n, to);
		break;
	case LANG_N_VALUE:
		put_block(h, n, to);
		break;
	case LANG_N_FN:
		lang_run_function(h, n);
		memcpy(to, n->var->text, lang_size(n->type));
		break;
	case LANG_N_CALL:
		if (n->type.base == LANG_BUFFER)
			put_buffer(h, n, to);
		else
			put_copy(h, n, to);
		break;
	default:
		put_from_map(h, n, to);
		break;
	}
}

void lang_put(struct lang_host *h, const struct lang_node *n, uint8_t *to)
{
	uint64_t v;

	/* the element of a tuple is copied, even if it is a number: lang_eval() uses this function */
	if (lang_is_in_memory(n->type) || n->kind == LANG_N_PART) {
		put_memory(h, n, to);
		return;
	}
	v = lang_eval(h, n);
	memcpy(to, &v, sizeof(v));
}

const char *lang_text(struct lang_host *h, const struct lang_node *n, char buf[LANG_STRING_SIZE])
{
	if (n->kind == LANG_N_STRING)
		return n->text;
	if (n->type.base == LANG_KERNEL)
		return h->shown(h->ctx, lang_eval(h, n));
	if (n->type.base == LANG_PROCESS)
		return lang_process_name(h, (uint32_t)lang_eval(h, n));
	lang_put(h, n, (uint8_t *)buf);
	return buf;
}

/* -- functions of strings -- */

static uint64_t position(const char *text, const char *wanted)
{
	const char *at = strstr(text, wanted);

	return at ? (uint64_t)(at - text) : UINT64_MAX;
}

uint64_t lang_strings(struct lang_host *h, const struct lang_node *n)
{
	char buf[2][LANG_STRING_SIZE];
	const struct lang_node *second = n->list->next;
	const char *a = lang_text(h, n->list, buf[0]), *b = second ? lang_text(h, second, buf[1]) : "";

	switch (n->function->id) {
	case LANG_F_STRNCMP:
		return strncmp(a, b, second->next->value) != 0;
	case LANG_F_STRSTR:
		return position(a, b);
	case LANG_F_STRCONTAINS:
		return position(a, b) != UINT64_MAX;
	default:
		return strlen(a);
	}
}
