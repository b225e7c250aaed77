/* SPDX-License-Identifier: Apache-2.0 */
/* Emits the eBPF instructions of one program (RFC 9669), with labels, relocations, source lines and stack slots. */
#include "gen.h"

#include <linux/bpf.h>
#include <stdlib.h>

#define MAX_STACK_BYTES 512

enum { LOOKUP = 1 };

/*
 * Double an array's capacity if it is full. The old array stays allocated in the tree's memory, which is freed at the
 * end.
 */
static bool grow(struct gen *g, void **array, uint32_t *room, uint32_t n, size_t size)
{
	uint32_t new_room = *room ? *room * 2 : 64;
	char *grown;

	if (n < *room)
		return true;
	grown = lang_alloc(g->l, new_room * size);
	if (!grown)
		return false;
	for (size_t i = 0; i < *room * size; i++)
		grown[i] = ((char *)*array)[i];
	*array = grown;
	*room = new_room;
	return true;
}

static void note_line(struct gen *g)
{
	struct lang_code *code = g->code;

	if (code->nlines && code->line[code->nlines - 1].pos == g->pos)
		return;
	if (grow(g, (void **)&code->line, &g->rooms[1], code->nlines, sizeof(*code->line)))
		code->line[code->nlines++] = (struct lang_line){ code->n, g->pos };
}

void gen_insn(struct gen *g, uint8_t code, int dst, int src, int16_t off, int32_t imm)
{
	if (g->l->failed)
		return;
	if (g->code->n >= LANG_INSNS) {
		lang_fail(g->l, g->pos, "split the probe into several probes, or unroll less",
			  "the program has more than %u instructions", LANG_INSNS);
		return;
	}
	note_line(g);
	if (grow(g, (void **)&g->code->insn, &g->room, g->code->n, sizeof(*g->code->insn)))
		g->code->insn[g->code->n++] = (struct gpubpf_raw_insn){ code, dst | src << 4, off, imm };
}

