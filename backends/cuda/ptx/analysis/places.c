/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: lists the places of a function, where probes can run.
 * Before: the function is parsed and has a body.
 * After: the list is in text order, and the places of each kind are numbered. The function is unchanged.
 * Requires: the tables backends/cuda/ptx/ir/isa.def and control.def, and an index of labels.
 */
#include "places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "control.h"
#include "backends/cuda/ptx/ir/scope.h"

struct walk {
	const struct ptx_module *m;
	uint32_t function, kinds;
	bool entry; /* the function is a kernel */
	uint32_t line;
	uint32_t loc;   /* latest .loc directive; PTX_NONE once the first instruction after it was visited */
	uint32_t *locs; /* .loc directive of each place of kind LINE found so far */
	struct ptx_place *list;
	uint32_t n, room;
	uint32_t counts[GPUBPF_NSITES]; /* for each kind: number of places found so far */
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

static bool is_opcode(const struct walk *w, uint32_t node, const char *name)
{
	return ptx_token_is(w->m, w->m->nodes[node].name, name);
}

static void add_place(struct walk *w, enum gpubpf_site kind, uint32_t node, uint32_t exit)
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
	w->list[w->n++] = (struct ptx_place){ kind, w->counts[kind]++, node, exit, w->line, 0, w->loc };
}

/*
 * Returns the first instruction at the branch's target if it is a ret or exit without a predicate. Otherwise returns
 * PTX_NONE.
 */
static uint32_t find_exit_at_target(const struct walk *w, uint32_t branch)
{
	const struct ptx_module *m = w->m;
	const struct ptx_node *insn = &m->nodes[branch];

	if (!is_opcode(w, branch, "bra") || m->tokens[insn->operands].kind != PTX_WORD)
		return PTX_NONE;
	for (uint32_t node = ptx_find_label(m, branch, insn->operands); node != PTX_NONE;
	     node = ptx_next_in(m, w->function, node)) {
		const struct ptx_node *n = &m->nodes[node];

		if (n->kind == PTX_INSN)
			return (is_opcode(w, node, "ret") || is_opcode(w, node, "exit")) && n->guard == PTX_NONE ?
				       node :
				       PTX_NONE;
		if (n->kind != PTX_LABEL && n->kind != PTX_DIRECTIVE)
			return PTX_NONE;
	}
	return PTX_NONE;
}

static void visit_accesses(struct walk *w, uint32_t node)
{
	struct ptx_access accesses[PTX_MAX_ACCESSES];
	uint32_t n = ptx_accesses(w->m, node, accesses);

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++) {
			const struct gpubpf_place_kind *k = gpubpf_place_kind(kind);

			if (!(w->kinds >> kind & 1) || !(k->spaces & accesses[i].spaces) ||
			    !(k->accesses >> accesses[i].access & 1))
				continue;
			add_place(w, kind, node, PTX_NONE);
			if (!w->failed)
				w->list[w->n - 1].access = i;
		}
}

static void visit_control(struct walk *w, uint32_t node)
{
	struct ptx_control control = ptx_control(w->m, node);

	for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++)
		if (w->kinds >> kind & 1 && ptx_control_is(&control, kind))
			add_place(w, kind, node, PTX_NONE);
}

/* Returns true if two .loc directives name the same file, line and inlined call. The column may differ. */
static bool same_line(const struct ptx_module *m, uint32_t a, uint32_t b)
{
	uint32_t n = m->nodes[a].end - m->nodes[a].first;

	for (uint32_t i = 1; i < n; i++) {
		uint32_t s = m->nodes[a].first + i, t = m->nodes[b].first + i;

		if (i != 3 && (m->tokens[s].len != m->tokens[t].len ||
			       memcmp(ptx_token_text(m, s), ptx_token_text(m, t), m->tokens[s].len)))
			return false;
	}
	return n == m->nodes[b].end - m->nodes[b].first;
}

/* Adds a place at the first instruction of each line. Code that no source line produced has line 0 and gets no
 * place. */
static void visit_line(struct walk *w, uint32_t node)
{
	uint32_t loc = w->loc, n = w->counts[GPUBPF_SITE_LINE], *grown;

	w->loc = PTX_NONE;
	if (loc == PTX_NONE || !w->line || !(w->kinds & GPUBPF_SITE_BIT(LINE)))
		return;
	for (uint32_t i = 0; i < n; i++)
		if (same_line(w->m, w->locs[i], loc))
			return;
	grown = n & (n - 1) ? w->locs : realloc(w->locs, (2 * n + 1) * sizeof(*grown));
	w->failed |= !grown;
	if (!grown)
		return;
	w->locs = grown;
	grown[n] = w->loc = loc;
	add_place(w, GPUBPF_SITE_LINE, node, PTX_NONE);
	w->loc = PTX_NONE;
}

/*
 * Adds a place at an exit. At a kernel's exit it also adds a block-end place, if that kind is selected. `ends`: the
 * kernel ends here, not only a function that it calls.
 */
static void add_exit(struct walk *w, bool ends, uint32_t node, uint32_t exit)
{
	add_place(w, ends ? GPUBPF_SITE_EXIT : GPUBPF_SITE_CALL_EXIT, node, exit);
	if (ends && w->kinds >> GPUBPF_SITE_BLOCK_END & 1)
		add_place(w, GPUBPF_SITE_BLOCK_END, node, exit);
}

