/* SPDX-License-Identifier: Apache-2.0 */
/* Executes blocks on the host by walking the tree, and actions for kernels and host blocks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/session/session.h"
#include "gpubpf/ctx.h"
#include "host.h"

#define MAX_STEPS 1000000          /* maximum steps of one block, since its loops may be long */

enum flow { NEXT, BREAK, CONTINUE, RETURN };

static uint64_t eval(struct lang_host *h, const struct lang_node *n);
static const char *text(struct lang_host *h, const struct lang_node *n, char buf[GPUBPF_CTX_NAME]);

/* -- operators -- */

static uint64_t divide(uint64_t a, uint64_t b, bool is_signed, bool rest)
{
	if (!b)
		return rest ? a : 0;
	if (is_signed && b == UINT64_MAX)
		return rest ? 0 : -a;
	if (is_signed)
		return rest ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b;
	return rest ? a % b : a / b;
}

static bool less(uint64_t a, uint64_t b, bool is_signed)
{
	return is_signed ? (int64_t)a < (int64_t)b : a < b;
}

/* Compute a op b. The results must equal those of gen_operate() and compare() on the device. */
static uint64_t operate(enum lang_token op, uint64_t a, uint64_t b, bool is_signed)
{
	switch (op) {
	case LANG_T_ADD:
		return a + b;
	case LANG_T_SUB:
		return a - b;
	case LANG_T_MUL:
		return a * b;
	case LANG_T_DIV:
		return divide(a, b, is_signed, false);
	case LANG_T_MOD:
		return divide(a, b, is_signed, true);
	case LANG_T_AND:
		return a & b;
	case LANG_T_OR:
		return a | b;
	case LANG_T_XOR:
		return a ^ b;
	case LANG_T_LSH:
		return a << (b & 63);
	case LANG_T_RSH:
		return is_signed ? (uint64_t)((int64_t)a >> (b & 63)) : a >> (b & 63);
	case LANG_T_EQ:
		return a == b;
	case LANG_T_NE:
		return a != b;
	case LANG_T_LT:
		return less(a, b, is_signed);
	case LANG_T_GT:
		return less(b, a, is_signed);
	case LANG_T_LE:
		return !less(b, a, is_signed);
	case LANG_T_GE:
		return !less(a, b, is_signed);
	default:
		return 0;
	}
}

static bool compares(enum lang_token op)
{
	return op == LANG_T_EQ || op == LANG_T_NE || op == LANG_T_LT || op == LANG_T_GT || op == LANG_T_LE ||
	       op == LANG_T_GE;
}

static uint64_t binary(struct lang_host *h, const struct lang_node *n)
{
	char buf[2][GPUBPF_CTX_NAME];
	uint64_t a;

	if (n->a->type.base == LANG_NAME || n->a->type.base == LANG_TEXT)
		return !strcmp(text(h, n->a, buf[0]), text(h, n->b, buf[1])) == (n->op == LANG_T_EQ);
	a = eval(h, n->a);
	if (n->op == LANG_T_LAND)
		return a && eval(h, n->b);
	if (n->op == LANG_T_LOR)
		return a || eval(h, n->b);
	return operate(n->op, a, eval(h, n->b), compares(n->op) ? n->value : n->op == LANG_T_SUB || n->type.is_signed);
}

/* Truncate v to `bits` bits; 0: do not truncate. */
static uint64_t narrow(uint64_t v, uint64_t bits, bool is_signed)
{
	uint32_t unused = bits && bits < 64 ? 64 - bits : 0;

	v <<= unused;
	return is_signed ? (uint64_t)((int64_t)v >> unused) : v >> unused;
}

static uint64_t unary(struct lang_host *h, const struct lang_node *n)
{
	uint64_t a = eval(h, n->a);

	return n->op == LANG_T_NOT ? !a : n->op == LANG_T_INVERT ? ~a : -a;
}

/* -- words, variables and maps -- */