void gen_mov(struct gen *g, int dst, int src)
{
	gen_insn(g, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

void gen_imm(struct gen *g, int dst, uint64_t value)
{
	if ((int64_t)value == (int32_t)value) {
		gen_insn(g, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, (int32_t)value);
		return;
	}
	gen_insn(g, BPF_LD | BPF_IMM | BPF_DW, dst, 0, 0, (int32_t)value);
	gen_insn(g, 0, 0, 0, 0, (int32_t)(value >> 32));
}

void gen_alu(struct gen *g, uint32_t op, int dst, int src)
{
	gen_insn(g, BPF_ALU64 | op | BPF_X, dst, src, 0, 0);
}

void gen_alu_imm(struct gen *g, uint32_t op, int dst, int32_t imm)
{
	gen_insn(g, BPF_ALU64 | op | BPF_K, dst, 0, 0, imm);
}

static uint8_t width(uint32_t size)
{
	return size == 1 ? BPF_B : size == 2 ? BPF_H : size == 4 ? BPF_W : BPF_DW;
}

void gen_load(struct gen *g, int dst, int base, int off, uint32_t size)
{
	gen_insn(g, BPF_LDX | BPF_MEM | width(size), dst, base, off, 0);
}

void gen_store(struct gen *g, int base, int off, int src, uint32_t size)
{
	gen_insn(g, BPF_STX | BPF_MEM | width(size), base, src, off, 0);
}

void gen_atomic(struct gen *g, uint32_t op, int base, int off, int src)
{
	gen_insn(g, BPF_STX | BPF_ATOMIC | BPF_DW, base, src, off, op);
}

void gen_function_address(struct gen *g, int dst, const struct lang_code *function)
{
	struct lang_code *code = g->code;

	if (grow(g, (void **)&code->reloc, &g->rooms[0], code->nrelocs, sizeof(*code->reloc)))
		code->reloc[code->nrelocs++] = (struct lang_reloc){ code->n, 0, function };
	gen_insn(g, BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_FUNC, 0, 0);
	gen_insn(g, 0, 0, 0, 0, 0);
}

static void address(struct gen *g, int dst, uint32_t map, uint32_t at)
{
	struct lang_code *code = g->code;

	if (grow(g, (void **)&code->reloc, &g->rooms[0], code->nrelocs, sizeof(*code->reloc)))
		code->reloc[code->nrelocs++] = (struct lang_reloc){ code->n, map, NULL };
	gen_insn(g, BPF_LD | BPF_IMM | BPF_DW, dst, 0, 0, at);
	gen_insn(g, 0, 0, 0, 0, 0);
}

void gen_map_address(struct gen *g, int dst, uint32_t map)
{
	address(g, dst, map, 0);
}

void gen_name_address(struct gen *g, int dst, uint32_t at)
{
	address(g, dst, gen_internal_map(g, LANG_INTERNAL_MAPS), at);
}

void gen_call(struct gen *g, uint32_t helper)
{
	gen_insn(g, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

/* -- jumps -- */

uint32_t gen_label(struct gen *g)
{
	if (!grow(g, (void **)&g->label, &g->labels, g->nlabels, sizeof(*g->label)))
		return 0;
	return g->nlabels++;
}

void gen_place_label(struct gen *g, uint32_t label)
{
	if (label < g->nlabels)
		g->label[label] = g->code->n;
}

static void jump(struct gen *g, uint8_t code, int dst, int src, int32_t imm, uint32_t label)
{
	if (!grow(g, (void **)&g->jump, &g->jumps, g->njumps, sizeof(*g->jump)))
		return;
	g->jump[g->njumps].insn = g->code->n;
	g->jump[g->njumps++].label = label;
	gen_insn(g, code, dst, src, 0, imm);
}

void gen_goto(struct gen *g, uint32_t label)
{
	jump(g, BPF_JMP | BPF_JA, 0, 0, 0, label);
}

void gen_jump(struct gen *g, uint32_t op, int dst, int src, uint32_t label)
{
	jump(g, BPF_JMP | op | BPF_X, dst, src, 0, label);
}

void gen_jump_imm(struct gen *g, uint32_t op, int dst, int32_t imm, uint32_t label)
{
	jump(g, BPF_JMP | op | BPF_K, dst, 0, imm, label);
}

/* -- the stack -- */

int gen_push(struct gen *g, uint32_t size)
{
	g->frame += (size + 7) & ~7u;
	if (g->frame > MAX_STACK_BYTES)
		lang_fail(g->l, g->pos, "use fewer variables, shorter keys, or several statements",
			  "this statement needs more than the %u bytes of a program's stack", MAX_STACK_BYTES);
	return -(int)g->frame;
}

void gen_pop(struct gen *g, uint32_t size)
{
	g->frame -= (size + 7) & ~7u;
}

/* Return the object's index of an internal map. Internal maps follow the maps of the program text. */
uint32_t gen_internal_map(const struct gen *g, enum lang_internal_map map)
{
	const struct lang *l = g->l;
	const bool is_used[LANG_INTERNAL_MAPS] = { l->records,   l->zeros,  l->durations,
						   l->durations, l->stacks, l->limits };
	uint32_t n = l->nmaps;

	for (int i = 0; i < (int)map; i++)
		n += is_used[i];
	return n;
}

void gen_count(struct gen *g, enum lang_internal_map map)
{
	uint32_t none = gen_label(g);
	int key = gen_push(g, 8);

	gen_imm(g, R0, 0);
	gen_store(g, R10, key, R0, 4);
	gen_map_address(g, R1, gen_internal_map(g, map));
	gen_mov(g, R2, R10);
	gen_alu_imm(g, BPF_ADD, R2, key);
	gen_call(g, LOOKUP);
	gen_jump_imm(g, BPF_JEQ, R0, 0, none);
	gen_imm(g, R1, 1);
	gen_atomic(g, BPF_ADD, R0, 0, R1);
	gen_place_label(g, none);
	gen_pop(g, 8);
}