static void visit_node(struct walk *w, uint32_t node)
{
	const struct ptx_node *n = &w->m->nodes[node];
	uint32_t exit;

	/* .loc file line column (PTX ISA 11.5.3) */
	if (n->kind == PTX_DIRECTIVE && is_opcode(w, node, ".loc") && n->name + 2 < n->end) {
		w->line = strtoul(ptx_token_text(w->m, n->name + 2), NULL, 10);
		w->loc = node;
	}
	if (n->kind == PTX_MARK && w->kinds & GPUBPF_SITE_BIT(MARK))
		add_place(w, GPUBPF_SITE_MARK, node, PTX_NONE);
	if (n->kind != PTX_INSN)
		return;
	exit = is_opcode(w, node, "ret") || is_opcode(w, node, "exit") ? node : find_exit_at_target(w, node);
	if (exit != PTX_NONE && (exit == node || w->entry || is_opcode(w, exit, "ret")))
		add_exit(w, w->entry || is_opcode(w, exit, "exit"), node, exit);
	if (!w->kinds)
		return;
	visit_line(w, node);
	if (w->kinds & GPUBPF_SITE_BIT(INSN))
		add_place(w, GPUBPF_SITE_INSN, node, PTX_NONE);
	visit_accesses(w, node);
	visit_control(w, node);
}

/* Returns true if control may reach the end of the function's text, which acts as a return. */
static bool falls_off_end(const struct walk *w, uint32_t body)
{
	const struct ptx_module *m = w->m;
	uint32_t last = PTX_NONE;

	for (uint32_t c = m->nodes[body].child; c != PTX_NONE; c = m->nodes[c].next)
		if (m->nodes[c].kind == PTX_INSN || m->nodes[c].kind == PTX_LABEL || m->nodes[c].kind == PTX_BLOCK)
			last = c;
	return last == PTX_NONE || m->nodes[last].kind != PTX_INSN || m->nodes[last].guard != PTX_NONE ||
	       !(is_opcode(w, last, "ret") || is_opcode(w, last, "exit") || is_opcode(w, last, "bra") ||
		 is_opcode(w, last, "trap"));
}

/* Returns the line of the first .loc directive, which is the line where the function begins. */
static uint32_t take_first_line(struct walk *w)
{
	uint32_t line;

	PTX_FOR_EACH_NODE(w->m, w->function, node)
	if (!w->line && w->m->nodes[node].kind == PTX_DIRECTIVE)
		visit_node(w, node);
	line = w->line;
	w->line = 0;
	w->loc = PTX_NONE;
	return line;
}

int ptx_places(const struct ptx_module *m, uint32_t function, uint32_t kinds, struct ptx_place **places, uint32_t *n)
{
	struct walk w = { .m = m, .function = function, .entry = m->nodes[function].entry, .loc = PTX_NONE };

	w.line = take_first_line(&w);
	w.kinds = kinds &
		  (gpubpf_places_of(GPUBPF_WHERE_INSN) | GPUBPF_SITE_BIT(BLOCK_BEGIN) | GPUBPF_SITE_BIT(BLOCK_END));
	if (w.entry && w.kinds & GPUBPF_SITE_BIT(BLOCK_BEGIN))
		add_place(&w, GPUBPF_SITE_BLOCK_BEGIN, PTX_NONE, PTX_NONE);
	add_place(&w, w.entry ? GPUBPF_SITE_ENTRY : GPUBPF_SITE_CALL, PTX_NONE, PTX_NONE);
	PTX_FOR_EACH_NODE(m, function, node)
	visit_node(&w, node);
	if (falls_off_end(&w, ptx_child(m, function, PTX_BLOCK, 0)))
		add_exit(&w, w.entry, PTX_NONE, PTX_NONE);
	free(w.locs);
	if (w.failed) {
		free(w.list);
		return -ENOMEM;
	}
	*places = w.list;
	*n = w.n;
	return 0;
}

/*
 * Returns the path of the .file directive whose index the .loc names. The path has no quotes and no NUL; *len is its
 * length. Syntax: .file index "path" ... (PTX ISA 11.5.2)
 */
static const char *find_source_file(const struct ptx_module *m, uint32_t loc, int *len)
{
	uint32_t index = m->nodes[loc].name + 1;

	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next) {
		uint32_t t = m->nodes[c].name + 1;

		if (m->nodes[c].kind != PTX_DIRECTIVE || !ptx_token_is(m, t - 1, ".file") ||
		    m->tokens[t].len != m->tokens[index].len ||
		    memcmp(ptx_token_text(m, t), ptx_token_text(m, index), m->tokens[t].len) ||
		    m->tokens[t + 1].kind != PTX_STRING)
			continue;
		*len = m->tokens[t + 1].len - 2;
		return ptx_token_text(m, t + 1) + 1;
	}
	*len = 0;
	return "";
}

void ptx_place_name(const struct ptx_module *m, const struct ptx_place *place, char *name, size_t size)
{
	const struct ptx_node *n = &m->nodes[place->node == PTX_NONE ? 0 : place->node];
	char line[16] = "";
	const char *from;
	int len, max_len;

	name[0] = 0;
	if (!gpubpf_place_has_name(place->kind))
		return;
	if (place->kind == GPUBPF_SITE_LINE) {
		from = find_source_file(m, place->loc, &len);
		snprintf(line, sizeof(line), ":%u", place->line);
	} else {
		uint32_t last = n->kind == PTX_MARK ? n->name : n->operands - 1;

		from = ptx_token_text(m, n->name) + (n->kind == PTX_MARK ? sizeof(PTX_MARK_PREFIX) - 1 : 0);
		len = ptx_token_text(m, last) + m->tokens[last].len - from;
	}
	max_len = (int)(size - 1 - strlen(line));
	snprintf(name, size, "%.*s%s", len < max_len ? len : max_len, len < max_len ? from : from + len - max_len, line);
}
