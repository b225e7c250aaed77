/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the code of expressions. Each function leaves the result in r0 and clobbers r1 to r5. */
#include <linux/bpf.h>

#include "gen.h"
#include "gpubpf/ctx.h"

#define NAMED_ARG 530 /* number of a helper in include/gpubpf/helpers.def */
#define CLOCK 5
#define FIELD(name) ((int)offsetof(struct gpubpf_ctx, name))

void gen_number(struct gen *g, int dst, const struct lang_node *n)
{
	gen_imm(g, dst, n->value);
}

void gen_narrow(struct gen *g, uint32_t bits, bool is_signed)
{
	if (!bits || bits >= 64)
		return;
	gen_alu_imm(g, BPF_LSH, R0, 64 - bits);
	gen_alu_imm(g, is_signed ? BPF_ARSH : BPF_RSH, R0, 64 - bits);
}

/* Return the offset of a word of the context that every program of this kind may read. */
static int hidden_word(const struct gen *g)
{
	if (!lang_is_linux(g->block))
		return FIELD(global_linear);
	return g->probe->linux_kind == LANG_LINUX_TRACEPOINT ? 8 : 0;
}

/*
 * In the function of a loop, hide the value in r0 from the verifier: r0 ^ x ^ x is r0, but unknown to it. Otherwise it
 * would walk each iteration of a loop that counts a variable. The targets' compilers remove both operations. Clobbers r2.
 */
void gen_hide(struct gen *g)
{
	if (!g->level)
		return;
	/* any word of the context is unknown to the verifier */
	gen_load(g, R2, R9, hidden_word(g), 8);
	gen_alu(g, BPF_XOR, R0, R2);
	gen_alu(g, BPF_XOR, R0, R2);
}

void gen_var(struct gen *g, const struct lang_var *var, bool store)
{
	if (store) {
		gen_narrow(g, var->bits, var->type.is_signed);
		gen_store(g, gen_frame(g), var->at, R0, 8);
	} else {
		gen_load(g, R0, gen_frame(g), var->at, 8);
	}
}

/* -- words -- */

void gen_product(struct gen *g, uint32_t at)
{
	gen_load(g, R0, R9, at, 8);
	for (int i = 1; i < 3; i++) {
		gen_load(g, R1, R9, at + 8 * i, 8);
		gen_alu(g, BPF_MUL, R0, R1);
	}
}

/*
 * r0 = (z * height + y) * width + x. The coordinates are at offset `at` of the context, and the sizes at offset `dims`.
 */
static void linear(struct gen *g, uint32_t at, uint32_t dims)
{
	gen_load(g, R0, R9, at + 16, 8);
	for (int i = 1; i >= 0; i--) {
		gen_load(g, R1, R9, dims + 8 * i, 8);
		gen_alu(g, BPF_MUL, R0, R1);
		gen_load(g, R1, R9, at + 8 * i, 8);
		gen_alu(g, BPF_ADD, R0, R1);
	}
}

void gen_triple_value(struct gen *g, const struct lang_builtin *b)
{
	switch ((enum lang_whole)b->size) {
	case LANG_WHOLE_THREAD:
		linear(g, b->at, FIELD(block_dim));
		break;
	case LANG_WHOLE_BLOCK:
		linear(g, b->at, FIELD(grid_dim));
		break;
	case LANG_WHOLE_GLOBAL:
		gen_load(g, R0, R9, FIELD(global_linear), 8);
		break;
	case LANG_WHOLE_PRODUCT:
		gen_product(g, b->at);
		break;
	}
}

static void helper(struct gen *g, const struct lang_builtin *b)
{
	gen_call(g, b->at);
	if (b->size == 4)
		gen_alu_imm(g, BPF_RSH, R0, 32);
	else if (b->size == 1)
		gen_narrow(g, 32, false);
}

