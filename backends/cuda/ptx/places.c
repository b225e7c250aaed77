/* SPDX-License-Identifier: Apache-2.0 */
#include "places.h"

#include <errno.h>
#include <stdlib.h>

#include "access.h"
#include "control.h"
#include "scope.h"

struct walk {
	const struct ptx_module *m;
	uint32_t function, kinds;
	bool entry;                /* it is a kernel */
	uint32_t line;
	struct ptx_place *list;
	uint32_t n, room;
	uint32_t met[GPUBPF_NSITES]; /* of each kind */
	bool failed;
};

uint32_t ptx_next_in(const struct ptx_module *m, uint32_t function, uint32_t node)
{
	if (m->nodes[node].child != PTX_NONE)
		return m->nodes[node].child;
	while (node != function && m->nodes[node].next == PTX_NONE)
		node = m->nodes[node].parent;
	return node == function ? PTX_NONE : m->nodes[node].next;
}

static bool is(const struct walk *w, uint32_t node, const char *name)
{
	return ptx_token_is(w->m, w->m->nodes[node].name, name);
}

static void add(struct walk *w, enum gpubpf_site kind, uint32_t node, uint32_t exit)
{
	if (w->n == w->room) {
		uint32_t room = w->room ? 2 * w->room : 8;
		struct ptx_place *grown = realloc(w->list, room * sizeof(*grown));

		if (!grown) {
			w->failed = true;
			return;
		}
		w->list = grown;
		w->room = room;
	}
	w->list[w->n++] = (struct ptx_place){ kind, w->met[kind]++, node, exit, w->line, 0 };
}

/* The ret or exit that an unguarded path from a branch meets before any other instruction; PTX_NONE: there is none. */
static uint32_t exit_behind(const struct walk *w, uint32_t branch)
{
	const struct ptx_module *m = w->m;
	const struct ptx_node *insn = &m->nodes[branch];

	if (!is(w, branch, "bra") || m->tokens[insn->operands].kind != PTX_WORD)
		return PTX_NONE;
	for (uint32_t node = ptx_find_label(m, branch, insn->operands); node != PTX_NONE;
	     node = ptx_next_in(m, w->function, node)) {
		const struct ptx_node *n = &m->nodes[node];

		if (n->kind == PTX_INSN)
			return (is(w, node, "ret") || is(w, node, "exit")) && n->guard == PTX_NONE ? node : PTX_NONE;
		if (n->kind != PTX_LABEL && n->kind != PTX_DIRECTIVE)
			return PTX_NONE;
	}
	return PTX_NONE;
}

static void visit_accesses(struct walk *w, uint32_t node)
{
	struct ptx_access accesses[PTX_MOST_ACCESSES];
	uint32_t n = ptx_accesses(w->m, node, accesses);

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++) {
			const struct gpubpf_place_kind *k = gpubpf_place_kind(kind);

			if (!(w->kinds >> kind & 1) || !(k->spaces & accesses[i].spaces) || !(k->accesses >> accesses[i].access & 1))
				continue;
			add(w, kind, node, PTX_NONE);
			if (!w->failed)
				w->list[w->n - 1].access = i;
		}
}

static void visit_control(struct walk *w, uint32_t node)
{
	struct ptx_control control = ptx_control(w->m, node);

	for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++)
		if (w->kinds >> kind & 1 && ptx_control_is(&control, kind))
			add(w, kind, node, PTX_NONE);
}

/* Of a kernel, the places of its blocks too where they are asked for. */
static void add_exit(struct walk *w, bool ends, uint32_t node, uint32_t exit)
{
	add(w, ends ? GPUBPF_SITE_EXIT : GPUBPF_SITE_CALL_EXIT, node, exit);
	if (ends && w->kinds >> GPUBPF_SITE_BLOCK_END & 1)
		add(w, GPUBPF_SITE_BLOCK_END, node, exit);
}

static void visit(struct walk *w, uint32_t node)
{
	const struct ptx_node *n = &w->m->nodes[node];
	uint32_t exit;

	/* .loc file line column (PTX ISA 11.5.3) */
	if (n->kind == PTX_DIRECTIVE && is(w, node, ".loc") && n->name + 2 < n->end)
		w->line = strtoul(ptx_token_text(w->m, n->name + 2), NULL, 10);
	if (n->kind != PTX_INSN)
		return;
	exit = is(w, node, "ret") || is(w, node, "exit") ? node : exit_behind(w, node);
	if (exit != PTX_NONE && (exit == node || w->entry || is(w, exit, "ret")))
		add_exit(w, w->entry || is(w, exit, "exit"), node, exit);
	if (!w->kinds)
		return;
	visit_accesses(w, node);
	visit_control(w, node);
}

/* A function may also be left by running off its end. */
static bool runs_off(const struct walk *w, uint32_t body)
{
	const struct ptx_module *m = w->m;
	uint32_t last = PTX_NONE;

	for (uint32_t c = m->nodes[body].child; c != PTX_NONE; c = m->nodes[c].next)
		if (m->nodes[c].kind == PTX_INSN || m->nodes[c].kind == PTX_LABEL || m->nodes[c].kind == PTX_BLOCK)
			last = c;
	return last == PTX_NONE || m->nodes[last].kind != PTX_INSN || m->nodes[last].guard != PTX_NONE ||
	       !(is(w, last, "ret") || is(w, last, "exit") || is(w, last, "bra") || is(w, last, "trap"));
}

/* The line of the first .loc is where the function begins. */
static uint32_t first_line(struct walk *w)
{
	uint32_t line;

	PTX_FOR_EACH_NODE(w->m, w->function, node)
		if (!w->line && w->m->nodes[node].kind == PTX_DIRECTIVE)
			visit(w, node);
	line = w->line;
	w->line = 0;
	return line;
}

int ptx_places(const struct ptx_module *m, uint32_t function, uint32_t kinds, struct ptx_place **places, uint32_t *n)
{
	struct walk w = { .m = m, .function = function, .entry = m->nodes[function].entry };

	w.line = first_line(&w);
	w.kinds = kinds & (gpubpf_places_of(GPUBPF_WHERE_INSN) | GPUBPF_TAKES(BLOCK_BEGIN) | GPUBPF_TAKES(BLOCK_END));
	if (w.entry && w.kinds & GPUBPF_TAKES(BLOCK_BEGIN))
		add(&w, GPUBPF_SITE_BLOCK_BEGIN, PTX_NONE, PTX_NONE);
	add(&w, w.entry ? GPUBPF_SITE_ENTRY : GPUBPF_SITE_CALL, PTX_NONE, PTX_NONE);
	PTX_FOR_EACH_NODE(m, function, node)
		visit(&w, node);
	if (runs_off(&w, ptx_child(m, function, PTX_BLOCK, 0)))
		add_exit(&w, w.entry, PTX_NONE, PTX_NONE);
	if (w.failed) {
		free(w.list);
		return -ENOMEM;
	}
	*places = w.list;
	*n = w.n;
	return 0;
}
