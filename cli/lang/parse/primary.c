/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the operands of expressions: numbers, strings, words, calls, variables, maps, casts and tuples. */
#include "cli/lang/lang.h"

#include <string.h>

#include "parse.h"

static struct lang_node *map_node(struct lang_parser *p)
{
	struct lang_node *n = lang_node(p, LANG_N_MAP, p->lex.pos), *passed;
	uint32_t keys;

	passed = lang_parameter(p, p->lex.string, p->lex.pos);
	n->map = passed ? passed->map : lang_map_named(p, p->lex.string, p->lex.pos);
	lang_next(&p->lex);
	if (!lang_accept(p, LANG_T_LBRACKET))
		return n;
	n->list = lang_list(p, LANG_T_RBRACKET, &keys);
	n->value = keys;
	if (keys == 1 && n->list->kind == LANG_N_TUPLE) {
		n->value = keys = n->list->value; /* @x[(a, b)] is the same as @x[a, b] */
		n->list = n->list->list;
	}
	if (!keys)
		lang_fail(p->l, p->lex.pos, "omit the brackets", "the key is empty");
	if (keys > LANG_KEYS)
		lang_fail(p->l, n->pos, "combine some elements", "the key has %u elements; the maximum is %u", keys,
			  LANG_KEYS);
	lang_expect(p, LANG_T_RBRACKET, "after the key");
	return n;
}

/* find(@x, key, $v) sets $v, so it may be the first use of $v. */
static void define_result(struct lang_parser *p, struct lang_node *var)
{
	if (!var->var)
		var->var = lang_variable(p, var->text, var->pos);
}

static struct lang_node *call(struct lang_parser *p, const char *name, uint32_t pos)
{
	struct lang_node *n = lang_node(p, LANG_N_CALL, pos);
	uint32_t args;

	n->function = lang_function_find(name);
	n->list = lang_list(p, LANG_T_CLOSE, &args);
	lang_expect(p, LANG_T_CLOSE, "after the arguments");
	if (n->function && n->function->id == LANG_F_FIND && args == 3 && n->list->next->next->kind == LANG_N_VAR)
		define_result(p, n->list->next->next);
	if (!n->function || (args >= n->function->least && args <= n->function->most))
		return n;
	lang_fail(p->l, pos, n->function->shown, "%s() does not accept %u argument%s", name, args, args == 1 ? "" : "s");
	return n;
}

/* Parse a suffix .x, .y or .z. */
static void triple(struct lang_parser *p, struct lang_node *n)
{
	static const char *const names[] = { "x", "y", "z" };

	if (p->lex.token != LANG_T_DOT)
		return;
	lang_next(&p->lex);
	for (uint32_t i = 0; i < 3; i++)
		if (lang_word_is(p, names[i]))
			n->value = i + 1;
	if (!n->value)
		lang_fail(p->l, p->lex.pos, ".x, .y or .z", "%s has no such component", n->builtin.name);
	lang_next(&p->lex);
}

/* Parse a field of the context: ctx.FIELD, ctx.FIELD.FIELD or ctx.FIELD[i]. */
static struct lang_node *context(struct lang_parser *p, uint32_t pos)
{
	struct lang_node *n = lang_node(p, LANG_N_BUILTIN, pos);
	char field[64] = "";
	uint64_t index = 0;

	if (lang_is_linux(p->block))
		lang_fail(p->l, pos, "use arg0 to arg5, retval or args.NAME", "ctx is only for GPU kernels");
	while (lang_accept(p, LANG_T_DOT) || lang_accept(p, LANG_T_ARROW)) {
		size_t at = strlen(field);

		snprintf(field + at, sizeof(field) - at, "%s%s", at ? "." : "", p->lex.string);
		lang_expect(p, LANG_T_WORD, "after the point");
	}
	if (lang_accept(p, LANG_T_LBRACKET)) {
		index = p->lex.number;
		lang_expect(p, LANG_T_NUMBER, "as the index");
		lang_expect(p, LANG_T_RBRACKET, "after the index");
	}
	if (!lang_field_find(field, index, &n->builtin))
		lang_fail(p->l, pos, "gpubpf-prog(8) lists the fields, e.g. ctx.mem.addr",
			  "the context has no field %s%s", field, index ? " of that index" : "");
	n->type.base = n->builtin.base;
	return n;
}

