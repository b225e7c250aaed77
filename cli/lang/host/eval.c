/* SPDX-License-Identifier: Apache-2.0 */
/* Executes blocks on the host by walking the tree. */
#include <stdlib.h>
#include <string.h>

#include "core/session/session.h"
#include "gpubpf/ctx.h"
#include "host.h"

#define MAX_STEPS 1000000          /* maximum number of steps of one block; its loops may be long */

enum flow { NEXT, BREAK, CONTINUE, RETURN };

static enum flow run(struct lang_host *h, const struct lang_node *n);

static bool compares(enum lang_token op)
{
	return op == LANG_T_EQ || op == LANG_T_NE || op == LANG_T_LT || op == LANG_T_GT || op == LANG_T_LE ||
	       op == LANG_T_GE;
}

/* Returns true if the values are compared as strings. The name of a kernel or a process is a string, too. */
static bool compares_texts(const struct lang_node *n)
{
	enum lang_base b = n->b->type.base;

	return b == LANG_NAME || b == LANG_TEXT;
}

static bool equal_memory(struct lang_host *h, const struct lang_node *n)
{
	uint8_t a[LANG_VALUE_SIZE], b[LANG_VALUE_SIZE];

	lang_put(h, n->a, a);
	lang_put(h, n->b, b);
	return !memcmp(a, b, lang_size(n->a->type));
}

static uint64_t binary(struct lang_host *h, const struct lang_node *n)
{
	char buf[2][LANG_STRING_SIZE];
	uint64_t a;

	if (compares_texts(n))
		return !strcmp(lang_text(h, n->a, buf[0]), lang_text(h, n->b, buf[1])) == (n->op == LANG_T_EQ);
	if (lang_is_in_memory(n->b->type))
		return equal_memory(h, n) == (n->op == LANG_T_EQ);
	a = lang_eval(h, n->a);
	if (n->op == LANG_T_LAND)
		return a && lang_eval(h, n->b);
	if (n->op == LANG_T_LOR)
		return a || lang_eval(h, n->b);
	return lang_operate(n->op, a, lang_eval(h, n->b),
			    compares(n->op) ? n->value : n->op == LANG_T_SUB || n->type.is_signed);
}

static uint64_t unary(struct lang_host *h, const struct lang_node *n)
{
	uint64_t a = lang_eval(h, n->a);

	return n->op == LANG_T_NOT ? !a : n->op == LANG_T_INVERT ? ~a : -a;
}

static uint64_t cast(struct lang_host *h, const struct lang_node *n)
{
	char buf[LANG_STRING_SIZE];
	uint64_t v;

	if (lang_is_in_memory(n->a->type))
		return lang_text(h, n->a, buf)[0] != '\0';
	v = lang_eval(h, n->a);
	return n->type.base == LANG_BOOL ? v != 0 : lang_narrow(v, n->value, n->type.is_signed);
}

static uint64_t builtin(struct lang_host *h, const struct lang_node *n)
{
	const struct lang_builtin *b = &n->builtin;

	if (b->source == LANG_SOURCE_HOST)
		return lang_host_word(b->at);
	if (b->source == LANG_SOURCE_ELAPSED)
		return gpubpf_now_ns() - h->start_ns;
	if (b->source == LANG_SOURCE_HELPER)
		return b->at == 5 ? gpubpf_now_ns() : (uint32_t)random();
	return 0;
}

/* -- assignments -- */

static void set_var(struct lang_host *h, struct lang_var *var, const struct lang_node *value)
{
	char bytes[LANG_VALUE_SIZE];

	if (lang_is_in_memory(var->type)) {
		lang_put(h, value, (uint8_t *)bytes); /* the value may depend on the variable, as in $t = ($t.1, $t.0) */
		memcpy(var->text, bytes, lang_size(var->type));
		return;
	}
	var->value = lang_narrow(lang_eval(h, value), var->bits, var->type.is_signed);
}

static uint64_t set(struct lang_host *h, const struct lang_node *n)
{
	bool is_signed = n->type.is_signed && (n->b->type.is_signed || n->op == LANG_T_RSH);
	struct lang_var *var = n->a->var;

	if (n->a->kind == LANG_N_MAP)
		return lang_map_assign(h, n);
	if (n->op == LANG_T_NONE)
		set_var(h, var, n->b);
	else
		var->value = lang_narrow(lang_operate(n->op, var->value, lang_eval(h, n->b), is_signed), var->bits,
					 var->type.is_signed);
	return var->value;
}

static uint64_t step(struct lang_host *h, const struct lang_node *n)
{
	struct lang_var *var = n->a->var;
	uint64_t before;

	if (n->a->kind == LANG_N_MAP)
		return lang_map_step(h, n);
	before = var->value;
	var->value = lang_narrow(lang_operate(n->op, before, 1, false), var->bits, var->type.is_signed);
	return n->value ? var->value : before;
}

