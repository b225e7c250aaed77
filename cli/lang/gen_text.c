/* SPDX-License-Identifier: Apache-2.0 */
/* Generates strings: 64 bytes, padded with zeros, so that strings and keys are compared in words. */
#include <linux/bpf.h>
#include <string.h>

#include "gen.h"

#define PROBE_READ_STR 114 /* helper of include/gpubpf/helpers.def */
#define FIELD(name) ((int)offsetof(struct gpubpf_ctx, name))

void gen_copy_text(struct gen *g, int to, int to_off, int from, int from_off)
{
	for (int i = 0; i < GPUBPF_CTX_NAME; i += 8) {
		gen_load(g, R1, from, from_off + i, 8);
		gen_store(g, to, to_off + i, R1, 8);
	}
}

static uint64_t word_of(const char *text, size_t i)
{
	char whole[GPUBPF_CTX_NAME] = "";
	uint64_t eight;

	strncpy(whole, text, sizeof(whole) - 1);
	memcpy(&eight, whole + i, sizeof(eight));
	return eight;
}

static void literal(struct gen *g, const char *text, int to)
{
	for (int i = 0; i < GPUBPF_CTX_NAME; i += 8) {
		gen_imm(g, R1, word_of(text, i));
		gen_store(g, R10, to + i, R1, 8);
	}
}

static void ternary(struct gen *g, const struct lang_node *n, int to)
{
	uint32_t no = gen_label(g), end = gen_label(g);

	gen_branch(g, n->a, false, no);
	gen_text(g, n->b, to);
	gen_goto(g, end);
	gen_place_label(g, no);
	gen_text(g, n->c, to);
	gen_place_label(g, end);
}

static void copy_from_map(struct gen *g, const struct lang_node *n, int to)
{
	uint32_t none = gen_label(g), end = gen_label(g);

	gen_lookup(g, n);
	gen_jump_imm(g, BPF_JEQ, R0, 0, none);
	gen_copy_text(g, R10, to, R0, 0);
	gen_goto(g, end);
	gen_place_label(g, none);
	literal(g, "", to);
	gen_place_label(g, end);
}

/* Truncate the string at r10 + to to `bytes` bytes. */
static void truncate_text(struct gen *g, int to, uint64_t bytes)
{
	for (uint64_t i = bytes & ~7ull; i < GPUBPF_CTX_NAME; i += 8) {
		gen_load(g, R1, R10, to + (int)i, 8);
		gen_imm(g, R2, i < bytes ? (1ull << (bytes - i) * 8) - 1 : 0);
		gen_alu(g, BPF_AND, R1, R2);
		gen_store(g, R10, to + (int)i, R1, 8);
	}
}

static void call(struct gen *g, const struct lang_node *n, int to)
{
	const struct lang_node *bytes = n->list->next;

	if (n->list->type.base == LANG_TEXT) {
		gen_text(g, n->list, to);
		if (bytes)
			truncate_text(g, to, bytes->value);
		return;
	}
	gen_expr(g, n->list);
	gen_mov(g, R3, R0);
	literal(g, "", to);
	gen_mov(g, R1, R10);
	gen_alu_imm(g, BPF_ADD, R1, to);
	gen_imm(g, R2, bytes ? bytes->value + 1 : GPUBPF_CTX_NAME);
	gen_call(g, PROBE_READ_STR);
}

void gen_text(struct gen *g, const struct lang_node *n, int to)
{
	switch (n->kind) {
	case LANG_N_STRING:
		literal(g, n->text, to);
		break;
	case LANG_N_BUILTIN:
		if (n->builtin.source == LANG_SOURCE_PROBE)
			literal(g, g->probe->section, to);
		else
			gen_copy_text(g, R10, to, R9, (int)n->builtin.at);
		break;
	case LANG_N_VAR:
		gen_copy_text(g, R10, to, R10, n->var->at);
		break;
	case LANG_N_MAP:
		copy_from_map(g, n, to);
		break;
	case LANG_N_TERNARY:
		ternary(g, n, to);
		break;
	default:
		call(g, n, to);
		break;
	}
}

struct side {
	const struct lang_node *n;
	int base, at;
	uint32_t size; /* bytes that the string occupies on the stack */
};

static struct side side_of(struct gen *g, const struct lang_node *n)
{
	struct side s = { .n = n, .base = R9 };

	if (n->type.base == LANG_KERNEL) {
		s.at = FIELD(kernel_name);
	} else if (n->kind == LANG_N_BUILTIN && n->type.base == LANG_NAME) {
		s.at = (int)n->builtin.at;
	} else if (n->kind != LANG_N_STRING) {
		s = (struct side){ n, R10, gen_push(g, GPUBPF_CTX_NAME), GPUBPF_CTX_NAME };
		gen_text(g, n, s.at);
	}
	return s;
}

static void load(struct gen *g, int dst, const struct side *s, size_t i)
{
	if (s->n->kind == LANG_N_STRING)
		gen_imm(g, dst, word_of(s->n->text, i));
	else
		gen_load(g, dst, s->base, s->at + (int)i, 8);
}

void gen_compare_texts(struct gen *g, const struct lang_node *n, bool when, uint32_t label)
{
	bool equal = (n->op == LANG_T_EQ) == when;
	uint32_t other = equal ? gen_label(g) : label;
	struct side a = side_of(g, n->a), b = side_of(g, n->b);
	size_t last = n->b->kind == LANG_N_STRING ? strlen(n->b->text) : GPUBPF_CTX_NAME - 1;

	for (size_t i = 0; i <= last; i += 8) {
		load(g, R0, &a, i);
		load(g, R1, &b, i);
		gen_jump(g, BPF_JNE, R0, R1, other);
	}
	gen_pop(g, b.size);
	gen_pop(g, a.size);
	if (!equal)
		return;
	gen_goto(g, label);
	gen_place_label(g, other);
}