/*
 * Parse args.NAME for a name that the probe does not declare. The name is looked up in each kernel when the kernel is
 * probed.
 */
static struct lang_node *named(struct lang_parser *p, uint32_t pos)
{
	struct lang_node *n = lang_node(p, LANG_N_BUILTIN, pos);

	n->text = p->lex.string;
	if (p->lex.token != LANG_T_WORD)
		lang_fail(p->l, p->lex.pos, "write args.NAME, for example args.n for the argument n",
			  "the name of an argument is missing");
	else if (!lang_builtin_named(p->l, n->text, &n->builtin))
		lang_fail(p->l, p->lex.pos, "use arg0, arg1, ... for some arguments",
			  "the names of all arguments together have more than %u bytes", LANG_NAMES_SIZE);
	lang_next(&p->lex);
	return n;
}

/* Parse args.NAME. If the probe declares arguments, NAME must be one of them. */
static struct lang_node *argument(struct lang_parser *p, uint32_t pos)
{
	struct lang_node *n = lang_node(p, LANG_N_CAST, pos), *bits = lang_node(p, LANG_N_BUILTIN, pos);
	const struct lang_block *block = p->block;
	char word[16];

	if (!lang_accept(p, LANG_T_DOT))
		lang_expect(p, LANG_T_ARROW, "after args");
	if (lang_is_linux(block) && block->probes->linux_kind == LANG_LINUX_TRACEPOINT)
		return lang_tracepoint_field(p, pos);
	if (lang_is_linux(block) &&
	    (block->probes->linux_kind == LANG_LINUX_FENTRY || block->probes->linux_kind == LANG_LINUX_FEXIT))
		return lang_parameter_field(p, pos);
	if (lang_is_linux(block))
		lang_fail(p->l, pos, "use arg0 to arg5", "args.NAME is for GPU kernels and tracepoints");
	if (!block->nargs)
		return named(p, pos);
	for (uint32_t i = 0; i < block->nargs; i++) {
		if (!lang_word_is(p, block->args[i].name))
			continue;
		snprintf(word, sizeof(word), "arg%u", i);
		lang_builtin_find(word, &bits->builtin);
		bits->builtin.base = block->args[i].type.base;
		bits->type.base = block->args[i].type.base;
		n->type = block->args[i].type;
		n->value = block->args[i].bits ? block->args[i].bits : 64;
		n->a = bits;
		lang_next(&p->lex);
		return n;
	}
	lang_fail(p->l, p->lex.pos, "declare it in the parentheses after the probe", "no argument is named %s",
		  p->lex.string);
	return n;
}

static struct lang_node *unknown(struct lang_parser *p, const char *word, uint32_t pos)
{
	const char *instead, *why = lang_refused(word, &instead);
	char near[96];

	if (why)
		lang_fail(p->l, pos, instead, "%s is not available in GPU kernels: %s", word, why);
	else if (p->lex.token == LANG_T_DOT)
		lang_fail(p->l, pos,
			  "write ctx.mem.addr for a field of the context, or args.n for an argument of the "
			  "kernel",
			  "%s is not known", word);
	else
		lang_fail(p->l, pos, lang_nearest_word(word, near, sizeof(near)), "%s is not known", word);
	return lang_node(p, LANG_N_NUMBER, pos);
}

/*
 * Skip the mode of ustack(mode) or ustack(mode, n): all modes print functions. Returns false if the parentheses end after
 * the mode.
 */
static bool skip_stack_mode(struct lang_parser *p)
{
	if (!lang_word_is(p, "perf") && !lang_word_is(p, "bpftrace") && !lang_word_is(p, "raw"))
		return true;
	lang_next(&p->lex);
	if (lang_accept(p, LANG_T_CLOSE))
		return false;
	lang_expect(p, LANG_T_COMMA, "before the number");
	return true;
}