/* -- calls -- */

static void assertion(struct lang_host *h, const struct lang_node *n)
{
	if (!lang_eval(h, n->list))
		lang_act(h, n, h->probe, NULL);
}

/* Execute find(): if the map has the key, set the variable to its value. */
static bool find(struct lang_host *h, const struct lang_node *n)
{
	uint8_t value[LANG_VALUE_SIZE];
	struct lang_var *var = n->list->next->var;
	uint64_t number;

	if (!lang_map_read(h, n->list, value))
		return false;
	memcpy(&number, value, sizeof(number));
	if (lang_is_in_memory(var->type))
		memcpy(var->text, value, lang_size(var->type));
	else
		var->value = lang_narrow(number, var->bits, var->type.is_signed);
	return true;
}

static uint64_t call(struct lang_host *h, const struct lang_node *n)
{
	uint8_t value[LANG_VALUE_SIZE];

	switch (n->function->id) {
	case LANG_F_HAS_KEY:
		return lang_map_read(h, n->list, value);
	case LANG_F_DELETE:
		return lang_map_remove(h, n->list);
	case LANG_F_FIND:
		return find(h, n);
	case LANG_F_STRFTIME:
		return lang_eval(h, n->list->next);
	case LANG_F_STRERROR:
	case LANG_F_KSYM:
	case LANG_F_NTOP:
	case LANG_F_SYSCALL_NAME:
	case LANG_F_CGROUP_PATH:
		return lang_eval(h, n->list);
	case LANG_F_STRNCMP:
	case LANG_F_STRCONTAINS:
	case LANG_F_STRSTR:
	case LANG_F_STRLEN:
		return lang_strings(h, n);
	case LANG_F_LEN:
		return n->list->kind == LANG_N_MAP && !n->list->list ? lang_rows_count(h, n->list->map) :
								       lang_strings(h, n);
	case LANG_F_BSWAP:
		return n->value > 8 ? __builtin_bswap64(lang_eval(h, n->list)) >> (64 - n->value) :
				      lang_eval(h, n->list) & UINT8_MAX;
	case LANG_F_ASSERT:
		assertion(h, n);
		return 0;
	default:
		lang_act(h, n, h->probe, NULL);
		return 0;
	}
}

void lang_run_list(struct lang_host *h, const struct lang_node *list)
{
	for (const struct lang_node *s = list; s && run(h, s) == NEXT;)
		s = s->next;
}

void lang_run_function(struct lang_host *h, const struct lang_node *n)
{
	lang_run_list(h, n->list);
	n->var->value = 0; /* the result, if the function ends without return */
	memset(n->var->text, 0, sizeof(n->var->text));
	run(h, n->b);
}

/* -- expressions -- */

static uint64_t part(struct lang_host *h, const struct lang_node *n)
{
	uint8_t bytes[LANG_VALUE_SIZE];
	uint64_t v;

	lang_put(h, n, bytes);
	memcpy(&v, bytes, sizeof(v));
	return v;
}

/* Execute a block expression or a function of the text, and return its value. */
static uint64_t value_of(struct lang_host *h, const struct lang_node *n)
{
	if (n->kind == LANG_N_FN) {
		lang_run_function(h, n);
		return n->var->value;
	}
	lang_run_list(h, n->list);
	return n->a && !h->left ? lang_eval(h, n->a) : 0;
}

static uint64_t map_value(struct lang_host *h, const struct lang_node *n)
{
	uint8_t value[LANG_VALUE_SIZE];
	uint64_t v = 0;

	if (lang_map_read(h, n, value))
		memcpy(&v, value, sizeof(v));
	return v;
}

uint64_t lang_eval(struct lang_host *h, const struct lang_node *n)
{
	switch (n->kind) {
	case LANG_N_NUMBER:
		return n->value;
	case LANG_N_BUILTIN:
		return builtin(h, n);
	case LANG_N_VAR:
		return n->var->value;
	case LANG_N_MAP:
		return map_value(h, n);
	case LANG_N_UNARY:
		return unary(h, n);
	case LANG_N_BINARY:
		return binary(h, n);
	case LANG_N_TERNARY:
		return lang_eval(h, n->a) ? lang_eval(h, n->b) : lang_eval(h, n->c);
	case LANG_N_CAST:
		return cast(h, n);
	case LANG_N_PART:
		return part(h, n);
	case LANG_N_VALUE:
	case LANG_N_FN:
		return value_of(h, n);
	case LANG_N_SET:
		return set(h, n);
	case LANG_N_STEP:
		return step(h, n);
	case LANG_N_CALL:
		return call(h, n);
	default:
		return 0;
	}
}

/* -- statements -- */

