/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the code that sends actions to the host as records of a ring buffer, and the code for `duration`. */
#include <linux/bpf.h>

#include "gen.h"
#include "gpubpf/ctx.h"

#define FIELD(name) ((int)offsetof(struct gpubpf_ctx, name))

enum {
	LOOKUP = 1,
	CLOCK = 5,
	PROBE_READ = 112,
	PROBE_READ_KERNEL = 113,
	PROBE_READ_STR = 114,
	PROBE_READ_KERNEL_STR = 115,
	RESERVE = 131,
	SUBMIT = 132
};

struct lang_node *lang_record_args(const struct lang_node *call)
{
	struct lang_node *first = call->list;

	if (call->function->id == LANG_F_PRINTF || call->function->id == LANG_F_WARNF ||
	    call->function->id == LANG_F_ERRORF || call->function->id == LANG_F_CAT)
		return first->next;
	if (call->function->id == LANG_F_PRINT && !(first->kind == LANG_N_MAP && !first->list))
		return first;
	return NULL;
}

uint32_t lang_record_size(const struct lang_node *call)
{
	uint32_t size = 8;

	for (const struct lang_node *a = lang_record_args(call); a; a = a->next)
		size += lang_size(a->type);
	if (call->function->id == LANG_F_JOIN)
		size += 8 + LANG_JOINED * GPUBPF_CTX_NAME;
	return size;
}

static bool is_context_name(const struct lang_node *a)
{
	return a->type.base == LANG_NAME && a->kind == LANG_N_BUILTIN && a->builtin.source == LANG_SOURCE_CTX;
}

/*
 * Return the number of stack bytes for a computed argument. A name needs none, because it is copied from the context.
 */
static uint32_t computed_size(const struct lang_node *a)
{
	return is_context_name(a) ? 0 : lang_size(a->type);
}

/*
 * Compute the arguments and push them on the stack, before the record is reserved: between reservation and submission
 * the program must not end. Returns the number of stack bytes that the arguments occupy.
 */
static uint32_t compute_args(struct gen *g, const struct lang_node *args)
{
	uint32_t size = 0;

	for (const struct lang_node *a = args; a; a = a->next) {
		int at;

		if (!computed_size(a))
			continue;
		size += computed_size(a);
		at = gen_push(g, computed_size(a));
		gen_put(g, a, at);
	}
	return size;
}

/*
 * Store the arguments in the record whose address is in r0. `at` is the stack offset above the first computed argument.
 */
static void fill_record(struct gen *g, const struct lang_node *args, int at)
{
	int to = 8;

	for (const struct lang_node *a = args; a; a = a->next) {
		at -= (int)computed_size(a);
		if (is_context_name(a))
			gen_copy(g, R0, to, R9, (int)a->builtin.at, GPUBPF_CTX_NAME);
		else
			gen_copy(g, R0, to, R10, at, lang_size(a->type));
		to += lang_size(a->type);
	}
}

/*
 * Read the strings of join() into the record at r7: their number, and 64 bytes for each. The stack is too small for them.
 * The address of the array is at r10 + from. An address 0 ends the array.
 */
static void read_strings(struct gen *g, const struct lang_node *array, int from)
{
	bool in_kernel = gen_reads_kernel(g, array);
	uint32_t end = gen_label(g);
	int string = gen_push(g, 8);

	for (int i = 0; i < LANG_JOINED; i++) {
		gen_imm(g, R1, (uint64_t)i);
		gen_store(g, R7, 8, R1, 8);
		gen_imm(g, R1, 0);
		gen_store(g, R10, string, R1, 8);
		gen_mov(g, R1, R10);
		gen_alu_imm(g, BPF_ADD, R1, string);
		gen_imm(g, R2, 8);
		gen_load(g, R3, R10, from, 8);
		gen_alu_imm(g, BPF_ADD, R3, 8 * i);
		gen_call(g, in_kernel ? PROBE_READ_KERNEL : PROBE_READ);
		gen_load(g, R3, R10, string, 8);
		gen_jump_imm(g, BPF_JEQ, R3, 0, end);
		gen_mov(g, R1, R7);
		gen_alu_imm(g, BPF_ADD, R1, 16 + GPUBPF_CTX_NAME * i);
		gen_imm(g, R2, GPUBPF_CTX_NAME);
		gen_call(g, in_kernel ? PROBE_READ_KERNEL_STR : PROBE_READ_STR);
	}
	gen_imm(g, R1, LANG_JOINED);
	gen_store(g, R7, 8, R1, 8);
	gen_place_label(g, end);
	gen_pop(g, 8);
}

/* r0 = a new record of the action, which begins with the numbers of the action and of the probe. If there is none, jump. */
static void reserve(struct gen *g, const struct lang_node *call, uint32_t none)
{
	gen_map_address(g, R1, gen_internal_map(g, LANG_INTERNAL_RECORDS));
	gen_imm(g, R2, lang_record_size(call));
	gen_imm(g, R3, 0);
	gen_call(g, RESERVE);
	gen_jump_imm(g, BPF_JEQ, R0, 0, none);
	gen_imm(g, R1, (uint32_t)call->action | (uint64_t)g->probe->number << 32);
	gen_store(g, R0, 0, R1, 8);
}