/* Parse ustack or ustack(n). All uses must have the same depth, because one map contains all stacks. */
static void frames(struct lang_parser *p, const struct lang_node *n)
{
	uint64_t requested = LANG_FRAMES;

	if (lang_accept(p, LANG_T_OPEN) && !lang_accept(p, LANG_T_CLOSE) && skip_stack_mode(p)) {
		requested = p->lex.number;
		if (p->lex.token == LANG_T_NUMBER && (!requested || requested > LANG_FRAMES))
			lang_fail(p->l, p->lex.pos, "write ustack without a number for all functions",
				  "ustack() takes 1 to %u", LANG_FRAMES);
		lang_expect(p, LANG_T_NUMBER, "in ustack()");
		lang_expect(p, LANG_T_CLOSE, "after the number");
	}
	if (p->l->frames && p->l->frames != requested)
		lang_fail(p->l, n->pos, "use the same number everywhere",
			  "an earlier ustack has %u functions, but this one has a different number", p->l->frames);
	p->l->frames = (uint32_t)requested;
}

/* Parse what may follow ustack or kstack in a probe of the Linux kernel: (n), (perf), (bpftrace, n). */
static void kept_frames(struct lang_parser *p, struct lang_node *n)
{
	n->value = LANG_KEPT_FRAMES;
	if (!lang_accept(p, LANG_T_OPEN) || lang_accept(p, LANG_T_CLOSE) || !skip_stack_mode(p))
		return;
	n->value = p->lex.number;
	if (p->lex.token == LANG_T_NUMBER && (!n->value || n->value > LANG_MAX_KEPT_FRAMES))
		lang_fail(p->l, p->lex.pos, "write it without a number for 16 functions",
			  "%s() takes 1 to %u in a probe of the Linux kernel", n->text, LANG_MAX_KEPT_FRAMES);
	lang_expect(p, LANG_T_NUMBER, "as the number of functions");
	lang_expect(p, LANG_T_CLOSE, "after the number");
}

static struct lang_node *truth(struct lang_parser *p, bool value, uint32_t pos)
{
	struct lang_node *n = lang_node(p, LANG_N_NUMBER, pos);

	n->type.base = LANG_BOOL;
	n->value = value;
	return n;
}

/*
 * Parse what may follow a word: an empty pair of parentheses, or the name of a clock as in nsecs(boot). ustack(n) is
 * parsed elsewhere.
 */
static struct lang_node *options(struct lang_parser *p, struct lang_node *n)
{
	const char *option = "";

	if (n->builtin.source == LANG_SOURCE_STACK || n->builtin.source == LANG_SOURCE_FRAMES ||
	    !lang_accept(p, LANG_T_OPEN))
		return n;
	if (p->lex.token == LANG_T_WORD) {
		option = p->lex.string;
		if (!lang_builtin_option(n->builtin.name, option))
			lang_fail(p->l, p->lex.pos, lang_builtin_options(n->builtin.name), "%s() has no option %s",
				  n->builtin.name, option);
		lang_next(&p->lex);
	}
	lang_expect(p, LANG_T_CLOSE, "because this word has no arguments");
	return lang_clock(p, n, option);
}

/* Find the row of a word. Probes of the Linux kernel have their own words. */
static bool find_word(struct lang_parser *p, const char *word, uint32_t pos, struct lang_builtin *builtin)
{
	if (lang_is_host(p->block) && lang_host_word_find(word, builtin))
		return true;
	if (!lang_is_linux(p->block))
		return lang_builtin_find(word, builtin);
	if (lang_linux_find(p->block->probes, word, builtin))
		return true;
	if (!lang_builtin_find(word, builtin))
		return false;
	lang_fail(p->l, pos,
		  "pid, tid, comm, uid, gid, cpu, nsecs, elapsed, probe, func, ustack, kstack, arg0 to arg5 and retval are possible",
		  "%s is not available at %.100s", word, p->block->probes->section);
	return true;
}

static struct lang_node *word_node(struct lang_parser *p)
{
	const char *word = p->lex.string;
	uint32_t pos = p->lex.pos;
	struct lang_node *n;

