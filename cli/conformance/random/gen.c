/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "gpubpf/ctx.h"
#include "state.h"

static void statements(struct gen *g, int max_statements);

static void branch(struct gen *g)
{
	static const uint8_t ops[] = { 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0 };
	uint8_t code = ops[random_pick(g, sizeof(ops))] | (random_pick(g, 2) ? 5 : 6);
	uint32_t jump = g->n, over;

	if (random_pick(g, 2))
		random_emit(g, code | 8, random_number_reg(g), random_number_reg(g), 0, 0);
	else
		random_emit(g, code, random_number_reg(g), 0, 0, random_interesting(g));
	statements(g, 3);
	if (random_pick(g, 2)) {
		over = g->n;
		random_emit(g, 0x05, 0, 0, 0, 0);
		random_end_skip(g, jump);
		statements(g, 3);
		random_end_skip(g, over);
	} else {
		random_end_skip(g, jump);
	}
}

static void loop(struct gen *g)
{
	int counter = COUNTER(g->depth);
	uint32_t top;

	if (g->depth == 2 || g->in_callee)
		return;
	g->depth++;
	/* in most loops the number of iterations is unknown, so that compilers cannot unroll them */
	if (random_pick(g, 4)) {
		random_emit(g, 0xbf, 5, random_number_reg(g), 0, 0);
		random_emit(g, 0x57, 5, 0, 0, 1);
		random_emit(g, OP_STX | 0x18, 10, 5, counter, 0);
	} else {
		random_emit(g, OP_ST | 0x18, 10, 0, counter, 0);
	}
	top = g->n;
	statements(g, 3);
	random_emit(g, OP_LDX | 0x18, 5, 10, counter, 0);
	random_emit(g, 0x07, 5, 0, 0, 1);
	random_emit(g, OP_STX | 0x18, 10, 5, counter, 0);
	random_emit(g, 0xa5, 5, 0, (int)top - (int)g->n - 1, 2 + random_pick(g, 4));
	g->depth--;
}

static void pass_iterator(struct gen *g, int at)
{
	random_emit(g, 0xbf, 1, 10, 0, 0);
	random_emit(g, 0x07, 1, 0, 0, at);
}

/* A loop over the numbers of an iterator. A tail call would leave it open, so parts with tail calls have none. */
static void iterate(struct gen *g)
{
	int at = ITERATOR(g->depth);
	uint32_t top, jump;

	if (g->depth == 2 || g->in_callee || g->has_tail_calls)
		return;
	g->depth++;
	random_emit(g, 0xbf, 2, random_number_reg(g), 0, 0);
	random_emit(g, 0x57, 2, 0, 0, 3);
	random_emit(g, 0xbf, 3, random_number_reg(g), 0, 0);
	random_emit(g, 0x57, 3, 0, 0, 7);
	pass_iterator(g, at);
	random_call(g, 540);
	random_set_registers(g);
	top = g->n;
	pass_iterator(g, at);
	random_call(g, 541);
	random_set_registers(g);
	jump = g->n;
	random_emit(g, 0x15, 0, 0, 0, 0);
	random_emit(g, OP_LDX, 0, 0, 0, 0);
	statements(g, 3);
	random_emit(g, 0x05, 0, 0, (int)top - (int)g->n - 1, 0);
	random_end_skip(g, jump);
	pass_iterator(g, at);
	random_call(g, 542);
	random_set_all_registers(g);
	g->depth--;
}

/* Call the sub-program with two numbers (r1, r2) and a pointer into this function's stack (r3). */
static void call_local(struct gen *g)
{
	if (g->ncalls == CALLS)
		return;
	random_use(g, g->caller_numbers[0], 8);
	random_use(g, g->caller_numbers[1], 8);
	random_stack_address(g, 3, 0);
	g->calls[g->ncalls++] = g->n;
	random_emit(g, OP_CALL, 0, 1, 0, 0);
	random_set_registers(g);
}

static void loop_or_context(struct gen *g)
{
	random_pick(g, 2) ? random_context(g) : loop(g);
}

typedef void statement_fn(struct gen *g);

/*
 * Statements without helper calls. Programs of the kinds GEN_PLAIN and GEN_DIRECT use only these. Sub-programs use only the first
 * PLAIN_IN_CALLEE.
 */
static statement_fn *const plain_statements[] = {
	random_alu, random_alu,         random_alu,      random_on_stack, random_on_stack,
	branch,     random_global_data, loop_or_context, call_local,
};

/*
 * Statements with helper calls. Sub-programs use only the first CALLS_IN_CALLEE, programs for the Linux kernel only the
 * first CALLS_OF_KERNEL.
 */