static uint64_t builtin(struct lang_host *h, const struct lang_node *n)
{
	const struct lang_builtin *b = &n->builtin;

	if (b->source == LANG_SOURCE_HOST)
		return gpubpf_now_ns() - h->start_ns;
	if (b->source == LANG_SOURCE_HELPER)
		return b->at == 5 ? gpubpf_now_ns() : (uint32_t)random();
	return 0;
}

static void put_key(struct lang_host *h, const struct lang_node *n, uint8_t *key)
{
	uint32_t at = 0;

	memset(key, 0, LANG_KEY_SIZE);
	for (const struct lang_node *k = n->list; k; k = k->next) {
		char buf[GPUBPF_CTX_NAME];
		uint64_t v = 0;

		if (k->type.base == LANG_NAME)
			strncpy((char *)key + at, text(h, k, buf), GPUBPF_CTX_NAME - 1);
		else
			v = eval(h, k);
		if (k->type.base != LANG_NAME)
			memcpy(key + at, &v, sizeof(v));
		at += lang_size(k->type);
	}
}

/* Read the rows of the map, which the caller finishes, and find the key's row. */
static struct lang_row *find_row(struct lang_host *h, const struct lang_node *n, struct lang_rows *rows)
{
	uint8_t key[LANG_KEY_SIZE];

	put_key(h, n, key);
	return lang_rows_read(h, n->map, rows) ? NULL : lang_rows_find(rows, key);
}

static uint64_t read_map(struct lang_host *h, const struct lang_node *n, bool has)
{
	struct lang_rows rows;
	struct lang_row *row = find_row(h, n, &rows);
	uint64_t v = 0;

	if (row)
		v = has ? 1 : lang_row_number(n->map, row);
	lang_rows_finish(&rows);
	return v;
}

/* Return the string value of a node: an existing string, or a copy in buf. */
static const char *text(struct lang_host *h, const struct lang_node *n, char buf[GPUBPF_CTX_NAME])
{
	struct lang_rows rows;
	struct lang_row *row;

	switch (n->kind) {
	case LANG_N_STRING:
		return n->text;
	case LANG_N_BUILTIN:
		return h->probe->section;
	case LANG_N_VAR:
		return n->var->text;
	case LANG_N_TERNARY:
		return text(h, eval(h, n->a) ? n->b : n->c, buf);
	case LANG_N_CALL:
		if (!n->list->next)
			return text(h, n->list, buf);
		snprintf(buf, GPUBPF_CTX_NAME, "%.*s", (int)n->list->next->value, text(h, n->list, buf));
		return buf;
	default:
		row = find_row(h, n, &rows);
		snprintf(buf, GPUBPF_CTX_NAME, "%.*s", GPUBPF_CTX_NAME - 1, row ? (const char *)row->value : "");
		lang_rows_finish(&rows);
		return buf;
	}
}

static uint64_t length(struct lang_host *h, const struct lang_map *map)
{
	struct lang_rows rows;
	uint64_t n = lang_rows_read(h, map, &rows) < 0 ? 0 : rows.n;

	lang_rows_finish(&rows);
	return n;
}

static uint64_t set(struct lang_host *h, const struct lang_node *n)
{
	bool is_signed = n->type.is_signed && (n->b->type.is_signed || n->op == LANG_T_RSH);
	struct lang_var *var = n->a->var;
	char buf[GPUBPF_CTX_NAME];
	uint64_t b;

	if (n->type.base == LANG_NAME) {
		const char *from = text(h, n->b, buf); /* source and destination may overlap: $s = $s */

		memmove(var->text, from, strlen(from) + 1);
		return 0;
	}
	b = eval(h, n->b);
	return var->value = narrow(n->op == LANG_T_NONE ? b : operate(n->op, var->value, b, is_signed), var->bits,
				   var->type.is_signed);
}

static uint64_t step(const struct lang_node *n)
{
	struct lang_var *var = n->a->var;
	uint64_t before = var->value;

	var->value = narrow(operate(n->op, before, 1, false), var->bits, var->type.is_signed);
	return n->value ? var->value : before;
}

/* -- printing -- */