	n = lang_parameter(p, word, pos);
	lang_next(&p->lex);
	if (n)
		return n;
	if (!strcmp(word, "true") || !strcmp(word, "false"))
		return truth(p, !strcmp(word, "true"), pos);
	if (!strcmp(word, "ctx"))
		return context(p, pos);
	if (!strcmp(word, "args"))
		return argument(p, pos);
	n = lang_expand(p, word, pos);
	if (n)
		return n;
	n = lang_constant(p, word, pos);
	if (!n)
		n = lang_linux_value(p, word, pos);
	if (n)
		return n;
	if (lang_function_find(word)) {
		lang_expect(p, LANG_T_OPEN, "after the function's name");
		return call(p, word, pos);
	}
	n = lang_node(p, LANG_N_BUILTIN, pos);
	if (!find_word(p, word, pos, &n->builtin))
		return unknown(p, word, pos);
	n->text = word;
	n->type.base = n->builtin.base;
	n = options(p, n);
	if (n->kind != LANG_N_BUILTIN)
		return n;
	if (n->builtin.source == LANG_SOURCE_TRIPLE)
		triple(p, n);
	else if (n->builtin.source == LANG_SOURCE_STACK)
		frames(p, n);
	else if (n->builtin.source == LANG_SOURCE_FRAMES)
		kept_frames(p, n);
	else if (p->lex.token == LANG_T_DOT)
		lang_fail(p->l, p->lex.pos,
			  "use lid.x (thread in its block) or gid.x (thread in the launch); bid, bdim and gdim have "
			  "components too",
			  "%s has no components", word);
	return n;
}

static struct lang_var *find_var(struct lang_parser *p, const char *name)
{
	struct lang_var *found = NULL;

	for (struct lang_var *v = p->block->vars; v; v = v->next)
		if (v->scope != UINT32_MAX && v->frame == p->frame && !strcmp(v->name, name))
			found = v;
	return found;
}

/*
 * Return a node for a variable. The name may be unknown, because an assignment may define it; lang_check() reports
 * other uses.
 */
static struct lang_node *var_node(struct lang_parser *p)
{
	struct lang_node *n = lang_parameter(p, p->lex.string, p->lex.pos);

	if (n) {
		lang_next(&p->lex);
		return n;
	}
	n = lang_node(p, LANG_N_VAR, p->lex.pos);
	n->var = find_var(p, p->lex.string);
	n->text = p->lex.string;
	lang_next(&p->lex);
	return n;
}

/* Parse the asterisks after the type of a cast. */
static void pointer(struct lang_parser *p, struct lang_node *n, uint32_t bits, bool is_signed)
{
	n->type = (struct lang_type){ LANG_ADDRESS, false, is_signed, bits };
	n->value = 64;
	while (lang_accept(p, LANG_T_MUL))
		n->type = (struct lang_type){ LANG_ADDRESS, false, false, 64 };
}

/* Parse the rest of (a) or of a tuple (a, b) or (a,). */
static struct lang_node *tuple(struct lang_parser *p, uint32_t pos)
{
	struct lang_node *n = lang_expression(p), *all;
	uint32_t more = 0;

	if (lang_accept(p, LANG_T_COMMA)) {
		all = lang_node(p, LANG_N_TUPLE, pos);
		all->list = n;
		n->next = p->lex.token == LANG_T_CLOSE ? NULL : lang_list(p, LANG_T_CLOSE, &more);
		all->value = 1 + more;
		if (all->value > LANG_KEYS)
			lang_fail(p->l, pos, "combine some elements", "the tuple has %u elements; the maximum is %u",
				  more + 1, LANG_KEYS);
		n = all;
	}
	lang_expect(p, LANG_T_CLOSE, "after the expression");
	return n;
}

/* Returns true if a parameter of the current macro hides the name of a type. */
static bool cast_is_parameter(struct lang_parser *p)
{
	return lang_parameter(p, p->lex.string, p->lex.pos);
}

/* Parse the rest of a cast to a type of several words, such as (struct pair *)x or (unsigned long)x. */
static struct lang_node *wide_cast(struct lang_parser *p, struct lang_node *n)
{
	const struct lang_ctype *c = lang_pointers(p, lang_base_type(p));

