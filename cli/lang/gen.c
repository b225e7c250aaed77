/* SPDX-License-Identifier: Apache-2.0 */
/* Generates statements, then a program for each probe of a block, and then the object with all programs. */
#include "gen.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>

#include "core/model/places.h"

static void statement(struct gen *g, const struct lang_node *n);

static void block(struct gen *g, const struct lang_node *n)
{
	for (const struct lang_node *s = n->list; s; s = s->next)
		statement(g, s);
}

static void if_statement(struct gen *g, const struct lang_node *n)
{
	uint32_t no = gen_label(g), end = n->c ? gen_label(g) : no;

	gen_branch(g, n->a, false, no);
	statement(g, n->b);
	if (n->c) {
		gen_goto(g, end);
		gen_place_label(g, no);
		statement(g, n->c);
	}
	gen_place_label(g, end);
}

static void unroll(struct gen *g, const struct lang_node *n)
{
	for (uint64_t i = 0; i < n->value && !g->l->failed; i++)
		statement(g, n->b);
}

/* Generate a for loop. The end of its range is computed once, into the variable that follows n->var. */
static void for_statement(struct gen *g, const struct lang_node *n)
{
	const struct lang_var *end_var = n->var->next;
	uint32_t again = gen_label(g), end = gen_label(g), outer[] = { g->break_to, g->continue_to };

	gen_expr(g, n->a);
	gen_var(g, n->var, true);
	gen_expr(g, n->c);
	gen_var(g, end_var, true);
	g->break_to = end;
	g->continue_to = gen_label(g);
	gen_place_label(g, again);
	gen_var(g, end_var, false);
	gen_mov(g, R1, R0);
	gen_var(g, n->var, false);
	gen_jump(g, BPF_JSGE, R0, R1, end);
	statement(g, n->b);
	gen_place_label(g, g->continue_to);
	gen_var(g, n->var, false);
	gen_alu_imm(g, BPF_ADD, R0, 1);
	gen_var(g, n->var, true);
	gen_goto(g, again);
	gen_place_label(g, end);
	g->break_to = outer[0];
	g->continue_to = outer[1];
}

static void emit_leave(struct gen *g, const struct lang_node *n)
{
	gen_goto(g, n->kind == LANG_N_BREAK ? g->break_to : n->kind == LANG_N_CONTINUE ? g->continue_to : g->end);
}

static void statement(struct gen *g, const struct lang_node *n)
{
	static void (*const kinds[])(struct gen *g, const struct lang_node *n) = {
		[LANG_N_IF] = if_statement,   [LANG_N_BLOCK] = block,      [LANG_N_UNROLL] = unroll,
		[LANG_N_FOR] = for_statement, [LANG_N_BREAK] = emit_leave, [LANG_N_CONTINUE] = emit_leave,
		[LANG_N_RETURN] = emit_leave,
	};

	if (n->kind != LANG_N_BLOCK)
		g->pos = n->a && n->kind != LANG_N_IF ? n->a->pos : n->pos;
	if (n->kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[n->kind]) {
		kinds[n->kind](g, n);
		return;
	}
	g->is_result_used = !((n->kind == LANG_N_SET || n->kind == LANG_N_STEP) && n->a->kind == LANG_N_MAP);
	gen_expr(g, n);
}

/* -- programs -- */

/*
 * Find the reachable instructions. Code after an unconditional jump is unreachable, and the verifier refuses
 * unreachable code.
 */
static void mark_reachable(const struct lang_code *code, uint32_t pc, bool *reached, uint32_t *work)
{
	uint32_t n = 0;

	work[n++] = pc;
	while (n) {
		pc = work[--n];
		while (pc < code->n && !reached[pc]) {
			const struct gpubpf_raw_insn *insn = &code->insn[pc];
			uint8_t class = insn->code & 7;
			bool jumps = (class == BPF_JMP || class == BPF_JMP32) && (insn->code & 0xf0) != BPF_CALL &&
				     (insn->code & 0xf0) != BPF_EXIT;

			reached[pc] = true;
			if (insn->code == (BPF_LD | BPF_IMM | BPF_DW))
				reached[++pc] = true;
			if (insn->code == (BPF_JMP | BPF_EXIT))
				break;
			if (insn->code == (BPF_JMP | BPF_JA))
				pc += insn->off;
			else if (jumps && !reached[pc + 1 + insn->off])
				work[n++] = pc + 1 + insn->off;
			pc++;
		}
	}
}