/* an argument of a conversion, as a number or as a string */
struct argument {
	uint64_t value;
	const char *name;
	bool is_signed;
};

static void print_one(FILE *out, const char *flags, char conv, const struct argument *a)
{
	char format[48];
	union {
		uint32_t bits;
		float value;
	} f = { (uint32_t)a->value };
	union {
		uint64_t bits;
		double value;
	} d = { a->value };

	snprintf(format, sizeof(format), "%s%s%c", flags, strchr("diuxXo", conv) ? "ll" : "", conv);
	if (conv == 's')
		fprintf(out, format, a->name ? a->name : "");
	else if (conv == 'p')
		fprintf(out, "0x%" PRIx64, a->value);
	else if (conv == 'c')
		fprintf(out, format, (int)(a->value & 0xff));
	else if (strchr("feg", conv))
		fprintf(out, format, a->value >> 32 ? d.value : (double)f.value);
	else
		fprintf(out, format, (long long)a->value);
}

/*
 * Return the value of an argument, from the record at *data or, without a record, evaluated from the tree. Advances
 * *data.
 */
static struct argument argument(struct lang_host *h, const struct lang_node *n, const struct lang_probe *probe,
				const uint8_t **data, char *name)
{
	struct argument a = { .is_signed = n->type.is_signed };

	if (n->type.base == LANG_TEXT) {
		a.name = n->kind == LANG_N_STRING ? n->text : probe->section;
		return a;
	}
	if (!*data && n->type.base == LANG_NAME) {
		a.name = text(h, n, name);
	} else if (!*data) {
		a.value = eval(h, n);
	} else if (n->type.base == LANG_NAME) {
		snprintf(name, GPUBPF_CTX_NAME, "%.*s", GPUBPF_CTX_NAME - 1, (const char *)*data);
		a.name = name;
	} else {
		memcpy(&a.value, *data, sizeof(a.value));
	}
	if (n->type.base == LANG_KERNEL)
		a.name = h->shown(h->ctx, a.value);
	if (n->type.base == LANG_STACK)
		a.name = lang_stack_line(h, a.value);
	if (*data)
		*data += lang_size(n->type);
	return a;
}

static void print_format(struct lang_host *h, const struct lang_node *call, const struct lang_probe *probe,
			 const uint8_t *data)
{
	const struct lang_node *arg = call->list->next;
	const char *f = call->list->text;
	char name[GPUBPF_CTX_NAME];

	while (*f) {
		size_t n = strcspn(f, "%"), flags;
		char spec[24];
		struct argument a;

		fwrite(f, 1, n, h->out);
		f += n;
		if (!*f)
			break;
		flags = 1 + strspn(f + 1, "-+ #0123456789.");
		snprintf(spec, sizeof(spec), "%.*s", (int)(flags < 16 ? flags : 16), f);
		f += flags;
		f += strspn(f, "hlz");
		if (*f == '%' || !arg) {
			fputc('%', h->out);
		} else {
			a = argument(h, arg, probe, &data, name);
			print_one(h->out, spec, *f, &a);
			arg = arg->next;
		}
		f += *f != 0;
	}
}

static void print(struct lang_host *h, const struct lang_node *call, const struct lang_probe *probe, const uint8_t *data)
{
	const struct lang_node *first = call->list, *top = first->next;
	char name[GPUBPF_CTX_NAME];
	struct argument a;

	if (first->kind == LANG_N_MAP && !first->list) {
		lang_show_map(h, first->map, top ? top->value : 0, top && top->next ? top->next->value : 1, h->out);
		return;
	}
	a = argument(h, first, probe, &data, name);
	if (a.name && a.name[0])
		fprintf(h->out, "%s", a.name);
	else if (first->type.base == LANG_ADDRESS)
		fprintf(h->out, "0x%" PRIx64, a.value);
	else
		lang_show_number(h->out, a.value, a.is_signed);
	fputc('\n', h->out);
}