	if (c && c->kind != LANG_C_RECORD && c->kind != LANG_C_ARRAY)
		n->type = lang_type_of(p->l, c);
	else
		lang_fail(p->l, n->pos, "cast to a pointer: (struct pair *)arg0", "a cast cannot have this type");
	n->value = c ? 8 * c->bytes : 0;
	lang_expect(p, LANG_T_CLOSE, "after the type");
	lang_enter_nesting(p);
	n->a = lang_unary(p);
	p->depth--;
	return n;
}

/* Parse the rest of a cast of a number to an array of its bytes, such as (uint8[8])x. */
static void array_cast(struct lang_parser *p, struct lang_node *n, uint32_t bits)
{
	lang_next(&p->lex);
	n->elements = p->lex.token == LANG_T_NUMBER   ? (uint32_t)p->lex.number :
		      p->lex.token == LANG_T_RBRACKET ? 64 / bits :
							0;
	if (!n->elements || n->elements > 64 / bits)
		lang_fail(p->l, p->lex.pos, "(uint8[8])x", "a number has 1 to %u elements of this type", 64 / bits);
	lang_accept(p, LANG_T_NUMBER);
	lang_expect(p, LANG_T_RBRACKET, "after the number of elements");
}

/* Parse a cast, (int32)x or (int32 *)x, or an expression in parentheses. */
static struct lang_node *parenthesis(struct lang_parser *p)
{
	struct lang_node *n = lang_node(p, LANG_N_CAST, p->lex.pos);
	bool named, is_signed;
	uint32_t bits;

	lang_next(&p->lex);
	if (lang_begins_type(p))
		return wide_cast(p, n);
	named = p->lex.token == LANG_T_WORD && lang_type_named(p->lex.string, &bits, &n->type.is_signed);
	if (p->lex.token == LANG_T_WORD && !cast_is_parameter(p) && lang_target_named(p->lex.string, &bits, &is_signed)) {
		n->type.base = lang_word_is(p, "bool") ? LANG_BOOL : LANG_INT;
		n->value = bits;
		lang_next(&p->lex);
		if (p->lex.token == LANG_T_LBRACKET && named)
			array_cast(p, n, bits);
		if (lang_accept(p, LANG_T_MUL))
			pointer(p, n, bits, is_signed);
		else if (!named)
			lang_fail(p->l, n->pos,
				  "use printf(\"%f\", x) to print the bits of x as a floating-point "
				  "number",
				  "casts to floating-point types are not supported");
		lang_expect(p, LANG_T_CLOSE, "after the type");
		lang_enter_nesting(p);
		n->a = lang_unary(p);
		p->depth--;
		return n;
	}
	return tuple(p, n->pos);
}

static struct lang_node *number_node(struct lang_parser *p)
{
	struct lang_node *n = lang_node(p, LANG_N_NUMBER, p->lex.pos);

	n->value = p->lex.number;
	n->type = (struct lang_type){ LANG_INT, p->lex.number <= INT64_MAX || p->lex.string[0] == '-' };
	n->literal = true;
	n->text = p->lex.parameter ? p->lex.string : NULL;
	lang_next(&p->lex);
	return n;
}

static struct lang_node *string_node(struct lang_parser *p)
{
	struct lang_node *n = lang_node(p, LANG_N_STRING, p->lex.pos);

	n->text = p->lex.string;
	n->type.base = LANG_TEXT;
	lang_next(&p->lex);
	return n;
}

static struct lang_node *value_block(struct lang_parser *p)
{
	struct lang_node *n = lang_value_block(p);

	lang_next(&p->lex);
	return n;
}

struct lang_node *lang_primary(struct lang_parser *p)
{
	switch (p->lex.token) {
	case LANG_T_NUMBER:
		return number_node(p);
	case LANG_T_STRING:
		return string_node(p);
	case LANG_T_WORD:
		return word_node(p);
	case LANG_T_VAR:
		return var_node(p);
	case LANG_T_MAP:
		return map_node(p);
	case LANG_T_OPEN:
		return parenthesis(p);
	case LANG_T_LBRACE:
		return value_block(p);
	default:
		lang_fail(p->l, p->lex.pos, "an expression is a number, a word, @x, $x, or a combination of them",
			  "an expression is missing before %s", lang_token_text(p->lex.token));
		return lang_node(p, LANG_N_NUMBER, p->lex.pos);
	}
}