static enum flow run_list(struct lang_host *h, const struct lang_node *n)
{
	enum flow flow = NEXT;

	for (const struct lang_node *s = n->list; s && flow == NEXT; s = s->next)
		flow = run(h, s);
	return flow;
}

static enum flow run_for(struct lang_host *h, const struct lang_node *n)
{
	int64_t last;
	enum flow flow = NEXT;

	n->var->value = lang_eval(h, n->a);
	last = lang_eval(h, n->c);
	for (; (int64_t)n->var->value < last; n->var->value++) {
		flow = run(h, n->b);
		if (flow == BREAK || flow == RETURN)
			break;
	}
	return flow == RETURN ? RETURN : NEXT;
}

static enum flow run_while(struct lang_host *h, const struct lang_node *n)
{
	enum flow flow = NEXT;

	while (flow != RETURN && lang_eval(h, n->a)) {
		flow = run(h, n->b);
		if (flow == BREAK)
			return NEXT;
	}
	return flow == RETURN ? RETURN : NEXT;
}

/* Execute a loop over a map: the keys that the map had when the loop began. */
static enum flow run_each(struct lang_host *h, const struct lang_node *n)
{
	const struct lang_map *map = n->a->map;
	enum flow flow = NEXT;
	struct lang_rows rows;

	if (lang_rows_read(h, map, &rows) < 0)
		rows.n = 0;
	for (uint32_t i = 0; i < rows.n && flow != BREAK && flow != RETURN; i++) {
		uint64_t number = lang_row_number(map, &rows.row[i]);

		memcpy(n->var->text, rows.row[i].key, map->key_size);
		if (lang_is_in_memory(map->value) && !map->holds)
			memcpy(n->var->text + map->key_size, rows.row[i].value, map->value_size);
		else
			memcpy(n->var->text + map->key_size, &number, sizeof(number));
		flow = run(h, n->b);
	}
	lang_rows_finish(&rows);
	return flow == RETURN ? RETURN : NEXT;
}

static enum flow run_return(struct lang_host *h, const struct lang_node *n)
{
	if (n->c && n->a)
		set_var(h, n->c->var, n->a);
	else if (n->a)
		lang_eval(h, n->a);
	return RETURN;
}

static enum flow run_unroll(struct lang_host *h, const struct lang_node *n)
{
	enum flow flow = NEXT;

	for (uint64_t i = 0; i < n->value && flow == NEXT; i++)
		flow = run(h, n->b);
	return flow;
}

static enum flow run_value(struct lang_host *h, const struct lang_node *n)
{
	uint8_t bytes[LANG_VALUE_SIZE];

	if (lang_is_in_memory(n->type) && n->kind != LANG_N_SET)
		lang_put(h, n, bytes);
	else
		lang_eval(h, n);
	return h->left ? RETURN : NEXT;
}

/* Execute a block expression that is a statement. */
static enum flow run_block(struct lang_host *h, const struct lang_node *n)
{
	enum flow flow = run_list(h, n);

	return flow == NEXT && n->a ? run_value(h, n->a) : flow;
}

static enum flow run(struct lang_host *h, const struct lang_node *n)
{
	if (++h->steps > MAX_STEPS || h->left)
		return RETURN;
	switch (n->kind) {
	case LANG_N_BLOCK:
		return run_list(h, n);
	case LANG_N_IF:
		if (lang_eval(h, n->a))
			return run(h, n->b);
		return n->c ? run(h, n->c) : NEXT;
	case LANG_N_UNROLL:
		return run_unroll(h, n);
	case LANG_N_FOR:
		return run_for(h, n);
	case LANG_N_EACH:
		return run_each(h, n);
	case LANG_N_WHILE:
		return run_while(h, n);
	case LANG_N_BREAK:
		return BREAK;
	case LANG_N_CONTINUE:
		return CONTINUE;
	case LANG_N_RETURN:
		return run_return(h, n);
	case LANG_N_VALUE:
		return run_block(h, n);
	default:
		return run_value(h, n);
	}
}

void lang_eval_block(struct lang_host *h, const struct lang_probe *probe)
{
	const struct lang_block *b = probe->block;
	uint32_t line, column;

	h->steps = 0;
	h->left = false;
	h->probe = probe;
	for (struct lang_var *v = b->vars; v; v = v->next) {
		v->value = 0;
		memset(v->text, 0, sizeof(v->text));
	}
	if (b->filter && !lang_eval(h, b->filter))
		return;
	run(h, b->body);
	lang_line_column(h->l, probe->pos, &line, &column);
	if (h->steps > MAX_STEPS)
		gpubpf_session_note(h->s, "%s:%u:%u: the block was stopped after %u statements",
				    lang_source_name(h->l, probe->pos), line, column, MAX_STEPS);
}