static void join(struct gen *g, const struct lang_node *call)
{
	uint32_t none = gen_label(g);
	int from = gen_push(g, 8);

	gen_expr(g, call->list);
	gen_store(g, R10, from, R0, 8);
	reserve(g, call, none);
	gen_mov(g, R7, R0);
	read_strings(g, call->list, from);
	gen_mov(g, R1, R7);
	gen_imm(g, R2, 0);
	gen_call(g, SUBMIT);
	gen_place_label(g, none);
	gen_pop(g, 8);
}

void gen_action(struct gen *g, const struct lang_node *call)
{
	const struct lang_node *args = lang_record_args(call);
	uint32_t none = gen_label(g), size;
	int first = -(int)g->frame;

	g->is_result_used = true;
	if (call->function->id == LANG_F_JOIN) {
		join(g, call);
		return;
	}
	size = compute_args(g, args);
	reserve(g, call, none);
	fill_record(g, args, first);
	gen_mov(g, R1, R0);
	gen_imm(g, R2, 0);
	gen_call(g, SUBMIT);
	gen_place_label(g, none);
	gen_pop(g, size);
}

/* -- duration -- */

/* r6 = the thread's number in its launch; r7 = launch and kernel. r6 and r7 together identify the thread. */
static void emit_thread_id(struct gen *g)
{
	gen_load(g, R6, R9, FIELD(global_linear), 8);
	gen_load(g, R7, R9, FIELD(launch), 8);
	gen_alu_imm(g, BPF_LSH, R7, 16);
	gen_load(g, R0, R9, FIELD(kernel), 8);
	gen_alu(g, BPF_OR, R7, R0);
}

/*
 * r0 = a number that seldom collides for threads that run at the same time. Such threads are in consecutive blocks, so
 * the number counts threads block by block. One-dimensional launches use the thread's number in the launch, which
 * collides least if the last blocks are smaller.
 */
static void emit_position(struct gen *g)
{
	const struct lang_builtin block = { .at = FIELD(block_idx), .size = LANG_WHOLE_BLOCK };
	const struct lang_builtin thread = { .at = FIELD(thread_idx), .size = LANG_WHOLE_THREAD };
	uint32_t several = gen_label(g), end = gen_label(g);
	int saved = gen_push(g, 8);

	gen_load(g, R0, R9, FIELD(work_dim), 4);
	gen_jump_imm(g, BPF_JNE, R0, 1, several);
	gen_mov(g, R0, R6);
	gen_goto(g, end);
	gen_place_label(g, several);
	gen_triple_value(g, &block);
	gen_store(g, R10, saved, R0, 8);
	gen_product(g, FIELD(block_dim));
	gen_load(g, R1, R10, saved, 8);
	gen_alu(g, BPF_MUL, R0, R1);
	gen_store(g, R10, saved, R0, 8);
	gen_triple_value(g, &thread);
	gen_load(g, R1, R10, saved, 8);
	gen_alu(g, BPF_ADD, R0, R1);
	gen_place_label(g, end);
	gen_pop(g, 8);
}

/* r8 = address of the thread's slot in the array of entry times. Each launch starts at a different slot. */
static void emit_entry_slot(struct gen *g, uint32_t none)
{
	int key = gen_push(g, 8);

	emit_thread_id(g);
	emit_position(g);
	gen_mov(g, R1, R7);
	gen_alu_imm(g, BPF_MUL, R1, 0x9e3779b1 & INT32_MAX);
	gen_alu_imm(g, BPF_RSH, R1, 8);
	gen_alu(g, BPF_ADD, R0, R1);
	gen_alu_imm(g, BPF_AND, R0, (int32_t)(g->l->threads - 1));
	gen_store(g, R10, key, R0, 4);
	gen_map_address(g, R1, gen_internal_map(g, LANG_INTERNAL_ENTERED));
	gen_mov(g, R2, R10);
	gen_alu_imm(g, BPF_ADD, R2, key);
	gen_call(g, LOOKUP);
	gen_jump_imm(g, BPF_JEQ, R0, 0, none);
	gen_mov(g, R8, R0);
	gen_pop(g, 8);
}

void gen_entered(struct gen *g)
{
	emit_entry_slot(g, g->end);
	gen_call(g, CLOCK);
	gen_store(g, R8, 0, R6, 8);
	gen_store(g, R8, 8, R7, 8);
	gen_store(g, R8, 16, R0, 8);
}

void gen_duration(struct gen *g)
{
	uint32_t other = gen_label(g), found = gen_label(g);
	int now = gen_push(g, 8);

	gen_call(g, CLOCK);
	gen_store(g, R10, now, R0, 8);
	emit_entry_slot(g, other);
	gen_load(g, R0, R8, 0, 8);
	gen_jump(g, BPF_JNE, R0, R6, other);
	gen_load(g, R0, R8, 8, 8);
	gen_jump(g, BPF_JNE, R0, R7, other);
	gen_load(g, R1, R8, 16, 8);
	gen_jump_imm(g, BPF_JNE, R1, 0, found);
	gen_place_label(g, other);
	gen_count(g, LANG_INTERNAL_LOST);
	gen_goto(g, g->end);
	gen_place_label(g, found);
	gen_imm(g, R0, 0);
	gen_store(g, R8, 16, R0, 8);
	gen_load(g, R0, R10, now, 8);
	gen_alu(g, BPF_SUB, R0, R1);
	gen_pop(g, 8);
}