/* Remove unreachable instructions. to[i]: the new index of instruction i; to[n]: the new number of instructions. */
static void remove_unreachable(struct lang_code *code, const bool *reached, uint32_t *to)
{
	uint32_t n = 0, count = 0;

	for (uint32_t pc = 0; pc < code->n; pc++) {
		to[pc] = n;
		n += reached[pc];
	}
	to[code->n] = n;
	for (uint32_t pc = 0; pc < code->n; pc++) {
		struct gpubpf_raw_insn insn = code->insn[pc];
		uint8_t class = insn.code & 7, op = insn.code & 0xf0;

		if (!reached[pc])
			continue;
		if ((class == BPF_JMP || class == BPF_JMP32) && op != BPF_CALL && op != BPF_EXIT)
			insn.off = to[pc + 1 + insn.off] - to[pc] - 1;
		code->insn[to[pc]] = insn;
	}
	for (uint32_t i = 0; i < code->nrelocs; i++)
		if (reached[code->reloc[i].insn])
			code->reloc[count++] = (struct lang_reloc){ to[code->reloc[i].insn], code->reloc[i].map };
	code->nrelocs = count;
	count = 0;
	for (uint32_t i = 0; i < code->nlines; i++) {
		uint32_t end = i + 1 < code->nlines ? code->line[i + 1].insn : code->n;

		if (to[code->line[i].insn] < to[end])
			code->line[count++] = (struct lang_line){ to[code->line[i].insn], code->line[i].pos };
	}
	code->nlines = count;
	code->n = n;
}

static void resolve(struct gen *g)
{
	bool *reached = lang_alloc(g->l, g->code->n + 1);
	uint32_t *to = lang_alloc(g->l, (g->code->n + 1) * sizeof(*to));
	uint32_t *work = lang_alloc(g->l, (g->code->n + 1) * sizeof(*work));

	if (g->l->failed || !reached || !to || !work)
		return;
	for (uint32_t i = 0; i < g->njumps; i++)
		g->code->insn[g->jump[i].insn].off = g->label[g->jump[i].label] - g->jump[i].insn - 1;
	mark_reachable(g->code, 0, reached, work);
	remove_unreachable(g->code, reached, to);
}

static struct lang_code *begin(struct gen *g, const char *section, const char *name)
{
	struct lang_code *code = lang_alloc(g->l, sizeof(*code));

	if (!code)
		return NULL;
	code->section = section;
	code->name = name;
	g->code = code;
	g->end = gen_label(g);
	gen_mov(g, R9, R1);
	return code;
}

static struct lang_code *end(struct gen *g)
{
	gen_place_label(g, g->end);
	gen_imm(g, R0, 0);
	gen_insn(g, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	resolve(g);
	return g->code;
}

/* Initialise all variables to 0, because the verifier requires initialised stack slots. */
static void begin_variables(struct gen *g)
{
	gen_imm(g, R0, 0);
	for (struct lang_var *v = g->block->vars; v; v = v->next) {
		v->at = gen_push(g, lang_size(v->type));
		for (uint32_t i = 0; i < lang_size(v->type); i += 8)
			gen_store(g, R10, v->at + (int)i, R0, 8);
	}
}

static struct lang_code *probe_code(struct lang *l, struct lang_block *b, const struct lang_probe *p, uint32_t number)
{
	struct gen g = { .l = l, .block = b, .probe = p, .pos = p->pos };

	if (!begin(&g, p->section, lang_format(l, "%s_%u", gpubpf_place_kind(p->site)->name, number)))
		return NULL;
	begin_variables(&g);
	if (b->duration) {
		g.duration = gen_push(&g, 8);
		gen_duration(&g);
		gen_store(&g, R10, g.duration, R0, 8);
	}
	if (b->filter) {
		g.pos = b->filter->pos;
		g.is_result_used = true;
		gen_branch(&g, b->filter, false, g.end);
	}
	block(&g, b->body);
	return end(&g);
}

/* Generate the hidden program at the entry of the same kernels, which records the time for `duration`. */
static struct lang_code *entry_code(struct lang *l, struct lang_block *b, const struct lang_probe *p, uint32_t number)
{
	struct gen g = { .l = l, .block = b, .probe = p, .pos = p->pos };
	const char *pattern = p->section + strlen("gpu/exit/");

	if (!begin(&g, lang_format(l, "gpu/entry/%s", pattern), lang_format(l, "entered_%u", number)))
		return NULL;
	gen_entered(&g);
	return end(&g);
}

static bool is_first(const struct lang_code *code, const char *pattern)
{
	for (; code; code = code->next)
		if (!strncmp(code->name, "entered_", 8) && !strcmp(code->section + strlen("gpu/entry/"), pattern))
			return false;
	return true;
}

int lang_generate(struct lang *l)
{
	struct lang_code *first = NULL, **last = &first;
	uint32_t number = 0, maps = 0;

	for (struct lang_map *m = l->maps; m; m = m->next)
		m->index = maps++;
	for (int hidden = 0; hidden < 2; hidden++)
		for (struct lang_block *b = l->blocks; b && !l->failed; b = b->next)
			for (struct lang_probe *p = b->probes; p && !l->failed; p = p->next) {
				if (p->when != LANG_ON_DEVICE || (hidden && !b->duration) ||
				    (hidden && !is_first(first, p->section + strlen("gpu/exit/"))))
					continue;
				*last = hidden ? entry_code(l, b, p, ++number) : probe_code(l, b, p, ++number);
				if (*last)
					last = &(*last)->next;
			}
	if (l->failed)
		return -EINVAL;
	return first ? lang_object_make(l, first) : 0;
}
