/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates loops. A loop with few, known iterations is compiled as jumps. The body of any other loop becomes a function
 * that helper 181 (bpf_loop) or 164 (bpf_for_each_map_elem) calls. So the verifier checks it once, and its number of
 * iterations is bounded.
 *
 * A function of a loop has its own stack frame. It finds the variables in the frame of the program, whose address the
 * helper passes. break, continue and return leave the function. A return that leaves more than one level stores its
 * target in the frame. The code after each call of a helper then jumps to the target.
 */
#include <linux/bpf.h>

#include "gen.h"

enum { FOR_EACH = 164, LOOP = 181 };
enum leave { GO_ON, LEAVE_PROBE, LEAVE_FUNCTION }; /* values of the slot at g->leave */

int gen_frame(struct gen *g)
{
	if (!g->level)
		return R10;
	gen_load(g, R5, R10, g->frame_slot, 8);
	return R5;
}

/* -- leaving a loop -- */

static void leave_with(struct gen *g, enum leave target)
{
	int frame = gen_frame(g);

	gen_imm(g, R1, target);
	gen_store(g, frame, g->leave, R1, 8);
	g->leaves = true;
	gen_goto(g, g->break_all);
}

void gen_return(struct gen *g, const struct lang_node *n)
{
	if (n->c && g->function) {
		if (n->a)
			gen_set(g, n->c->var, n->a);
		if (g->function->level == g->level)
			gen_goto(g, g->function->end);
		else
			leave_with(g, LEAVE_FUNCTION);
		return;
	}
	if (n->a && n->a->kind != LANG_N_NUMBER)
		gen_statement_value(g, n->a);
	gen_leave_probe(g);
}

void gen_leave_probe(struct gen *g)
{
	if (g->level)
		leave_with(g, LEAVE_PROBE);
	else
		gen_goto(g, g->end);
}

/* After a helper has run a loop: go on to the target of a return in the loop. */
static void follow_return(struct gen *g, const struct gen *inner)
{
	uint32_t go_on = gen_label(g), probe = gen_label(g);
	bool is_here = g->function && g->function->level == g->level;

	if (!inner->leaves)
		return;
	gen_load(g, R0, gen_frame(g), g->leave, 8);
	gen_jump_imm(g, BPF_JEQ, R0, GO_ON, go_on);
	if (is_here) {
		gen_jump_imm(g, BPF_JEQ, R0, LEAVE_PROBE, probe);
		gen_imm(g, R1, GO_ON);
		gen_store(g, gen_frame(g), g->leave, R1, 8);
		gen_goto(g, g->function->end);
		gen_place_label(g, probe);
	}
	g->leaves |= g->level != 0;
	gen_goto(g, g->level ? g->break_all : g->end);
	gen_place_label(g, go_on);
}

/* -- functions of loops -- */

static bool open_body(struct gen *g, struct gen *inner, const char *name)
{
	*inner = (struct gen){
		.l = g->l,
		.block = g->block,
		.probe = g->probe,
		.pos = g->pos,
		.outer = g,
		.level = g->level + 1,
		.leave = g->leave,
		.context_slot = g->context_slot,
		.duration = g->duration,
		.function = g->function,
		.first = g->first,
		.is_result_used = true,
	};
	return gen_open(inner, ".text", name);
}

/* Begin the function of a loop. Register `frame` holds the address of the program's frame. */
static bool begin_body(struct gen *g, struct gen *inner, int frame)
{
	if (!open_body(g, inner, lang_format(g->l, "loop_%u", ++g->l->nloops)))
		return false;
	inner->frame_slot = gen_push(inner, 8);
	gen_store(inner, R10, inner->frame_slot, frame, 8);
	gen_load(inner, R9, frame, inner->context_slot, 8);
	inner->break_to = inner->break_all = gen_label(inner);
	inner->continue_to = gen_label(inner);
	return true;
}