static void emit_builtin(struct gen *g, const struct lang_node *n)
{
	const struct lang_builtin *b = &n->builtin;

	switch (b->source) {
	case LANG_SOURCE_CTX:
		gen_load(g, R0, R9, b->at, b->size);
		break;
	case LANG_SOURCE_TRIPLE:
		if (n->value)
			gen_load(g, R0, R9, b->at + 8 * (n->value - 1), 8);
		else
			gen_triple_value(g, b);
		break;
	case LANG_SOURCE_HELPER:
		helper(g, b);
		break;
	case LANG_SOURCE_STACK:
		gen_mov(g, R1, R9);
		gen_map_address(g, R2, gen_internal_map(g, LANG_INTERNAL_STACKS));
		gen_imm(g, R3, BPF_F_USER_STACK);
		gen_call(g, b->at);
		break;
	case LANG_SOURCE_NAMED:
		gen_mov(g, R1, R9);
		gen_name_address(g, R2, b->at);
		gen_call(g, NAMED_ARG);
		break;
	case LANG_SOURCE_DURATION:
		gen_load(g, R0, gen_frame(g), g->duration, 8);
		break;
	case LANG_SOURCE_PLACE:
		gen_mov(g, R0, R9);
		gen_alu_imm(g, BPF_ADD, R0, (int32_t)b->at);
		if (!b->size)
			break;
		gen_load(g, R1, R9, b->at, b->size);
		gen_alu_imm(g, BPF_AND, R1, UINT16_MAX); /* the low half is the offset in the record, the high one the size */
		gen_mov(g, R0, R9);
		gen_alu(g, BPF_ADD, R0, R1);
		break;
	case LANG_SOURCE_ELAPSED:
		gen_call(g, CLOCK);
		gen_imm(g, R1, g->l->start_ns);
		gen_alu(g, BPF_SUB, R0, R1);
		break;
	case LANG_SOURCE_COMM:
	case LANG_SOURCE_PROBE:
	case LANG_SOURCE_FUNCTION:
	case LANG_SOURCE_FRAMES:
	case LANG_SOURCE_HOST:
		gen_imm(g, R0, 0); /* the host formats or evaluates this word; the record needs only a placeholder */
		break;
	}
}

/* -- operators -- */

void gen_operate(struct gen *g, enum lang_token op, bool is_signed)
{
	static const struct {
		uint32_t op;
		bool divides;
	} rows[LANG_TOKENS] = {
		[LANG_T_ADD] = { BPF_ADD },       [LANG_T_SUB] = { BPF_SUB },       [LANG_T_MUL] = { BPF_MUL },
		[LANG_T_DIV] = { BPF_DIV, true }, [LANG_T_MOD] = { BPF_MOD, true }, [LANG_T_AND] = { BPF_AND },
		[LANG_T_OR] = { BPF_OR },         [LANG_T_XOR] = { BPF_XOR },       [LANG_T_LSH] = { BPF_LSH },
		[LANG_T_RSH] = { BPF_RSH },
	};
	uint32_t code = op == LANG_T_RSH && is_signed ? BPF_ARSH : rows[op].op;

	gen_insn(g, BPF_ALU64 | code | BPF_X, R0, R1, rows[op].divides && is_signed, 0);
}

void gen_operands(struct gen *g, const struct lang_node *a, const struct lang_node *b)
{
	int saved;

	gen_expr(g, a);
	if (b->kind == LANG_N_NUMBER) {
		gen_number(g, R1, b);
		return;
	}
	saved = gen_push(g, 8);
	gen_store(g, R10, saved, R0, 8);
	gen_expr(g, b);
	gen_mov(g, R1, R0);
	gen_load(g, R0, R10, saved, 8);
	gen_pop(g, 8);
}

static bool is_test(const struct lang_node *n)
{
	switch (n->op) {
	case LANG_T_EQ:
	case LANG_T_NE:
	case LANG_T_LT:
	case LANG_T_LE:
	case LANG_T_GT:
	case LANG_T_GE:
	case LANG_T_LAND:
	case LANG_T_LOR:
	case LANG_T_NOT:
		return true;
	default:
		return false;
	}
}

