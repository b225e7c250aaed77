/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: reduces a module to one kernel and everything that this kernel mentions.
 * Before: a parsed module and an index of its top level (struct ptx_top).
 * After: a separate parsed module. Its tokens have the line numbers of the whole module.
 * Requires: the kernel's short name.
 */
#include "slice.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/wire/name.h"
#include "backends/cuda/ptx/ir/scope.h"

/* text of a token, not NUL-terminated */
struct word {
	const char *text;
	size_t len;
};

static struct word get_word(const struct ptx_module *m, uint32_t token)
{
	return (struct word){ ptx_token_text(m, token), m->tokens[token].len };
}

static int compare(struct word a, struct word b)
{
	int order = memcmp(a.text, b.text, a.len < b.len ? a.len : b.len);

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int by_name(const void *a, const void *b, void *module)
{
	const struct ptx_top_name *x = a, *y = b;
	int order = compare(get_word(module, x->token), get_word(module, y->token));

	return order ? order : (x->node > y->node) - (x->node < y->node);
}

/*
 * Adds the names of a function or variable to top->names if that is allocated. Returns their number; a variable
 * declaration may have several.
 */
static uint32_t add_names(struct ptx_top *top, uint32_t node)
{
	const struct ptx_node *of = &top->module->nodes[top->nodes[node]];
	bool named = of->kind == PTX_FUNCTION || of->kind == PTX_VARIABLE;
	uint32_t n = 0;

	for (uint32_t t = named ? of->name : PTX_NONE; t != PTX_NONE;
	     t = ptx_next_name(top->module, top->nodes[node], t), n++)
		if (top->names)
			top->names[top->nnames++] = (struct ptx_top_name){ t, node };
	return n;
}

int ptx_top_init(struct ptx_top *top, const struct ptx_module *m)
{
	uint32_t n = 0;

	*top = (struct ptx_top){ .module = m };
	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next)
		n++;
	top->nodes = calloc(n + 1, sizeof(*top->nodes));
	if (!top->nodes)
		return -ENOMEM;
	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next)
		top->nodes[top->nnodes++] = c;
	n = 0;
	for (uint32_t i = 0; i < top->nnodes; i++)
		n += add_names(top, i);
	top->names = calloc(n + 1, sizeof(*top->names));
	if (!top->names) {
		ptx_top_finish(top);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < top->nnodes; i++)
		add_names(top, i);
	qsort_r(top->names, top->nnames, sizeof(*top->names), by_name, (void *)m);
	return 0;
}

void ptx_top_finish(struct ptx_top *top)
{
	free(top->nodes);
	free(top->names);
	*top = (struct ptx_top){ 0 };
}

/* a slice under construction */
struct slicing {
	const struct ptx_top *top;
	bool *needed;          /* [top->nnodes] */
	uint32_t *next, depth; /* stack of needed functions whose text was not scanned yet */
};

static void need_node(struct slicing *p, uint32_t node)
{
	if (p->needed[node])
		return;
	p->needed[node] = true;
	if (p->top->module->nodes[p->top->nodes[node]].kind == PTX_FUNCTION)
		p->next[p->depth++] = node;
}

/* Returns the index of the first name that is not less than the word in the sort order. */
static uint32_t lower_bound(const struct ptx_top *top, struct word word)
{
	uint32_t from = 0;

	for (uint32_t n = top->nnames; n; n /= 2) {
		uint32_t mid = from + n / 2;

		if (compare(get_word(top->module, top->names[mid].token), word) < 0) {
			from = mid + 1;
			n--;
		}
	}
	return from;
}

static bool is_name(const struct ptx_top *top, uint32_t name, struct word word)
{
	return name < top->nnames && !compare(get_word(top->module, top->names[name].token), word);
}

static void need_names(struct slicing *p, struct word word)
{
	for (uint32_t i = lower_bound(p->top, word); is_name(p->top, i, word); i++)
		need_node(p, p->top->names[i].node);
}

