/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates string literals, functions of strings, buf() and comparisons of values in memory. A string has 64 bytes and is padded with zeros, so that strings and keys are compared
 * by 8-byte words.
 */
#include <linux/bpf.h>
#include <string.h>

#include "gen.h"

/* numbers of helpers in include/gpubpf/helpers.def */
enum { PID_TGID = 14, PROBE_READ = 112, PROBE_READ_KERNEL = 113, PROBE_READ_STR = 114, PROBE_READ_KERNEL_STR = 115 };
#define FIELD(name) ((int)offsetof(struct gpubpf_ctx, name))

uint64_t gen_text_word(const char *text, size_t i)
{
	char whole[GPUBPF_CTX_NAME] = "";
	uint64_t eight;

	strncpy(whole, text, sizeof(whole) - 1);
	memcpy(&eight, whole + i, sizeof(eight));
	return eight;
}

void gen_literal(struct gen *g, const char *text, int to)
{
	for (int i = 0; i < GPUBPF_CTX_NAME; i += 8) {
		gen_imm(g, R1, gen_text_word(text, i));
		gen_store(g, R10, to + i, R1, 8);
	}
}

/* Truncate the string at address r10 + `to` to `bytes` bytes. */
static void truncate_text(struct gen *g, int to, uint64_t bytes)
{
	for (uint64_t i = bytes & ~7ull; i < GPUBPF_CTX_NAME; i += 8) {
		gen_load(g, R1, R10, to + (int)i, 8);
		gen_imm(g, R2, i < bytes ? (1ull << (bytes - i) * 8) - 1 : 0);
		gen_alu(g, BPF_AND, R1, R2);
		gen_store(g, R10, to + (int)i, R1, 8);
	}
}

static void read_string(struct gen *g, const struct lang_node *n, int to)
{
	const struct lang_node *bytes = n->list->next;

	if (lang_is_in_memory(n->list->type)) {
		gen_memory(g, n->list, to);
		if (bytes)
			truncate_text(g, to, bytes->value);
		return;
	}
	gen_expr(g, n->list);
	gen_mov(g, R3, R0);
	gen_literal(g, "", to);
	gen_mov(g, R1, R10);
	gen_alu_imm(g, BPF_ADD, R1, to);
	gen_imm(g, R2, bytes ? bytes->value + 1 : GPUBPF_CTX_NAME);
	gen_call(g, gen_reads_kernel(g, n->list) ? PROBE_READ_KERNEL_STR : PROBE_READ_STR);
}

/* r0 = the number of bytes that buf() reads, at most the buffer's capacity */
static void emit_bytes(struct gen *g, const struct lang_node *n)
{
	const struct lang_node *bytes = n->list->next;
	uint32_t fits = gen_label(g);

	if (!bytes || bytes->kind == LANG_N_NUMBER) {
		gen_imm(g, R0, n->type.bytes);
		return;
	}
	gen_expr(g, bytes);
	gen_jump_imm(g, BPF_JLE, R0, (int32_t)n->type.bytes, fits);
	gen_imm(g, R0, n->type.bytes);
	gen_place_label(g, fits);
}

static uint64_t mask_of(size_t bytes)
{
	return bytes >= 8 ? UINT64_MAX : (1ull << bytes * 8) - 1;
}

/* dst = the first bytes of the word at r10 + at; the others become 0 */
static void load_bytes(struct gen *g, int dst, int at, size_t bytes)
{
	gen_load(g, dst, R10, at, 8);
	if (bytes >= 8)
		return;
	gen_imm(g, R3, mask_of(bytes));
	gen_alu(g, BPF_AND, dst, R3);
}

/* Store the first bytes of a string at r10 + to. Bytes after the string are 0. */
static void copy_text(struct gen *g, const struct lang_node *n, int to)
{
	uint32_t size;
	int at = gen_temporary(g, n->list, &size);

	for (uint32_t i = 0; i < n->type.bytes; i += 8) {
		load_bytes(g, R1, at + (int)i, n->type.bytes - i);
		gen_store(g, R10, to + (int)i, R1, 8);
	}
	gen_pop(g, size);
}