/* End the function: continue_to begins the next iteration, break_to ends the loop. */
static void end_body(struct gen *g, struct gen *inner)
{
	gen_imm(inner, R0, 0);
	gen_insn(inner, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	gen_place_label(inner, inner->break_to);
	gen_imm(inner, R0, 1);
	gen_insn(inner, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	gen_close(inner);
	inner->code->next = *g->first;
	*g->first = inner->code;
}

/* r2 = the function, r3 = the program's frame, r4 = 0: the arguments that both helpers have */
static void emit_arguments(struct gen *g, struct gen *inner)
{
	gen_mov(g, R3, gen_frame(g));
	gen_function_address(g, R2, inner->code);
	gen_imm(g, R4, 0);
}

/* -- loops as jumps -- */

static void direct(struct gen *g, const struct lang_node *n)
{
	uint32_t again = gen_label(g), end = gen_label(g), outer[] = { g->break_to, g->continue_to };

	g->break_to = end;
	g->continue_to = gen_label(g);
	gen_expr(g, n->a);
	gen_var(g, n->var, true);
	gen_place_label(g, again);
	gen_var(g, n->var, false);
	gen_imm(g, R1, n->c->value);
	gen_jump(g, BPF_JSGE, R0, R1, end);
	gen_statement(g, n->b);
	gen_place_label(g, g->continue_to);
	gen_var(g, n->var, false);
	gen_alu_imm(g, BPF_ADD, R0, 1);
	gen_var(g, n->var, true);
	gen_goto(g, again);
	gen_place_label(g, end);
	g->break_to = outer[0];
	g->continue_to = outer[1];
}

/* -- ranges -- */

/* r1 = number of iterations, at most n->steps. Jumps to `none` if there is none. */
static void emit_steps(struct gen *g, const struct lang_node *n, uint32_t none)
{
	uint32_t few = gen_label(g);

	gen_expr(g, n->a);
	gen_var(g, n->var, true);
	gen_expr(g, n->c);
	gen_var(g, n->var->next, true);
	gen_mov(g, R1, R0);
	gen_var(g, n->var, false);
	gen_jump(g, BPF_JSGE, R0, R1, none);
	gen_alu(g, BPF_SUB, R1, R0);
	gen_jump_imm(g, BPF_JLE, R1, (int32_t)n->steps, few);
	if (n->a->kind != LANG_N_NUMBER || n->c->kind != LANG_N_NUMBER)
		gen_count(g, LANG_INTERNAL_LIMITS);
	gen_imm(g, R1, n->steps);
	gen_place_label(g, few);
}

static void range(struct gen *g, const struct lang_node *n)
{
	uint32_t none = gen_label(g);
	struct gen inner;

	if (!begin_body(g, &inner, R2))
		return;
	gen_statement(&inner, n->b);
	gen_place_label(&inner, inner.continue_to);
	gen_var(&inner, n->var, false);
	gen_alu_imm(&inner, BPF_ADD, R0, 1);
	gen_hide(&inner);
	gen_var(&inner, n->var, true);
	end_body(g, &inner);
	emit_steps(g, n, none);
	emit_arguments(g, &inner);
	gen_call(g, LOOP);
	follow_return(g, &inner);
	gen_place_label(g, none);
}

void gen_while(struct gen *g, const struct lang_node *n)
{
	uint32_t complete = gen_label(g);
	struct gen inner;

	if (!begin_body(g, &inner, R2))
		return;
	gen_branch(&inner, n->a, false, inner.break_to);
	gen_statement(&inner, n->b);
	gen_place_label(&inner, inner.continue_to);
	end_body(g, &inner);
	gen_imm(g, R1, n->steps);
	emit_arguments(g, &inner);
	gen_call(g, LOOP);
	gen_jump_imm(g, BPF_JNE, R0, (int32_t)n->steps, complete);
	gen_count(g, LANG_INTERNAL_LIMITS);
	gen_place_label(g, complete);
	follow_return(g, &inner);
}

void gen_for(struct gen *g, const struct lang_node *n)
{
	if (lang_loop_is_direct(n))
		direct(g, n);
	else
		range(g, n);
}

/* -- loops over maps -- */

/* Store the key at address r2 and the value at address r3 in the loop's variable. */
static void store_pair(struct gen *g, const struct lang_node *n)
{
	const struct lang_shape *pair = n->var->type.shape;

	gen_mov(g, R6, R2);
	gen_mov(g, R7, R3);
	gen_copy(g, gen_frame(g), n->var->at, R6, 0, pair->at[1]);
	gen_mov(g, R0, R7);
	if (lang_is_in_memory(pair->type[1])) {
		gen_copy(g, gen_frame(g), n->var->at + (int)pair->at[1], R0, 0, lang_size(pair->type[1]));
		return;
	}
	gen_map_value(g, n->a->map);
	gen_store(g, gen_frame(g), n->var->at + (int)pair->at[1], R0, 8);
}

void gen_each(struct gen *g, const struct lang_node *n)
{
	struct gen inner;

	if (!begin_body(g, &inner, R4))
		return;
	store_pair(&inner, n);
	gen_statement(&inner, n->b);
	gen_place_label(&inner, inner.continue_to);
	end_body(g, &inner);
	emit_arguments(g, &inner);
	gen_map_address(g, R1, n->a->map->index);
	gen_call(g, FOR_EACH);
	follow_return(g, &inner);
}