static statement_fn *const call_statements[] = {
	random_lookup,  random_lookup,  random_lookup, random_count,     random_update, random_update,
	random_queue,   random_queue,   random_nested, random_tail_call, random_nested, random_output,
	random_record,  random_helper,  random_text,   random_repeat,    random_each,   random_query,
	random_unknown, random_convert, random_format, random_rare,      iterate,
};
enum {
	NPLAIN = sizeof(plain_statements) / sizeof(plain_statements[0]),
	PLAIN_IN_CALLEE = 6,
	CALLS_MADE = sizeof(call_statements) / sizeof(call_statements[0]),
	CALLS_IN_CALLEE = 7,
	CALLS_OF_KERNEL = 10,
};

static uint32_t calls_of(const struct gen *g)
{
	return g->kind == GEN_PLAIN || g->kind == GEN_DIRECT ? 0 :
	       g->in_callee                                  ? CALLS_IN_CALLEE :
	       g->kind == GEN_KERNEL                         ? CALLS_OF_KERNEL :
							       CALLS_MADE;
}

static void statement(struct gen *g)
{
	uint32_t n = g->in_callee ? PLAIN_IN_CALLEE : NPLAIN, which = random_pick(g, n + calls_of(g));

	(which < n ? plain_statements[which] : call_statements[which - n])(g);
}

static void statements(struct gen *g, int max_statements)
{
	for (int i = 1 + (int)random_pick(g, max_statements); i > 0 && g->budget > 0; i--) {
		g->budget--;
		statement(g);
	}
	random_emit(g, 0x07, random_number_reg(g), 0, 0, 1); /* add 1 to a register that holds a number */
}

/*
 * Set r8 and r9 to values that compilers cannot know. The value of r8 is the number of the launch or of the thread. The
 * value of r9 is sometimes a word of global data.
 */
static void emit_unknown_numbers(struct gen *g)
{
	if (g->in_callee) {
		random_emit(g, 0xbf, 8, 1, 0, 0);
		return;
	}
	if (g->kind == GEN_DIRECT) {
		random_emit(g, 0x79, 8, 6, offsetof(struct gpubpf_ctx, global_linear), 0);
		return;
	}
	random_emit(g, 0x79, 8, 6, offsetof(struct gpubpf_ctx, launch), 0);
	if (random_pick(g, 2)) {
		random_imm64(g, 5, MAP_VALUE, GEN_DATA, 0);
		random_emit(g, OP_LDX | 0x18, 9, 5, 8 * (int)random_pick(g, GEN_VALUE / 8), 0);
	}
}

static void emit_numbers(struct gen *g)
{
	random_emit(g, 0xb7, 0, 0, 0, random_interesting(g));
	for (int r = 1; !g->in_callee && r <= 4; r++)
		random_emit(g, 0xb7, r, 0, 0, random_interesting(g));
	random_imm64(g, 7, 0, random_interesting(g), random_interesting(g));
	random_imm64(g, 9, 0, random_interesting(g), random_interesting(g));
	emit_unknown_numbers(g);
	for (int i = 0; i < NUMBERS / 8; i++)
		if (g->used >> i & 1)
			random_emit(g, OP_STX | 0x18, 10, 7 + (int)random_pick(g, 3), 8 * i - NUMBERS, 0);
	if (g->has_keys)
		random_emit(g, OP_ST | 0x18, 10, 0, KEY, 0);
}

/* Set r0 to a hash of all numbers that the function uses. */
static void emit_result(struct gen *g)
{
	for (int i = 7; i <= 9; i++) {
		random_emit(g, 0x27, 0, 0, 0, 31);
		random_emit(g, 0xaf, 0, i, 0, 0);
	}
	for (int i = 0; i < NUMBERS / 8; i++)
		if (g->used >> i & 1) {
			random_emit(g, OP_LDX | 0x18, 5, 10, 8 * i - NUMBERS, 0);
			random_emit(g, 0x27, 0, 0, 0, 31);
			random_emit(g, 0x0f, 0, 5, 0, 0);
		}
	if (g->in_callback) {
		random_emit(g, OP_LDX | 0x18, 5, 10, KEPT, 0);
		random_emit(g, OP_STX | 0x18, 5, 0, g->caller_numbers[0], 0);
		random_emit(g, 0x57, 0, 0, 0, 1); /* the callback returns only bit 0: 1 ends the loop */
	}
	random_emit(g, 0x95, 0, 0, 0, 0);
}

/*
 * Move the instructions that begin at index `from` forward, so that they begin at index `at`. Jumps inside the moved
 * part stay valid, and so do jumps inside the part that they pass.
 */
static void move_before(struct gen *g, uint32_t at, uint32_t from)
{
	struct gpubpf_raw_insn front[GEN_INSNS];
	uint32_t n = g->n - from;

	memcpy(front, g->out + from, n * sizeof(front[0]));
	memmove(g->out + at + n, g->out + at, (from - at) * sizeof(front[0]));
	memcpy(g->out + at, front, n * sizeof(front[0]));
	for (uint32_t i = 0; at == g->first && i < g->ncalls; i++)
		g->calls[i] += n;
	for (uint32_t i = 0; at == g->first && i < g->nrepeats; i++)
		g->repeats[i] += n;
	for (uint32_t i = 0; at == g->first && i < g->neaches; i++)
		g->eaches[i] += n;
}