/* Store the number of bytes and the bytes at r10 + to. If the memory cannot be read, all bytes are 0. */
static void read_buffer(struct gen *g, const struct lang_node *n, int to)
{
	gen_imm(g, R0, 0);
	for (uint32_t i = 0; i < lang_size(n->type); i += 8)
		gen_store(g, R10, to + (int)i, R0, 8);
	emit_bytes(g, n);
	gen_store(g, R10, to, R0, 8);
	if (lang_is_in_memory(n->list->type)) {
		copy_text(g, n, to + 8);
		return;
	}
	gen_expr(g, n->list);
	gen_mov(g, R3, R0);
	gen_load(g, R2, R10, to, 8);
	gen_mov(g, R1, R10);
	gen_alu_imm(g, BPF_ADD, R1, to + 8);
	gen_call(g, gen_reads_kernel(g, n->list) ? PROBE_READ_KERNEL : PROBE_READ);
}

/* Store the process and the address at r10 + to: a list with one frame. */
static void store_frame(struct gen *g, const struct lang_node *n, int to)
{
	gen_expr(g, n->list);
	gen_store(g, R10, to + 8, R0, 8);
	gen_call(g, PID_TGID);
	gen_alu_imm(g, BPF_RSH, R0, 32);
	gen_store(g, R10, to, R0, 8);
}

void gen_text_call(struct gen *g, const struct lang_node *n, int to)
{
	if (n->type.base == LANG_BUFFER)
		read_buffer(g, n, to);
	else if (n->type.base == LANG_FRAME_LIST)
		store_frame(g, n, to);
	else
		read_string(g, n, to);
}

struct side {
	const struct lang_node *n;
	int base, at;
	uint32_t size; /* number of stack bytes that the string occupies */
};

static struct side side_of(struct gen *g, const struct lang_node *n)
{
	struct side s = { .n = n, .base = R9 };

	if (n->type.base == LANG_KERNEL) {
		s.at = FIELD(kernel_name);
	} else if (n->kind == LANG_N_BUILTIN && n->type.base == LANG_NAME && n->builtin.source == LANG_SOURCE_CTX) {
		s.at = (int)n->builtin.at;
	} else if (n->kind != LANG_N_STRING) {
		s.base = R10;
		s.at = gen_temporary(g, n, &s.size);
	}
	return s;
}

static void load(struct gen *g, int dst, const struct side *s, size_t i)
{
	if (s->n->kind == LANG_N_STRING)
		gen_imm(g, dst, gen_text_word(s->n->text, i));
	else
		gen_load(g, dst, s->base, s->at + (int)i, 8);
}

