/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: prints the tree as text and applies edits. A leaf prints its tokens, each with the blanks before it. A node
 * with children prints the children and the tokens between them. Only tokens of nodes are printed, so the tests notice
 * a statement that the parser lost.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lex.h"

struct printer {
	const struct ptx_module *m;
	const struct ptx_edit **edits; /* sorted by token */
	size_t nedits, edit;
	char *out;
	size_t size, room;
	uint32_t skip; /* tokens before this one are not printed, because a replacement covers them */
	int err;
};

static void emit(struct printer *p, const char *text, size_t n)
{
	if (p->room - p->size < n && !p->err) {
		size_t room = p->room * 2 + n;
		char *grown = realloc(p->out, room);

		if (!grown) {
			p->err = -ENOMEM;
			return;
		}
		p->out = grown;
		p->room = room;
	}
	if (p->err)
		return;
	memcpy(p->out + p->size, text, n);
	p->size += n;
}

static void emit_token(struct printer *p, uint32_t t)
{
	const struct ptx_token *token = &p->m->tokens[t];
	uint32_t blank = t ? token[-1].off + token[-1].len : 0;

	while (p->edit < p->nedits && p->edits[p->edit]->first == t) {
		const struct ptx_edit *edit = p->edits[p->edit++];

		if (edit->kind == PTX_REPLACE) {
			emit(p, p->m->text + blank, token->off - blank);
			p->skip = edit->end;
		}
		emit(p, edit->text, edit->size);
	}
	if (t >= p->skip)
		emit(p, p->m->text + blank, token->off + token->len - blank);
}

/* Walks the tree in pre-order. It does not recurse, because the input decides how deep blocks are nested. */
static void print_tree(struct printer *p)
{
	const struct ptx_node *nodes = p->m->nodes;
	uint32_t node = 0, at = nodes[0].first;

	for (;;) {
		uint32_t to = nodes[node].child != PTX_NONE ? nodes[nodes[node].child].first : nodes[node].end;

		while (at < to)
			emit_token(p, at++);
		if (nodes[node].child != PTX_NONE) {
			node = nodes[node].child;
			continue;
		}
		while (node && nodes[node].next == PTX_NONE) {
			node = nodes[node].parent;
			while (at < nodes[node].end)
				emit_token(p, at++);
		}
		if (!node)
			break;
		node = nodes[node].next;
		while (at < nodes[node].first)
			emit_token(p, at++);
	}
	emit_token(p, p->m->ntokens - 1); /* prints the blanks after the last token */
}

static int by_place(const void *a, const void *b)
{
	const struct ptx_edit *x = *(const struct ptx_edit *const *)a, *y = *(const struct ptx_edit *const *)b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x < y ? -1 : x > y;
}

int ptx_print(const struct ptx_module *module, const struct ptx_edit *edits, size_t nedits, char **text, size_t *size)
{
	struct printer p = { .m = module, .nedits = nedits, .room = module->size + 64 };

	p.out = malloc(p.room);
	p.edits = calloc(nedits + 1, sizeof(*p.edits));
	if (!p.out || !p.edits) {
		p.err = -ENOMEM;
	} else {
		for (size_t i = 0; i < nedits; i++)
			p.edits[i] = &edits[i];
		qsort(p.edits, nedits, sizeof(*p.edits), by_place);
		print_tree(&p);
	}
	free(p.edits);
	if (p.err < 0) {
		free(p.out);
		return p.err;
	}
	*text = p.out;
	*size = p.size;
	return 0;
}
