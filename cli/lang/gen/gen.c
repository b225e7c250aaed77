/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates the code of statements, then a BPF program for each probe of a block, and then the object with all
 * programs.
 */
#include "gen.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>

#include "core/model/places.h"

static void block(struct gen *g, const struct lang_node *n)
{
	for (const struct lang_node *s = n->list; s; s = s->next)
		gen_statement(g, s);
}

static void if_statement(struct gen *g, const struct lang_node *n)
{
	uint32_t no = gen_label(g), end = n->c ? gen_label(g) : no;

	gen_branch(g, n->a, false, no);
	gen_statement(g, n->b);
	if (n->c) {
		gen_goto(g, end);
		gen_place_label(g, no);
		gen_statement(g, n->c);
	}
	gen_place_label(g, end);
}

static void unroll(struct gen *g, const struct lang_node *n)
{
	for (uint64_t i = 0; i < n->value && !g->l->failed; i++) {
		uint32_t before = g->code->n;

		gen_statement(g, n->b);
		if (g->code->n == before)
			return; /* the body has no code */
	}
}

static void emit_leave(struct gen *g, const struct lang_node *n)
{
	gen_goto(g, n->kind == LANG_N_BREAK ? g->break_to : g->continue_to);
}

void gen_statement(struct gen *g, const struct lang_node *n)
{
	static void (*const kinds[])(struct gen *g, const struct lang_node *n) = {
		[LANG_N_IF] = if_statement,  [LANG_N_BLOCK] = block,         [LANG_N_UNROLL] = unroll,
		[LANG_N_FOR] = gen_for,      [LANG_N_EACH] = gen_each,       [LANG_N_WHILE] = gen_while,
		[LANG_N_BREAK] = emit_leave, [LANG_N_CONTINUE] = emit_leave, [LANG_N_RETURN] = gen_return,
	};

	if (n->kind != LANG_N_BLOCK)
		g->pos = n->a && n->kind != LANG_N_IF ? n->a->pos : n->pos;
	g->is_result_used = true; /* for conditions, bounds and returns */
	if (n->kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[n->kind]) {
		kinds[n->kind](g, n);
		return;
	}
	gen_statement_value(g, n);
}

/* Returns true if the code of a statement is shorter when its result is not used. */
static bool has_unused_result(const struct lang_node *n)
{
	if (n->kind == LANG_N_CALL)
		return n->function->id == LANG_F_DELETE;
	return (n->kind == LANG_N_SET || n->kind == LANG_N_STEP) && n->a->kind == LANG_N_MAP;
}

void gen_statement_value(struct gen *g, const struct lang_node *n)
{
	uint32_t size = lang_is_in_memory(n->type) && n->kind != LANG_N_SET ? lang_size(n->type) : 0;
	int at = size ? gen_push(g, size) : 0;

	g->is_result_used = !has_unused_result(n);
	if (size)
		gen_memory(g, n, at);
	else
		gen_expr(g, n);
	gen_pop(g, size);
}

/* -- programs -- */

/* Mark the instructions that can be reached from `pc`. The verifier refuses programs with unreachable code. */
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

/*
 * Remove unreachable instructions. to[i] becomes the new index of instruction i, and to[n] the new number of
 * instructions.
 */
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
			code->reloc[count++] = (struct lang_reloc){ to[code->reloc[i].insn], code->reloc[i].map,
								    code->reloc[i].function };
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

void gen_close(struct gen *g)
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

bool gen_open(struct gen *g, const char *section, const char *name)
{
	struct lang_code *code = lang_alloc(g->l, sizeof(*code));

	if (!code)
		return false;
	code->section = section;
	code->name = name;
	code->is_loop = g->level;
	g->code = code;
	return true;
}

static bool begin(struct gen *g, const char *section, const char *name)
{
	if (!gen_open(g, section, name))
		return false;
	g->end = gen_label(g);
	gen_mov(g, R9, R1);
	return true;
}

static struct lang_code *end(struct gen *g)
{
	gen_place_label(g, g->end);
	gen_imm(g, R0, 0);
	gen_insn(g, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	gen_close(g);
	return g->code;
}

/* Set all variables to 0, because the verifier requires initialised stack slots. */
static void begin_variables(struct gen *g)
{
	gen_imm(g, R0, 0);
	for (struct lang_var *v = g->block->vars; v; v = v->next) {
		v->at = gen_push(g, lang_size(v->type));
		for (uint32_t i = 0; i < lang_size(v->type); i += 8)
			gen_store(g, R10, v->at + (int)i, R0, 8);
	}
}

/* Allocate what functions of loops need in the program's frame: the address of the context, and where to leave to. */
static void begin_loops(struct gen *g)
{
	if (!g->block->loops)
		return;
	g->context_slot = gen_push(g, 8);
	gen_store(g, R10, g->context_slot, R9, 8);
	g->leave = gen_push(g, 8);
	gen_imm(g, R0, 0);
	gen_store(g, R10, g->leave, R0, 8);
}

/* Generate a probe. The functions of its loops are added to *loops. */
static struct lang_code *probe_code(struct lang *l, struct lang_block *b, const struct lang_probe *p, uint32_t number,
				    struct lang_code **loops)
{
	struct gen g = { .l = l, .block = b, .probe = p, .pos = p->pos, .first = loops };

	const char *kind = p->when == LANG_IN_LINUX ? "linux" : gpubpf_place_kind(p->site)->name;

	if (!begin(&g, p->linux_section ? p->linux_section : p->section, lang_format(l, "%s_%u", kind, number)))
		return NULL;
	begin_loops(&g);
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

/* Generate a hidden program for `duration`. It runs at the entry of the same kernels and records the time. */
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

/* Generate a program that never runs. An object needs a program, even if only blocks on the host use its maps. */
static struct lang_code *idle_code(struct lang *l)
{
	static struct lang_block none;
	struct gen g = { .l = l, .block = &none };

	return begin(&g, "gpu/entry/" LANG_IDLE, LANG_IDLE) ? end(&g) : NULL;
}

int lang_generate(struct lang *l)
{
	struct lang_code *first = NULL, **last = &first, *loops = NULL, *idle;
	uint32_t number = 0, maps = 0;

	for (struct lang_map *m = l->maps; m; m = m->next)
		m->index = maps++;
	for (int hidden = 0; hidden < 2; hidden++)
		for (struct lang_block *b = l->blocks; b && !l->failed; b = b->next)
			for (struct lang_probe *p = b->probes; p && !l->failed; p = p->next) {
				if ((p->when != LANG_ON_DEVICE && p->when != LANG_IN_LINUX) || (hidden && !b->duration) ||
				    (hidden && !is_first(first, p->section + strlen("gpu/exit/"))))
					continue;
				*last = hidden ? entry_code(l, b, p, ++number) : probe_code(l, b, p, ++number, &loops);
				if (*last)
					last = &(*last)->next;
			}
	if (l->failed)
		return -EINVAL;
	*last = loops;
	if (!lang_has_device_probes(l) && (first || l->nmaps)) {
		idle = idle_code(l);
		if (idle)
			idle->next = first;
		first = idle;
	}
	return first ? lang_object_make(l, first) : 0;
}