/* Set r0 to 1 if the condition is true, else to 0. */
static void emit_truth(struct gen *g, const struct lang_node *n)
{
	uint32_t no = gen_label(g), end = gen_label(g);

	gen_branch(g, n, false, no);
	gen_imm(g, R0, 1);
	gen_goto(g, end);
	gen_place_label(g, no);
	gen_imm(g, R0, 0);
	gen_place_label(g, end);
}

static void binary(struct gen *g, const struct lang_node *n)
{
	if (is_test(n)) {
		emit_truth(g, n);
		return;
	}
	gen_operands(g, n->a, n->b);
	gen_operate(g, n->op, n->op == LANG_T_SUB || n->type.is_signed);
}

static void unary(struct gen *g, const struct lang_node *n)
{
	if (is_test(n)) {
		emit_truth(g, n);
		return;
	}
	gen_expr(g, n->a);
	if (n->op == LANG_T_INVERT)
		gen_alu_imm(g, BPF_XOR, R0, -1);
	else
		gen_insn(g, BPF_ALU64 | BPF_NEG, R0, 0, 0, 0);
}

static void ternary(struct gen *g, const struct lang_node *n)
{
	uint32_t no = gen_label(g), end = gen_label(g);

	gen_branch(g, n->a, false, no);
	gen_expr(g, n->b);
	gen_goto(g, end);
	gen_place_label(g, no);
	gen_expr(g, n->c);
	gen_place_label(g, end);
}

/* Set r0 to 1 if it is not 0. */
static void emit_bool(struct gen *g)
{
	uint32_t end = gen_label(g);

	gen_jump_imm(g, BPF_JEQ, R0, 0, end);
	gen_imm(g, R0, 1);
	gen_place_label(g, end);
}

static void cast(struct gen *g, const struct lang_node *n)
{
	uint32_t size;
	int at;

	if (lang_is_in_memory(n->a->type)) {
		at = gen_temporary(g, n->a, &size);
		gen_load(g, R0, R10, at, 1); /* a string is true unless it is empty */
		gen_pop(g, size);
	} else {
		gen_expr(g, n->a);
	}
	if (n->type.base == LANG_BOOL)
		emit_bool(g);
	else
		gen_narrow(g, n->value, n->type.is_signed);
}

/* -- tests -- */

struct test {
	uint32_t yes, no, signed_yes, signed_no;
};

static const struct test tests[LANG_TOKENS] = {
	[LANG_T_EQ] = { BPF_JEQ, BPF_JNE, BPF_JEQ, BPF_JNE },   [LANG_T_NE] = { BPF_JNE, BPF_JEQ, BPF_JNE, BPF_JEQ },
	[LANG_T_LT] = { BPF_JLT, BPF_JGE, BPF_JSLT, BPF_JSGE }, [LANG_T_LE] = { BPF_JLE, BPF_JGT, BPF_JSLE, BPF_JSGT },
	[LANG_T_GT] = { BPF_JGT, BPF_JLE, BPF_JSGT, BPF_JSLE }, [LANG_T_GE] = { BPF_JGE, BPF_JLT, BPF_JSGE, BPF_JSLT },
};

static void compare(struct gen *g, const struct lang_node *n, bool when, uint32_t label)
{
	const struct test *t = &tests[n->op];
	bool is_signed = n->value; /* lang_check() stored true for a signed comparison */
	uint32_t op = is_signed ? (when ? t->signed_yes : t->signed_no) : when ? t->yes : t->no;

	if (lang_is_in_memory(n->b->type)) {
		gen_compare_memory(g, n, when, label);
	} else if (n->b->kind == LANG_N_NUMBER && n->b->value <= INT32_MAX) {
		gen_expr(g, n->a);
		gen_jump_imm(g, op, R0, (int32_t)n->b->value, label);
	} else {
		gen_operands(g, n->a, n->b);
		gen_jump(g, op, R0, R1, label);
	}
}

/*
 * Evaluate && or ||, and jump to `label` if the result equals `when`. If the first operand decides the result, the
 * second operand is not evaluated.
 */