static void print_time(struct lang_host *h, const struct lang_node *call)
{
	time_t now = time(NULL);
	char text[256];
	struct tm tm;

	localtime_r(&now, &tm);
	if (strftime(text, sizeof(text), call->list ? call->list->text : "%H:%M:%S\n", &tm))
		fprintf(h->out, "%s", text);
}

void lang_act(struct lang_host *h, const struct lang_node *call, const struct lang_probe *probe, const uint8_t *data)
{
	switch (call->function->id) {
	case LANG_F_PRINTF:
		print_format(h, call, probe, data);
		break;
	case LANG_F_PRINT:
		print(h, call, probe, data);
		break;
	case LANG_F_CLEAR:
	case LANG_F_ZERO:
		lang_host_clear(h, call->list->map, call->function->id == LANG_F_ZERO);
		break;
	case LANG_F_TIME:
		print_time(h, call);
		break;
	case LANG_F_EXIT:
		h->exit = true;
		break;
	default:
		break;
	}
	fflush(h->out);
}

/* -- trees -- */

static uint64_t call(struct lang_host *h, const struct lang_node *n)
{
	if (n->function->id == LANG_F_HAS_KEY)
		return read_map(h, n->list, true);
	if (n->function->id == LANG_F_LEN)
		return length(h, n->list->map);
	lang_act(h, n, h->probe, NULL);
	return 0;
}

static uint64_t eval(struct lang_host *h, const struct lang_node *n)
{
	switch (n->kind) {
	case LANG_N_NUMBER:
		return n->value;
	case LANG_N_BUILTIN:
		return builtin(h, n);
	case LANG_N_VAR:
		return n->var->value;
	case LANG_N_MAP:
		return read_map(h, n, false);
	case LANG_N_UNARY:
		return unary(h, n);
	case LANG_N_BINARY:
		return binary(h, n);
	case LANG_N_TERNARY:
		return eval(h, n->a) ? eval(h, n->b) : eval(h, n->c);
	case LANG_N_CAST:
		return narrow(eval(h, n->a), n->value, n->type.is_signed);
	case LANG_N_SET:
		return set(h, n);
	case LANG_N_STEP:
		return step(n);
	case LANG_N_CALL:
		return call(h, n);
	default:
		return 0;
	}
}

static enum flow run(struct lang_host *h, const struct lang_node *n);

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

	n->var->value = eval(h, n->a);
	last = eval(h, n->c);
	for (; (int64_t)n->var->value < last; n->var->value++) {
		flow = run(h, n->b);
		if (flow == BREAK || flow == RETURN)
			break;
	}
	return flow == RETURN ? RETURN : NEXT;
}

static enum flow run(struct lang_host *h, const struct lang_node *n)
{
	enum flow flow = NEXT;

	if (++h->steps > MAX_STEPS)
		return RETURN;
	switch (n->kind) {
	case LANG_N_BLOCK:
		return run_list(h, n);
	case LANG_N_IF:
		if (eval(h, n->a))
			return run(h, n->b);
		return n->c ? run(h, n->c) : NEXT;
	case LANG_N_UNROLL:
		for (uint64_t i = 0; i < n->value && flow == NEXT; i++)
			flow = run(h, n->b);
		return flow;
	case LANG_N_FOR:
		return run_for(h, n);
	case LANG_N_BREAK:
		return BREAK;
	case LANG_N_CONTINUE:
		return CONTINUE;
	case LANG_N_RETURN:
		return RETURN;
	default:
		eval(h, n);
		return NEXT;
	}
}

void lang_eval_block(struct lang_host *h, const struct lang_probe *probe)
{
	const struct lang_block *b = probe->block;
	uint32_t line, column;

	h->steps = 0;
	h->probe = probe;
	for (struct lang_var *v = b->vars; v; v = v->next)
		v->value = v->text[0] = 0;
	if (b->filter && !eval(h, b->filter))
		return;
	run(h, b->body);
	lang_line_column(h->l, probe->pos, &line, &column);
	if (h->steps > MAX_STEPS)
		gpubpf_session_note(h->s, "%s:%u:%u: the block was stopped after %u statements", h->l->name, line,
				    column, MAX_STEPS);
}
