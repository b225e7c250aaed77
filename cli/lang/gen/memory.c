/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates the code of values that are bytes in memory, such as strings and tuples. Generates reads of the
 * application's memory: pointers, arrays, and members of structs.
 */
#include <linux/bpf.h>

#include "gen.h"

enum { CURRENT_COMM = 16, TASK_NAME = 16, PID_TGID = 14, GET_STACK = 67, PROBE_READ = 112, PROBE_READ_KERNEL = 113 };

#define FIELD(name) ((int)offsetof(struct gpubpf_ctx, name))

void gen_copy(struct gen *g, int to, int to_off, int from, int from_off, uint32_t size)
{
	for (int i = 0; i < (int)size; i += 8) {
		gen_load(g, R1, from, from_off + i, 8);
		gen_store(g, to, to_off + i, R1, 8);
	}
}

void gen_put(struct gen *g, const struct lang_node *n, int to)
{
	if (lang_is_in_memory(n->type)) {
		gen_memory(g, n, to);
		return;
	}
	gen_expr(g, n);
	gen_store(g, R10, to, R0, 8);
}

int gen_temporary(struct gen *g, const struct lang_node *n, uint32_t *size)
{
	int at;

	*size = n->type.base == LANG_TEXT || n->type.base == LANG_KERNEL ? GPUBPF_CTX_NAME : lang_size(n->type);
	at = gen_push(g, *size);
	gen_memory(g, n, at);
	return at;
}

static void ternary(struct gen *g, const struct lang_node *n, int to)
{
	uint32_t no = gen_label(g), end = gen_label(g);

	gen_branch(g, n->a, false, no);
	gen_memory(g, n->b, to);
	gen_goto(g, end);
	gen_place_label(g, no);
	gen_memory(g, n->c, to);
	gen_place_label(g, end);
}

static void copy_from_map(struct gen *g, const struct lang_node *n, int to)
{
	uint32_t none = gen_label(g), end = gen_label(g), size = lang_size(n->type);

	gen_lookup(g, n);
	gen_jump_imm(g, BPF_JEQ, R0, 0, none);
	gen_copy(g, R10, to, R0, 0, size);
	gen_goto(g, end);
	gen_place_label(g, none);
	gen_imm(g, R1, 0);
	for (uint32_t i = 0; i < size; i += 8)
		gen_store(g, R10, to + (int)i, R1, 8);
	gen_place_label(g, end);
}

/* Store the name of the current task, which helper 16 writes to 16 bytes. */
static void task_name(struct gen *g, int to)
{
	gen_literal(g, "", to);
	gen_mov(g, R1, R10);
	gen_alu_imm(g, BPF_ADD, R1, to);
	gen_imm(g, R2, TASK_NAME);
	gen_call(g, CURRENT_COMM);
}

bool gen_reads_kernel(const struct gen *g, const struct lang_node *address)
{
	if (address->type.in_kernel)
		return true;
	return lang_is_linux(g->block) &&
	       (g->probe->linux_kind == LANG_LINUX_KPROBE || g->probe->linux_kind == LANG_LINUX_KRETPROBE);
}

/* Store a stack: the process if the stack is that of a program, then the addresses, which zeros follow. */
static void frames(struct gen *g, const struct lang_node *n, int to)
{
	gen_imm(g, R0, 0);
	for (uint32_t i = 0; i < lang_size(n->type); i += 8)
		gen_store(g, R10, to + (int)i, R0, 8);
	if (n->builtin.at) {
		gen_call(g, PID_TGID);
		gen_alu_imm(g, BPF_RSH, R0, 32);
		gen_store(g, R10, to, R0, 8);
	}
	gen_mov(g, R1, R9);
	gen_mov(g, R2, R10);
	gen_alu_imm(g, BPF_ADD, R2, to + 8);
	gen_imm(g, R3, 8 * n->type.bytes);
	gen_imm(g, R4, n->builtin.at);
	gen_call(g, GET_STACK);
}

static void word(struct gen *g, const struct lang_node *n, int to)
{
	if (n->builtin.source == LANG_SOURCE_COMM)
		task_name(g, to);
	else if (n->builtin.source == LANG_SOURCE_PROBE || n->builtin.source == LANG_SOURCE_FUNCTION)
		gen_literal(g, lang_word_text(n, g->probe), to);
	else if (n->builtin.source == LANG_SOURCE_FRAMES)
		frames(g, n, to);
	else
		gen_copy(g, R10, to, R9, n->builtin.at == FIELD(kernel) ? FIELD(kernel_name) : (int)n->builtin.at,
			 GPUBPF_CTX_NAME);
}

static void tuple(struct gen *g, const struct lang_node *n, int to)
{
	for (const struct lang_node *e = n->list; e; e = e->next) {
		gen_put(g, e, to);
		to += (int)lang_size(e->type);
	}
}

/*
 * Find the element of a tuple: it is at the returned offset of the register *base. The element of a variable is where
 * the variable is. Other tuples are computed on the stack; *size is then the number of bytes to free with gen_pop().
 */