static void scan_needed(struct slicing *p)
{
	const struct ptx_module *m = p->top->module;

	while (p->depth) {
		const struct ptx_node *node = &m->nodes[p->top->nodes[p->next[--p->depth]]];

		for (uint32_t t = node->first; t < node->end; t++)
			if (m->tokens[t].kind == PTX_WORD)
				need_names(p, get_word(m, t));
	}
}

static int write_slice(const struct slicing *p, char **text, size_t *size)
{
	const struct ptx_module *m = p->top->module;
	FILE *f = open_memstream(text, size);

	if (!f)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->top->nnodes; i++) {
		const struct ptx_node *node = &m->nodes[p->top->nodes[i]];
		const struct ptx_token *first = &m->tokens[node->first], *last = &m->tokens[node->end - 1];

		if (p->needed[i] && node->end > node->first) {
			fwrite(m->text + first->off, 1, last->off + last->len - first->off, f);
			fputc('\n', f);
		}
	}
	if (!fclose(f))
		return 0;
	free(*text);
	return -ENOMEM;
}

/*
 * Sets the lines of the slice's tokens to those in the whole module. Returns -ENOENT if a statement was parsed
 * differently in the slice.
 */
static int set_lines(const struct slicing *p, struct ptx_module *part)
{
	const struct ptx_module *m = p->top->module;
	uint32_t c = part->nodes[0].child;

	for (uint32_t i = 0; i < p->top->nnodes; i++) {
		const struct ptx_node *from = &m->nodes[p->top->nodes[i]], *to = &part->nodes[c == PTX_NONE ? 0 : c];

		if (!p->needed[i])
			continue;
		if (c == PTX_NONE || to->kind != from->kind || to->end - to->first != from->end - from->first)
			return -ENOENT;
		for (uint32_t t = 0; t < to->end - to->first; t++)
			part->tokens[to->first + t].line = m->tokens[from->first + t].line;
		c = to->next;
	}
	return c == PTX_NONE ? 0 : -ENOENT;
}

static int make_slice(struct slicing *p, char **text, struct ptx_module *part)
{
	struct gpubpf_diag ignored;
	size_t size;
	int err = write_slice(p, text, &size);

	if (err < 0)
		return err;
	gpubpf_diag_init(&ignored);
	err = ptx_parse(*text, size, part, &ignored);
	if (!err) {
		err = set_lines(p, part);
		if (err < 0)
			ptx_finish(part);
	}
	if (err < 0)
		free(*text);
	return err == -EINVAL ? -ENOENT : err;
}

static bool is_kernel(const struct ptx_top *top, uint32_t node)
{
	const struct ptx_node *n = &top->module->nodes[top->nodes[node]];

	return n->kind == PTX_FUNCTION && n->entry;
}

/*
 * Returns the token of the kernel's name. If `name` has the length of a shortened name, compares it with the short name
 * of every kernel.
 */
static uint32_t find_kernel(const struct ptx_top *top, const char *name)
{
	struct word whole = { name, strlen(name) };

	for (uint32_t i = lower_bound(top, whole); is_name(top, i, whole); i++)
		if (is_kernel(top, top->names[i].node))
			return top->names[i].token;
	for (uint32_t i = 0; whole.len == GPUBPF_SHORT_NAME && i < top->nnames; i++)
		if (is_kernel(top, top->names[i].node) && ptx_token_named(top->module, top->names[i].token, name))
			return top->names[i].token;
	return PTX_NONE;
}

int ptx_slice(const struct ptx_top *top, const char *kernel, char **text, struct ptx_module *part)
{
	struct slicing p = { .top = top };
	uint32_t name = find_kernel(top, kernel);
	int err = -ENOMEM;

	if (name == PTX_NONE)
		return -ENOENT;
	p.needed = calloc(top->nnodes + 1, sizeof(*p.needed));
	p.next = calloc(top->nnodes + 1, sizeof(*p.next));
	if (p.needed && p.next) {
		for (uint32_t i = 0; i < top->nnodes; i++)
			p.needed[i] = top->module->nodes[top->nodes[i]].kind == PTX_DIRECTIVE;
		need_names(&p, get_word(top->module, name));
		scan_needed(&p);
		err = make_slice(&p, text, part);
	}
	free(p.needed);
	free(p.next);
	return err;
}