static void emit_short_circuit(struct gen *g, const struct lang_node *n, bool when, uint32_t label)
{
	bool decides = n->op == LANG_T_LOR;
	uint32_t over;

	if (decides == when) {
		gen_branch(g, n->a, when, label);
		gen_branch(g, n->b, when, label);
		return;
	}
	over = gen_label(g);
	gen_branch(g, n->a, !when, over);
	gen_branch(g, n->b, when, label);
	gen_place_label(g, over);
}

void gen_branch(struct gen *g, const struct lang_node *n, bool when, uint32_t label)
{
	if (n->kind == LANG_N_BINARY && (n->op == LANG_T_LAND || n->op == LANG_T_LOR)) {
		emit_short_circuit(g, n, when, label);
	} else if (n->kind == LANG_N_BINARY && is_test(n)) {
		compare(g, n, when, label);
	} else if (n->kind == LANG_N_UNARY && n->op == LANG_T_NOT) {
		gen_branch(g, n->a, !when, label);
	} else {
		gen_expr(g, n);
		gen_jump_imm(g, when ? BPF_JNE : BPF_JEQ, R0, 0, label);
	}
}

/* -- assignments -- */

/* Store a value in memory in a variable. The value may depend on the variable, unless it is copied from elsewhere. */
static void set_memory(struct gen *g, const struct lang_var *var, const struct lang_node *value)
{
	bool is_copied = value->kind == LANG_N_STRING || value->kind == LANG_N_BUILTIN || value->kind == LANG_N_MAP;
	uint32_t size;
	int at;

	if (is_copied && !g->level) {
		gen_memory(g, value, var->at);
		return;
	}
	at = gen_temporary(g, value, &size);
	gen_copy(g, gen_frame(g), var->at, R10, at, lang_size(var->type));
	gen_pop(g, size);
}

void gen_set(struct gen *g, const struct lang_var *var, const struct lang_node *value)
{
	if (lang_is_in_memory(var->type)) {
		set_memory(g, var, value);
		return;
	}
	gen_expr(g, value);
	gen_hide(g);
	gen_var(g, var, true);
}

static void set_var(struct gen *g, const struct lang_node *n)
{
	struct lang_node now = { .kind = LANG_N_VAR, .var = n->a->var };

	if (n->op == LANG_T_NONE) {
		gen_set(g, n->a->var, n->b);
		return;
	}
	gen_operands(g, &now, n->b);
	gen_operate(g, n->op, n->type.is_signed && (n->b->type.is_signed || n->op == LANG_T_RSH));
	gen_hide(g);
	gen_var(g, n->a->var, true);
}

void gen_step(struct gen *g, const struct lang_node *n)
{
	int32_t by = n->op == LANG_T_ADD ? 1 : -1;

	gen_var(g, n->a->var, false);
	gen_mov(g, R1, R0);
	gen_alu_imm(g, BPF_ADD, R0, by);
	gen_hide(g);
	gen_var(g, n->a->var, true);
	if (!n->value)
		gen_mov(g, R0, R1); /* $x++ and $x-- yield the old value */
}

static void set(struct gen *g, const struct lang_node *n)
{
	if (n->a->kind == LANG_N_VAR)
		set_var(g, n);
	else if (n->b->type.base == LANG_AGGREGATE)
		gen_aggregate(g, n);
	else
		gen_map_set(g, n);
}

static void step(struct gen *g, const struct lang_node *n)
{
	static const struct lang_node one = { .kind = LANG_N_NUMBER, .value = 1 };

	if (n->a->kind == LANG_N_VAR)
		gen_step(g, n);
	else
		gen_map_step(g, n->a, n->op, &one, !n->value);
}

/* Generate assert(): if the condition is false, send the record and end the probe. */
static void assertion(struct gen *g, const struct lang_node *n)
{
	uint32_t holds = gen_label(g);

	gen_branch(g, n->list, true, holds);
	gen_action(g, n);
	gen_leave_probe(g);
	gen_place_label(g, holds);
}

static void bswap(struct gen *g, const struct lang_node *n)
{
	gen_expr(g, n->list);
	if (n->value > 8)
		gen_insn(g, BPF_ALU | BPF_END | BPF_TO_BE, R0, 0, 0, (int32_t)n->value);
	else
		gen_narrow(g, 8, false);
}