static int find_part(struct gen *g, const struct lang_node *n, int *base, uint32_t *size)
{
	const struct lang_shape *shape = n->a->type.shape;
	int at;

	*size = 0;
	if (n->a->kind == LANG_N_VAR) {
		*base = gen_frame(g);
		return n->a->var->at + (int)shape->at[n->value];
	}
	if (n->a->kind == LANG_N_PART)
		return find_part(g, n->a, base, size) + (int)shape->at[n->value];
	at = gen_temporary(g, n->a, size);
	*base = R10;
	return at + (int)shape->at[n->value];
}

static void copy_part(struct gen *g, const struct lang_node *n, int to)
{
	uint32_t size;
	int base, at = find_part(g, n, &base, &size);

	gen_copy(g, R10, to, base, at, lang_size(n->type));
	gen_pop(g, size);
}

void gen_part(struct gen *g, const struct lang_node *n)
{
	uint32_t size;
	int base, at = find_part(g, n, &base, &size);

	gen_load(g, R0, base, at, 8);
	gen_pop(g, size);
}

static void value_block(struct gen *g, const struct lang_node *n, int to)
{
	for (const struct lang_node *s = n->list; s; s = s->next)
		gen_statement(g, s);
	g->is_result_used = true;
	gen_memory(g, n->a, to);
}

static void function_call(struct gen *g, const struct lang_node *n, int to)
{
	gen_body(g, n);
	gen_copy(g, R10, to, gen_frame(g), n->var->at, lang_size(n->type));
}

static void variable(struct gen *g, const struct lang_node *n, int to)
{
	gen_copy(g, R10, to, gen_frame(g), n->var->at, lang_size(n->type));
}

static void string(struct gen *g, const struct lang_node *n, int to)
{
	gen_literal(g, n->text, to);
}

void gen_memory(struct gen *g, const struct lang_node *n, int to)
{
	static void (*const kinds[])(struct gen *g, const struct lang_node *n, int to) = {
		[LANG_N_STRING] = string,      [LANG_N_BUILTIN] = word,      [LANG_N_VAR] = variable,
		[LANG_N_MAP] = copy_from_map,  [LANG_N_TERNARY] = ternary,   [LANG_N_TUPLE] = tuple,
		[LANG_N_PART] = copy_part,     [LANG_N_VALUE] = value_block, [LANG_N_FN] = function_call,
		[LANG_N_CALL] = gen_text_call,
	};

	if (n->kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[n->kind])
		kinds[n->kind](g, n, to);
}

/* -- reads of the application's memory, or of the Linux kernel's -- */

/* r0 = the address of a READ or MEMBER. The value of a struct or array is its address. */
static void address_of(struct gen *g, const struct lang_node *n)
{
	if (n->kind == LANG_N_MEMBER) {
		gen_expr(g, n->a);
		if (n->value)
			gen_alu_imm(g, BPF_ADD, R0, (int32_t)n->value);
	} else if (n->b) {
		gen_operands(g, n->a, n->b);
		gen_alu_imm(g, BPF_MUL, R1, (int32_t)(n->value / 8));
		gen_alu(g, BPF_ADD, R0, R1);
	} else {
		gen_expr(g, n->a);
	}
}

void gen_place(struct gen *g, const struct lang_node *n)
{
	address_of(g, n->a);
}

/* r0 = the bytes at address r0, or 0. `address` is the expression that yielded the address. */
static void read_at(struct gen *g, const struct lang_node *address, uint32_t bytes)
{
	int at = gen_push(g, 8);

	gen_mov(g, R3, R0);
	gen_imm(g, R1, 0);
	gen_store(g, R10, at, R1, 8);
	gen_mov(g, R1, R10);
	gen_alu_imm(g, BPF_ADD, R1, at);
	gen_imm(g, R2, bytes);
	gen_call(g, gen_reads_kernel(g, address) ? PROBE_READ_KERNEL : PROBE_READ);
	gen_load(g, R0, R10, at, bytes & (bytes - 1) ? 8 : bytes);
	gen_pop(g, 8);
}

void gen_read_bytes(struct gen *g, const struct lang_node *address, uint32_t bytes)
{
	gen_expr(g, address);
	read_at(g, address, bytes);
}

void gen_read(struct gen *g, const struct lang_node *n)
{
	const struct lang_member *m = n->member;
	uint32_t bytes = m ? m->type->bytes : (uint32_t)n->value / 8;

	address_of(g, n);
	if (n->type.base == LANG_RECORD || n->type.base == LANG_ARRAY)
		return;
	read_at(g, n->a, bytes);
	if (m && m->bits && m->bit)
		gen_alu_imm(g, BPF_RSH, R0, (int32_t)m->bit);
	if (m && m->bits)
		gen_narrow(g, m->bits, n->type.is_signed);
	else if (n->type.is_signed)
		gen_narrow(g, 8 * bytes, true);
}