void gen_compare_memory(struct gen *g, const struct lang_node *n, bool when, uint32_t label)
{
	bool equal = (n->op == LANG_T_EQ) == when;
	uint32_t other = equal ? gen_label(g) : label;
	struct side a = side_of(g, n->a), b = side_of(g, n->b);
	size_t size = lang_size(n->a->type) && n->a->type.base != LANG_KERNEL ? lang_size(n->a->type) : GPUBPF_CTX_NAME;
	size_t last = n->b->kind == LANG_N_STRING ? strlen(n->b->text) : size - 1;

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

/*
 * -- functions of strings --
 *
 * strncmp() compares words, and strstr() shifts two words to look at each position. The code has no branches, except in
 * strncmp(), because each branch would double the paths that the verifier walks.
 */

static void compare(struct gen *g, int a, int b, uint64_t bytes)
{
	uint32_t differ = gen_label(g), end = gen_label(g);

	bytes = bytes < GPUBPF_CTX_NAME ? bytes : GPUBPF_CTX_NAME;
	for (size_t i = 0; i < bytes; i += 8) {
		load_bytes(g, R1, a + (int)i, bytes - i);
		load_bytes(g, R2, b + (int)i, bytes - i);
		gen_jump(g, BPF_JNE, R1, R2, differ);
	}
	gen_imm(g, R0, 0);
	gen_goto(g, end);
	gen_place_label(g, differ);
	gen_imm(g, R0, 1);
	gen_place_label(g, end);
}

/* r1 = the eight bytes at this position of the string at r10 + at; positions beyond the string have zeros */
static void load_window(struct gen *g, int at, size_t position)
{
	size_t word = position & ~7ull, shift = (position & 7) * 8;

	if (word >= GPUBPF_CTX_NAME) {
		gen_imm(g, R1, 0);
		return;
	}
	gen_load(g, R1, R10, at + (int)word, 8);
	if (!shift)
		return;
	gen_alu_imm(g, BPF_RSH, R1, (int32_t)shift);
	if (word + 8 >= GPUBPF_CTX_NAME)
		return;
	gen_load(g, R2, R10, at + (int)word + 8, 8);
	gen_alu_imm(g, BPF_LSH, R2, 64 - (int32_t)shift);
	gen_alu(g, BPF_OR, R1, R2);
}

/* r6 |= the bits in which the text differs from the string at this position */
static void add_difference(struct gen *g, int at, size_t position, const char *text, size_t i, size_t len)
{
	load_window(g, at, position + i);
	if (len - i < 8) {
		gen_imm(g, R2, mask_of(len - i));
		gen_alu(g, BPF_AND, R1, R2);
	}
	gen_imm(g, R2, gen_text_word(text, i) & mask_of(len - i));
	gen_alu(g, BPF_XOR, R1, R2);
	gen_alu(g, BPF_OR, R6, R1);
}

/* If r6 is 0, set r0 to the position; else keep r0. Clobbers r1 and r2. */
static void keep_position(struct gen *g, size_t position)
{
	gen_mov(g, R1, R6);
	gen_insn(g, BPF_ALU64 | BPF_NEG, R1, 0, 0, 0);
	gen_alu(g, BPF_OR, R1, R6);
	gen_alu_imm(g, BPF_ARSH, R1, 63); /* all ones if the text differs, else 0 */
	gen_alu(g, BPF_AND, R0, R1);
	gen_alu_imm(g, BPF_XOR, R1, -1);
	gen_imm(g, R2, position); /* in a register, because the verifier would warn that masks of 31 and 63 assume a warp size */
	gen_alu(g, BPF_AND, R1, R2);
	gen_alu(g, BPF_OR, R0, R1);
}

/* r0 = position of the text in the string at r10 + at, or -1 */
static void find(struct gen *g, int at, const char *text)
{
	size_t len = strlen(text);

	gen_imm(g, R0, UINT64_MAX);
	for (size_t position = GPUBPF_CTX_NAME - len; position-- > 0;) {
		gen_imm(g, R6, 0);
		for (size_t i = 0; i < len; i += 8)
			add_difference(g, at, position, text, i, len);
		keep_position(g, position);
	}
	if (!len)
		gen_imm(g, R0, 0);
}

/* r0 = number of bytes before the first zero: the number of bytes that are not zero */
static void length(struct gen *g, int at)
{
	gen_imm(g, R0, 0);
	gen_imm(g, R3, 0x7f7f7f7f7f7f7f7full);
	gen_imm(g, R4, 0x0101010101010101ull);
	for (int i = 0; i < GPUBPF_CTX_NAME; i += 8) {
		gen_load(g, R1, R10, at + i, 8);
		gen_mov(g, R2, R1);
		gen_alu(g, BPF_AND, R2, R3);
		gen_alu(g, BPF_ADD, R2, R3);
		gen_alu(g, BPF_OR, R2, R1); /* bit 7 of each byte that is not zero is set */
		gen_alu_imm(g, BPF_RSH, R2, 7);
		gen_alu(g, BPF_AND, R2, R4);
		gen_alu(g, BPF_MUL, R2, R4);
		gen_alu_imm(g, BPF_RSH, R2, 56);
		gen_alu(g, BPF_ADD, R0, R2);
	}
}

void gen_strings(struct gen *g, const struct lang_node *n)
{
	const struct lang_node *second = n->list->next;
	uint32_t size, other = 0;
	int at = gen_temporary(g, n->list, &size), b;

	if (n->function->id == LANG_F_STRNCMP) {
		b = gen_temporary(g, second, &other);
		compare(g, at, b, second->next->value);
		gen_pop(g, other);
	} else if (second) {
		find(g, at, second->text);
	} else {
		length(g, at);
	}
	if (n->function->id == LANG_F_STRCONTAINS) {
		gen_alu_imm(g, BPF_RSH, R0, 63);
		gen_alu_imm(g, BPF_XOR, R0, 1);
	}
	gen_pop(g, size);
}