static void action(struct gen *g, const struct lang_node *n)
{
	gen_action(g, n);
	if (n->function->id == LANG_F_EXIT)
		gen_leave_probe(g);
}

static void call(struct gen *g, const struct lang_node *n)
{
	static void (*const functions[LANG_FUNCTIONS])(struct gen *g, const struct lang_node *n) = {
		[LANG_F_FIND] = gen_find,       [LANG_F_ASSERT] = assertion,        [LANG_F_BSWAP] = bswap,
		[LANG_F_STRNCMP] = gen_strings, [LANG_F_STRCONTAINS] = gen_strings, [LANG_F_STRSTR] = gen_strings,
		[LANG_F_STRLEN] = gen_strings,  [LANG_F_LEN] = gen_strings,
	};

	if (n->function->id == LANG_F_DELETE)
		gen_delete(g, n->list);
	else if (n->function->id == LANG_F_HAS_KEY)
		gen_has_key(g, n->list);
	else if (n->function->id == LANG_F_STRFTIME)
		gen_expr(g, n->list->next);
	else if (n->type.base == LANG_LABEL && n->value)
		gen_read_bytes(g, n->list, (uint32_t)n->value);
	else if (n->type.base == LANG_LABEL)
		gen_expr(g, n->list);
	else if (functions[n->function->id])
		functions[n->function->id](g, n);
	else
		action(g, n);
}

/* Generate a block expression: its statements, and then its value in r0. */
static void value_block(struct gen *g, const struct lang_node *n)
{
	for (const struct lang_node *s = n->list; s; s = s->next)
		gen_statement(g, s);
	g->is_result_used = true;
	if (n->a && lang_is_in_memory(n->a->type))
		gen_statement_value(g, n->a);
	else if (n->a)
		gen_expr(g, n->a);
}

/* Set the result to 0 or "", which a function yields if it ends without return. */
static void clear_result(struct gen *g, const struct lang_var *var)
{
	int frame = gen_frame(g);

	gen_imm(g, R0, 0);
	for (uint32_t i = 0; i < lang_size(var->type); i += 8)
		gen_store(g, frame, var->at + (int)i, R0, 8);
}

/* Generate the body of a function of the text. Its result is then in the variable n->var. */
void gen_body(struct gen *g, const struct lang_node *n)
{
	struct gen_function function = { g->level, gen_label(g) }, *outer = g->function;

	for (const struct lang_node *s = n->list; s; s = s->next)
		gen_statement(g, s);
	clear_result(g, n->var);
	g->function = &function;
	gen_statement(g, n->b);
	gen_place_label(g, function.end);
	g->function = outer;
	g->is_result_used = true;
}

static void function_call(struct gen *g, const struct lang_node *n)
{
	gen_body(g, n);
	if (!lang_is_in_memory(n->type))
		gen_var(g, n->var, false);
}

void gen_expr(struct gen *g, const struct lang_node *n)
{
	static void (*const kinds[])(struct gen *g, const struct lang_node *n) = {
		[LANG_N_BUILTIN] = emit_builtin,
		[LANG_N_MAP] = gen_map_read,
		[LANG_N_UNARY] = unary,
		[LANG_N_BINARY] = binary,
		[LANG_N_TERNARY] = ternary,
		[LANG_N_CAST] = cast,
		[LANG_N_SET] = set,
		[LANG_N_STEP] = step,
		[LANG_N_CALL] = call,
		[LANG_N_READ] = gen_read,
		[LANG_N_MEMBER] = gen_read,
		[LANG_N_PLACE] = gen_place,
		[LANG_N_PART] = gen_part,
		[LANG_N_VALUE] = value_block,
		[LANG_N_FN] = function_call,
	};

	if (n->kind == LANG_N_NUMBER)
		gen_number(g, R0, n);
	else if (n->kind == LANG_N_VAR)
		gen_var(g, n->var, false);
	else if (n->kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[n->kind])
		kinds[n->kind](g, n);
}