/*
 * Save the arguments of a for_each_map_elem callback: the key, the value's first 8 bytes, and the address of the
 * caller's numbers.
 */
static void each_arguments(struct gen *g)
{
	random_emit(g, OP_STX | 0x18, 10, 4, KEPT, 0);
	random_emit(g, OP_LDX, 1, 2, 0, 0);
	random_emit(g, OP_LDX | 0x18, 5, 3, 0, 0);
	if (random_pick(g, 2))
		random_emit(g, OP_STX | 0x18, 3, 1, 0, 0);
	random_emit(g, OP_LDX | 0x18, 3, 4, g->caller_numbers[1], 0);
	random_emit(g, 0xbf, 4, 5, 0, 0);
	random_emit(g, 0xb7, 2, 0, 0, random_interesting(g));
}

/* Save the arguments of a bpf_loop callback: the iteration's number and the address of the caller's numbers. */
static void callback_arguments(struct gen *g)
{
	random_emit(g, OP_STX | 0x18, 10, 2, KEPT, 0);
	random_emit(g, OP_LDX | 0x18, 3, 2, g->caller_numbers[1], 0);
	random_emit(g, 0xbf, 4, 1, 0, 0);
	random_emit(g, 0xb7, 2, 0, 0, random_interesting(g));
}

static void callee_arguments(struct gen *g)
{
	random_emit(g, 0xbf, 5, 3, 0, 0);
	if (random_pick(g, 2))
		random_emit(g, OP_STX | 0x18, 5, 1, g->caller_numbers[0], 0);
	random_emit(g, OP_LDX | 0x18, 3, 5, g->caller_numbers[1], 0);
	random_emit(g, 0xbf, 4, 2, 0, 0);
}

/*
 * Generate a function of about `budget` statements. The code that initialises its numbers depends on which numbers the
 * statements use, so it is generated last and then moved to the front.
 */
static void emit_function(struct gen *g, int budget, int max_statements)
{
	uint32_t at = g->n, from;

	g->used = 0;
	g->has_keys = false;
	for (g->budget = budget; g->budget > 0;)
		statements(g, max_statements);
	from = g->n;
	if (g->in_each)
		each_arguments(g);
	else if (g->in_callback)
		callback_arguments(g);
	else if (g->in_callee)
		callee_arguments(g);
	else
		random_emit(g, 0xbf, 6, 1, 0, 0);
	emit_numbers(g);
	move_before(g, at, from);
	emit_result(g);
}

/* Generate a function, and make the n call instructions (or LDDWs of a callback) at the indices from[] refer to it. */
static void emit_callee(struct gen *g, const uint32_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (from[i] < GEN_INSNS)
			g->out[from[i]].imm = (int32_t)(g->n - from[i] - 1);
	g->in_callee = true;
	emit_function(g, 1 + (int)random_pick(g, 8), 6);
}

static void emit_part(struct gen *g)
{
	/*
	 * Number that selects the length. Most parts are short, so that compilers need less time and more programs run.
	 * Programs for the Linux kernel are always long.
	 */
	uint32_t length = g->kind == GEN_KERNEL ? 31 : random_pick(g, 32);

	g->first = g->n;
	g->ncalls = g->nrepeats = g->neaches = 0;
	g->in_callee = g->in_callback = g->in_each = false;
	emit_function(g,
		      length < 24 ? 1 + (int)random_pick(g, 2) :
		      length < 31 ? 1 + (int)random_pick(g, 8) :
				    6 + (int)random_pick(g, 20),
		      6);
	if (g->ncalls)
		emit_callee(g, g->calls, g->ncalls);
	g->in_callback = true;
	if (g->nrepeats)
		emit_callee(g, g->repeats, g->nrepeats);
	g->in_each = true;
	if (g->neaches)
		emit_callee(g, g->eaches, g->neaches);
}

uint32_t gen_program(struct gen_rng *rng, enum gen_kind kind, struct gpubpf_raw_insn out[GEN_INSNS],
		     uint32_t begin[GEN_PARTS])
{
	struct gen g = { .rng = rng, .kind = kind, .out = out, .prefixes = PREFIXES, .records = RECORDS };
	uint32_t parts = 1;

	for (uint32_t i = 0; i < 2; i++)
		g.caller_numbers[i] = 8 * (int)random_pick(&g, NUMBERS / 8);
	if (kind != GEN_PLAIN && kind != GEN_DIRECT && !random_pick(&g, 3)) {
		parts += random_pick(&g, GEN_PARTS);
		g.has_tail_calls = true;
		g.records = 0;
	}
	for (uint32_t i = 0; i < GEN_PARTS; i++) {
		begin[i] = i < parts ? g.n : 0;
		if (i < parts)
			emit_part(&g);
	}
	return g.n;
}
