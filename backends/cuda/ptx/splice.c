/* SPDX-License-Identifier: Apache-2.0 */
#include "splice.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/diag.h"
#include "core/target.h"
#include "core/wire/name.h"
#include "params.h"
#include "places.h"
#include "symbols.h"

struct text {
	char *data;
	size_t size, room;
};

struct injector {
	const struct ptx_module *m;
	struct ptx_symbols symbols;
	const char *kernel;
	uint32_t kernel_node;
	const struct cuda_probe *probes; /* by the job's sites */
	struct gpubpf_inserting at;
	struct gpubpf_diag *diag;
	uint32_t nbindings, exits, version;
	struct placed {          /* the places of the function that is being edited, and their probes; NULL: none */
		struct ptx_place place;
		const struct cuda_probe *probe;
	} *placed;
	uint32_t nplaced, next;  /* next: the first that has not been edited */
	bool keeps_result;       /* a probe of it reads what it returns */
	uint32_t asks_global;    /* token of an isspacep.global; 0: none */
	struct ptx_edit *edits;  /* texts are malloc'd */
	size_t nedits, room;
	int err;
};

static void refuse(struct injector *in, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void refuse(struct injector *in, const char *fmt, ...)
{
	char why[400];
	va_list ap;

	if (in->err)
		return;
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	gpubpf_diag_where(in->diag, "kernel %s", in->kernel);
	in->err = gpubpf_diag_set(in->diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "%s", why);
}

static void add(struct text *text, int *err, const char *data, size_t n)
{
	if (*err)
		return;
	if (text->room - text->size < n) {
		size_t room = text->room * 2 + n + 256;
		char *grown = realloc(text->data, room);

		if (!grown) {
			*err = -ENOMEM;
			return;
		}
		text->data = grown;
		text->room = room;
	}
	memcpy(text->data + text->size, data, n);
	text->size += n;
}

static void addf(struct text *text, int *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void addf(struct text *text, int *err, const char *fmt, ...)
{
	char buf[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	add(text, err, buf, n < (int)sizeof(buf) ? (size_t)n : sizeof(buf) - 1);
}

/* Queue an edit; it takes the text over. */
static void edit(struct injector *in, enum ptx_edit_kind kind, uint32_t first, uint32_t end, struct text text)
{
	if (!in->err && in->nedits == in->room) {
		size_t room = in->room ? 2 * in->room : 64;
		struct ptx_edit *grown = realloc(in->edits, room * sizeof(*grown));

		if (grown) {
			in->edits = grown;
			in->room = room;
		} else {
			in->err = -ENOMEM;
		}
	}
	if (in->err) {
		free(text.data);
		return;
	}
	in->edits[in->nedits++] = (struct ptx_edit){ kind, first, end, text.data ? text.data : "", text.size };
}

static bool word_is(const struct injector *in, uint32_t token, const char *word)
{
	return ptx_token_is(in->m, token, word);
}

/* ---- what the kernel needs ---- */

static bool has_modifier(const struct injector *in, const struct ptx_node *insn, const char *modifier)
{
	for (uint32_t t = insn->name + 1; t < insn->operands; t++)
		if (word_is(in, t, modifier))
			return true;
	return false;
}

static bool is_runtime_function(const struct injector *in, uint32_t name)
{
	/* system calls that the driver resolves in any module */
	static const char *const known[] = { "vprintf", "malloc", "free", "__assertfail" };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (word_is(in, name, known[i]))
			return true;
	return false;
}

static void need(struct injector *in, struct ptx_symbol *symbol, uint32_t *stack, uint32_t *depth)
{
	const char *name = ptx_token_text(in->m, symbol->name);
	int len = in->m->tokens[symbol->name].len;

	if (symbol->needed)
		return;
	symbol->needed = true;
	if (symbol->twice)
		refuse(in, "it needs %.*s, which several of the modules that it was linked from define", len, name);
	else if (symbol->handle)
		refuse(in, "it uses the texture or surface reference %.*s, which belongs to its own module", len, name);
	else if (!symbol->function && !symbol->shared)
		symbol->binding = in->nbindings++;
	else if (symbol->function && symbol->defined)
		stack[(*depth)++] = symbol - in->symbols.symbols;
	else if (symbol->function && !is_runtime_function(in, symbol->name))
		refuse(in, "it calls %.*s, which its PTX only declares", len, name);
}

static void scan_insn(struct injector *in, uint32_t node, uint32_t *stack, uint32_t *depth)
{
	const struct ptx_node *insn = &in->m->nodes[node];
	bool call = word_is(in, insn->name, "call");
	uint32_t target = call ? ptx_callee(in->m, insn) : PTX_NONE;

	if (call && in->m->text[in->m->tokens[target].off] == '%')
		refuse(in, "it calls through a function pointer (PTX line %u), which is valid in its own module alone",
		       in->m->tokens[target].line);
	if (word_is(in, insn->name, "isspacep") && has_modifier(in, insn, ".global"))
		in->asks_global = insn->name;
	for (uint32_t t = insn->operands; t < insn->end; t++) {
		struct ptx_symbol *symbol = ptx_symbols_find_at(&in->symbols, node, t);

		if (!symbol)
			continue;
		if (symbol->function && t != target)
			refuse(in, "it takes the address of function %.*s, which is valid in its own module alone",
			       in->m->tokens[t].len, ptx_token_text(in->m, t));
		need(in, symbol, stack, depth);
	}
}

/* Memory of the module that a function declares for itself: the twin would have its own. */
static void scan_variable(struct injector *in, const struct ptx_node *variable)
{
	for (uint32_t t = variable->first; t < variable->name; t++)
		if (word_is(in, t, ".global") || word_is(in, t, ".const"))
			refuse(in,
			       "a function declares the variable %.*s in %.*s (PTX line %u), which has no address "
			       "outside of it",
			       in->m->tokens[variable->name].len, ptx_token_text(in->m, variable->name),
			       in->m->tokens[t].len, ptx_token_text(in->m, t), in->m->tokens[t].line);
}

/* The twin reads constants through global memory. */
static void check_spaces(struct injector *in)
{
	for (uint32_t i = 0; in->asks_global && i < in->symbols.n; i++)
		if (in->symbols.symbols[i].constant && in->symbols.symbols[i].binding != PTX_NONE)
			refuse(in, "it asks whether an address is global memory (PTX line %u), and it has constants",
			       in->m->tokens[in->asks_global].line);
}

static void find_closure(struct injector *in)
{
	const struct ptx_module *m = in->m;
	uint32_t *stack = calloc(in->symbols.n + 1, sizeof(*stack)), depth = 0;
	uint32_t function = ptx_find_function(m, in->kernel);
	struct ptx_symbol *kernel =
		function == PTX_NONE ? NULL : ptx_symbols_find(&in->symbols, m->nodes[function].name);

	if (!stack) {
		in->err = -ENOMEM;
		return;
	}
	if (!kernel || !kernel->function || !kernel->defined || !m->nodes[kernel->node].entry)
		refuse(in, "its PTX has no kernel of that name");
	else
		need(in, kernel, stack, &depth);
	if (kernel)
		in->kernel_node = kernel->node;
	while (depth && !in->err) {
		uint32_t function = in->symbols.symbols[stack[--depth]].node;

		PTX_FOR_EACH_NODE(m, function, node)
			if (m->nodes[node].kind == PTX_INSN)
				scan_insn(in, node, stack, &depth);
			else if (m->nodes[node].kind == PTX_VARIABLE)
				scan_variable(in, &m->nodes[node]);
	}
	free(stack);
	check_spaces(in);
}

/* ---- edits ---- */

static void add_probe(struct injector *in, struct text *text, const struct cuda_probe *probe)
{
	add(text, &in->err, "{\n", 2);
	add(text, &in->err, probe->body, probe->body_size);
	add(text, &in->err, "\n}\n", 3);
}

/* A probe that reads arguments names the parameters of its function: at that node their names must mean them. */
static void check_params(struct injector *in, const struct cuda_probe *probe, uint32_t function, uint32_t node)
{
	uint32_t param;

	if (!probe->reads_params)
		return;
	for (uint32_t i = 0; (param = cuda_param_node(in->m, function, i)) != PTX_NONE; i++)
		if (ptx_declaration(in->m, node, in->m->nodes[param].name) != param)
			refuse(in, "the probe reads arguments, and a block declares the parameter's name %.*s again",
			       in->m->tokens[in->m->nodes[param].name].len,
			       ptx_token_text(in->m, in->m->nodes[param].name));
}

/* Probe code and then the exit itself; a predicated one is jumped around. */
static void edit_exit(struct injector *in, uint32_t function, const struct placed *at)
{
	const struct ptx_module *m = in->m;
	const struct ptx_node *insn = &m->nodes[at->place.node], *exit = &m->nodes[at->place.exit];
	struct text text = { 0 };
	char skip[40] = "";

	if (at->place.kind == GPUBPF_SITE_EXIT && at->probe->reads_params && function != in->kernel_node)
		refuse(in, "a function that it calls ends the thread, and the probe reads arguments, which are not at "
		       "hand there");
	else
		check_params(in, at->probe, function, at->place.node);
	if (++in->exits > CUDA_MAX_EXITS)
		refuse(in, "it has more than %d exits", CUDA_MAX_EXITS);
	addf(&text, &in->err, "\n");
	if (insn->guard != PTX_NONE) {
		bool negated = word_is(in, insn->guard - 1, "!");

		snprintf(skip, sizeof(skip), "$gpubpf_skip_%u", in->exits);
		addf(&text, &in->err, "@%s", negated ? "" : "!");
		add(&text, &in->err, ptx_token_text(m, insn->guard), m->tokens[insn->guard].len);
		addf(&text, &in->err, " bra %s;\n", skip);
	}
	add_probe(in, &text, at->probe);
	add(&text, &in->err, ptx_token_text(m, exit->name),
	    m->tokens[exit->end - 1].off + m->tokens[exit->end - 1].len - m->tokens[exit->name].off);
	if (skip[0])
		addf(&text, &in->err, "\n%s:", skip);
	edit(in, PTX_REPLACE, insn->first, insn->end, text);
}

/* A reference to an application's variable becomes the register that holds its address. */
static void edit_variable(struct injector *in, const struct ptx_node *insn, uint32_t t, uint32_t binding)
{
	struct text text = { 0 };

	/* mov takes a variable plus a constant, but no register plus a constant (9.7.9.6) */
	if (word_is(in, insn->name, "mov") && word_is(in, t + 1, "+")) {
		addf(&text, &in->err, "add.s64");
		edit(in, PTX_REPLACE, insn->name, insn->operands, text);
		text = (struct text){ 0 };
		addf(&text, &in->err, "%%gpubpf_v%u,", binding);
		edit(in, PTX_REPLACE, t, t + 2, text);
		return;
	}
	addf(&text, &in->err, "%%gpubpf_v%u", binding);
	edit(in, PTX_REPLACE, t, t + 1, text);
}

/* A constant of the application lies in global memory for the twin. */
static void edit_const_space(struct injector *in, const struct ptx_node *insn)
{
	struct text text = { 0 };

	if (word_is(in, insn->name, "isspacep")) {
		refuse(in, "it asks whether an address is constant memory (PTX line %u)",
		       in->m->tokens[insn->name].line);
		return;
	}
	for (uint32_t t = insn->name + 1; t < insn->operands; t++)
		if (word_is(in, t, ".const")) {
			addf(&text, &in->err, ".global");
			edit(in, PTX_REPLACE, t, t + 1, text);
			return;
		}
}

static void edit_insn(struct injector *in, uint32_t function, uint32_t node)
{
	const struct ptx_node *insn = &in->m->nodes[node];

	if (in->next < in->nplaced && in->placed[in->next].place.node == node) {
		const struct placed *at = &in->placed[in->next++];

		if (at->probe)
			edit_exit(in, function, at);
		return;
	}
	if (has_modifier(in, insn, ".const"))
		edit_const_space(in, insn);
	for (uint32_t t = insn->operands; t < insn->end; t++) {
		const struct ptx_symbol *symbol = ptx_symbols_find_at(&in->symbols, node, t);

		if (symbol && symbol->binding != PTX_NONE)
			edit_variable(in, insn, t, symbol->binding);
	}
}

/* The places of a function and what stands there. */
static void find_probes(struct injector *in, uint32_t function)
{
	const struct ptx_token *name = &in->m->tokens[in->m->nodes[function].name];
	struct ptx_place *places = NULL;
	char words[256] = "";

	in->nplaced = in->next = 0;
	in->keeps_result = false;
	free(in->placed);
	in->placed = NULL;
	if (ptx_places(in->m, function, &places, &in->nplaced) == 0)
		in->placed = calloc(in->nplaced + 1, sizeof(*in->placed));
	if (!in->placed) {
		in->err = -ENOMEM;
		in->nplaced = 0;
	}
	if (function != in->kernel_node)
		gpubpf_name_short(in->m->text + name->off, name->len, words);
	for (uint32_t i = 0; i < in->nplaced; i++) {
		uint32_t site = gpubpf_site_at(&in->at, places[i].kind, words, places[i].id);

		in->placed[i] = (struct placed){ places[i], site == UINT32_MAX ? NULL : &in->probes[site] };
		in->keeps_result |= in->placed[i].probe && in->placed[i].probe->reads_result;
	}
	free(places);
}

/* At the top of a body: addresses of the variables that it uses, then the probe. */
static void edit_top(struct injector *in, uint32_t function, uint32_t body)
{
	const struct ptx_module *m = in->m;
	const struct cuda_probe *probe;
	struct text text = { 0 };
	uint64_t *used = calloc(in->nbindings / 64 + 1, sizeof(*used));

	if (!used) {
		in->err = -ENOMEM;
		return;
	}
	PTX_FOR_EACH_NODE(m, function, node) {
		if (m->nodes[node].kind != PTX_INSN)
			continue;
		for (uint32_t t = m->nodes[node].operands; t < m->nodes[node].end; t++) {
			const struct ptx_symbol *symbol = ptx_symbols_find_at(&in->symbols, node, t);
			uint32_t b = symbol ? symbol->binding : PTX_NONE;

			if (b == PTX_NONE || used[b / 64] >> (b % 64) & 1)
				continue;
			used[b / 64] |= 1ull << (b % 64);
			addf(&text, &in->err,
			     "\n.reg .b64 %%gpubpf_v%u;\nld.const.u64 %%gpubpf_v%u, [" CUDA_BIND_PREFIX "%u];", b, b,
			     b);
		}
	}
	free(used);
	if (in->keeps_result)
		addf(&text, &in->err, "\n.reg .b64 %s;\nmov.b64 %s, 0;", CUDA_RESULT, CUDA_RESULT);
	probe = in->nplaced ? in->placed[in->next++].probe : NULL;
	if (probe) {
		add(&text, &in->err, "\n", 1);
		add_probe(in, &text, probe);
	}
	edit(in, PTX_INSERT, m->nodes[body].first + 1, 0, text);
}

/* The place, if there is one more, where the function runs off its end. */
static void edit_bottom(struct injector *in, uint32_t function, uint32_t body)
{
	const struct cuda_probe *probe = in->next < in->nplaced ? in->placed[in->next].probe : NULL;
	const struct ptx_module *m = in->m;
	uint32_t last = PTX_NONE;
	struct text text = { 0 };

	if (!probe)
		return;
	for (uint32_t c = m->nodes[body].child; c != PTX_NONE; c = m->nodes[c].next)
		if (m->nodes[c].kind == PTX_INSN || m->nodes[c].kind == PTX_LABEL || m->nodes[c].kind == PTX_BLOCK)
			last = c;
	if (last != PTX_NONE)
		check_params(in, probe, function, last);
	add(&text, &in->err, "\n", 1);
	add_probe(in, &text, probe);
	addf(&text, &in->err, "ret;\n");
	edit(in, PTX_INSERT, m->nodes[body].end - 1, 0, text);
}

/* A function of another module that is linked with this one is one of its own in the twin; so is a strong one that
 * counts instead of this module's weak one. */
static void edit_declaration(struct injector *in, const struct ptx_symbol *symbol, uint32_t function, uint32_t body)
{
	const struct ptx_module *m = in->m;
	uint32_t first = m->nodes[function].first, linkage = m->nodes[symbol->node].first;
	struct text text = { 0 }, end = { 0 };

	if (!symbol->defined || (body == PTX_NONE && !word_is(in, first, ".extern")))
		return;
	if (!word_is(in, linkage, ".func"))
		add(&text, &in->err, ptx_token_text(m, linkage), m->tokens[linkage].len);
	edit(in, PTX_REPLACE, first, first + 1, text);
	if (body == PTX_NONE)
		return;
	addf(&end, &in->err, ";");
	edit(in, PTX_REPLACE, m->nodes[body].first, m->nodes[body].end, end);
}

/* Bytes of an element that a store stores; 0: not known. */
static uint32_t stored_bytes(const struct injector *in, const struct ptx_node *insn)
{
	static const struct {
		const char *type;
		uint32_t bytes;
	} types[] = {
		{ ".b8", 1 }, { ".u8", 1 }, { ".s8", 1 }, { ".b16", 2 }, { ".u16", 2 }, { ".s16", 2 }, { ".b32", 4 },
		{ ".u32", 4 }, { ".s32", 4 }, { ".f32", 4 }, { ".b64", 8 }, { ".u64", 8 }, { ".s64", 8 }, { ".f64", 8 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (has_modifier(in, insn, types[i].type))
			return types[i].bytes;
	return 0;
}

/* The same bytes in CUDA_RESULT. cvt takes integers of registers that are wider (PTX ISA 9.4.1), mov floats too. */
static void keep_element(struct injector *in, struct text *text, const char *guard, uint32_t t, uint32_t off,
			 uint32_t bytes)
{
	const struct ptx_token *token = &in->m->tokens[t];
	const char *value = ptx_token_text(in->m, word_is(in, t - 1, "-") ? t - 1 : t);
	int len = ptx_token_text(in->m, t) + token->len - value;
	uint32_t bits = 8 * (off + bytes > 8 ? 8 - off : bytes);

	addf(text, &in->err, "\n{\n.reg .b32 %%gpubpf_w;\n.reg .b64 %%gpubpf_d;\n");
	if (bytes == 4)
		addf(text, &in->err, "mov.b32 %%gpubpf_w, %.*s;\ncvt.u64.u32 %%gpubpf_d, %%gpubpf_w;\n", len, value);
	else if (bytes == 8 || token->kind == PTX_NUMBER)
		addf(text, &in->err, "mov.b64 %%gpubpf_d, %.*s;\n", len, value);
	else
		addf(text, &in->err, "cvt.u64.u%u %%gpubpf_d, %.*s;\n", 8 * bytes, len, value);
	addf(text, &in->err, "%sbfi.b64 %s, %%gpubpf_d, %s, %u, %u;\n}", guard, CUDA_RESULT, CUDA_RESULT, 8 * off, bits);
}

/*
 * st.param to what the function returns (PTX ISA 9.7.9.12), which nothing reads back there: its first 8 bytes are
 * kept in a register too. [result+off], value or {value, ...}.
 */
static void keep_result(struct injector *in, uint32_t function, uint32_t node)
{
	const struct ptx_module *m = in->m;
	const struct ptx_node *insn = &m->nodes[node];
	uint32_t at = insn->operands + 1, declared, off = 0, bytes = stored_bytes(in, insn);
	struct text text = { 0 };
	char guard[80] = "";

	if (!word_is(in, insn->name, "st") || !has_modifier(in, insn, ".param") || !word_is(in, insn->operands, "["))
		return;
	declared = ptx_declaration(m, node, at);
	if (declared == PTX_NONE || m->nodes[declared].kind != PTX_PARAM || !m->nodes[declared].result)
		return;
	if (word_is(in, ++at, "+")) {
		off = strtoul(ptx_token_text(m, at + 1), NULL, 0);
		at += 2;
	}
	if (!bytes || !word_is(in, at, "]") || !word_is(in, at + 1, ",")) {
		refuse(in, "the probe reads what a function returns, which PTX line %u stores in a way that is not known",
		       m->tokens[insn->name].line);
		return;
	}
	if (insn->guard != PTX_NONE)
		snprintf(guard, sizeof(guard), "@%s%.*s ", word_is(in, insn->guard - 1, "!") ? "!" : "",
			 (int)m->tokens[insn->guard].len, ptx_token_text(m, insn->guard));
	for (at += 2; at < insn->end && off < 8; at++)
		if (m->tokens[at].kind != PTX_PUNCT) {
			keep_element(in, &text, guard, at, off, bytes);
			off += bytes;
		}
	edit(in, PTX_INSERT, insn->end, 0, text);
}

/* A function that returns in registers, as PTX without the ABI does, has no st.param. */
static void check_result(struct injector *in, uint32_t function)
{
	if (!in->keeps_result)
		return;
	for (uint32_t c = in->m->nodes[function].child; c != PTX_NONE; c = in->m->nodes[c].next)
		if (in->m->nodes[c].kind == PTX_PARAM && in->m->nodes[c].result && word_is(in, in->m->nodes[c].first, ".reg"))
			refuse(in, "the probe reads what a function returns, and its PTX returns that in registers");
}

static void edit_function(struct injector *in, const struct ptx_symbol *symbol, uint32_t function)
{
	const struct ptx_module *m = in->m;
	uint32_t body = ptx_child(m, function, PTX_BLOCK, 0);
	struct text text = { 0 };

	if (body == PTX_NONE || symbol->node != function) {
		edit_declaration(in, symbol, function, body);
		return;
	}
	if (function == in->kernel_node) {
		addf(&text, &in->err, CUDA_TWIN_PREFIX "%s", in->kernel);
		edit(in, PTX_REPLACE, m->nodes[function].name, m->nodes[function].name + 1, text);
	}
	find_probes(in, function);
	check_result(in, function);
	edit_top(in, function, body);
	PTX_FOR_EACH_NODE(m, function, node) {
		const struct ptx_node *n = &m->nodes[node];

		if (n->kind == PTX_INSN)
			edit_insn(in, function, node);
		if (n->kind == PTX_INSN && in->keeps_result)
			keep_result(in, function, node);
		else if (n->kind == PTX_DIRECTIVE && word_is(in, n->name, ".loc"))
			edit(in, PTX_REPLACE, n->first, n->end, (struct text){ 0 });
	}
	edit_bottom(in, function, body);
}

/* ---- the twin's text ---- */

static uint32_t directive_version(const struct ptx_module *m, const struct ptx_node *node)
{
	unsigned major = 0, minor = 0;
	char buf[16] = "";
	uint32_t len = m->tokens[node->name + 1].len;

	memcpy(buf, ptx_token_text(m, node->name + 1), len < sizeof(buf) ? len : sizeof(buf) - 1);
	sscanf(buf, "%u.%u", &major, &minor);
	return major * 100 + minor;
}

uint32_t cuda_ptx_version(const struct ptx_module *m)
{
	uint32_t version = 0;

	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next)
		if (m->nodes[c].kind == PTX_DIRECTIVE && ptx_token_is(m, m->nodes[c].name, ".version")) {
			uint32_t stated = directive_version(m, &m->nodes[c]);

			version = stated > version ? stated : version;
		}
	return version;
}

uint32_t cuda_ptx_target(const struct ptx_module *m)
{
	uint32_t target = PTX_NONE, best = 0;

	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next) {
		uint32_t name = m->nodes[c].name, sm = 0;

		if (m->nodes[c].kind != PTX_DIRECTIVE || !ptx_token_is(m, name, ".target"))
			continue;
		if (m->tokens[name + 1].len > 3)
			sm = strtoul(ptx_token_text(m, name + 1) + 3, NULL, 10);
		if (target == PTX_NONE || sm > best) {
			target = name + 1;
			best = sm;
		}
	}
	return target;
}

/* Of a directive that each of several linked modules has, the first. */
static bool is_first(const struct injector *in, const struct ptx_node *node)
{
	const struct ptx_module *m = in->m;

	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next)
		if (m->nodes[c].kind == PTX_DIRECTIVE &&
		    !strncmp(ptx_token_text(m, m->nodes[c].name), ptx_token_text(m, node->name),
			     m->tokens[node->name].len))
			return &m->nodes[c] == node;
	return false;
}

static void edit_header(struct injector *in, const struct ptx_node *node)
{
	struct text text = { 0 };
	uint32_t target = cuda_ptx_target(in->m);

	if (word_is(in, node->name, ".version") && directive_version(in->m, node) < in->version) {
		addf(&text, &in->err, "%u.%u", in->version / 100, in->version % 100);
		edit(in, PTX_REPLACE, node->name + 1, node->name + 2, text);
	}
	if (word_is(in, node->name, ".target") && target != node->name + 1) {
		add(&text, &in->err, ptx_token_text(in->m, target), in->m->tokens[target].len);
		edit(in, PTX_REPLACE, node->name + 1, node->name + 2, text);
	}
	for (uint32_t t = node->first; t < node->end; t++)
		if (word_is(in, t, "debug")) /* there is no debug information in the twin */
			edit(in, PTX_REPLACE, t - 1, t + 1, (struct text){ 0 });
}

/* Does the twin have this node for that symbol: its definition, or a declaration, also for want of one before a
 * definition that stands further down? */
static bool keeps(const struct injector *in, const struct ptx_symbol *symbol, uint32_t node)
{
	bool body = ptx_child(in->m, node, PTX_BLOCK, 0) != PTX_NONE;

	if (!symbol || !symbol->needed || !(symbol->function || symbol->shared))
		return false;
	if (!symbol->function || in->m->nodes[node].entry)
		return node == symbol->node;
	return node == symbol->node || !body || node < symbol->node;
}

static bool edit_directive(struct injector *in, const struct ptx_node *node)
{
	if (!(word_is(in, node->name, ".version") || word_is(in, node->name, ".target") ||
	      word_is(in, node->name, ".address_size")) || !is_first(in, node))
		return false;
	edit_header(in, node);
	return true;
}

/* Top-level nodes that the twin does not have become nothing. */
static void drop_rest(struct injector *in)
{
	const struct ptx_module *m = in->m;

	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next) {
		const struct ptx_node *node = &m->nodes[c];
		bool keep = false;

		if (node->kind == PTX_DIRECTIVE)
			keep = edit_directive(in, node);
		else if (node->kind == PTX_FUNCTION || node->kind == PTX_VARIABLE)
			for (uint32_t t = node->name; t != PTX_NONE; t = ptx_next_name(m, c, t))
				keep |= keeps(in, ptx_symbols_find(&in->symbols, t), c);
		if (!keep)
			edit(in, PTX_REPLACE, node->first, node->end, (struct text){ 0 });
		else if (node->kind == PTX_FUNCTION)
			edit_function(in, ptx_symbols_find(&in->symbols, node->name), c);
	}
}

/* The constants that hold the addresses, and the probes' own top level, behind the module's header. */
static void add_prelude(struct injector *in, const char *prelude, size_t size)
{
	const struct ptx_module *m = in->m;
	struct text text = { 0 };
	uint32_t at = PTX_NONE;

	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next)
		if (at == PTX_NONE && m->nodes[c].kind == PTX_DIRECTIVE &&
		    word_is(in, m->nodes[c].name, ".address_size"))
			at = m->nodes[c].end;
	if (at == PTX_NONE) {
		refuse(in, "its PTX has no .address_size");
		return;
	}
	for (uint32_t i = 0; i < in->nbindings; i++)
		addf(&text, &in->err, "\n.visible .const .align 8 .u64 " CUDA_BIND_PREFIX "%u;", i);
	add(&text, &in->err, "\n", 1);
	add(&text, &in->err, prelude, size);
	add(&text, &in->err, "\n", 1);
	edit(in, PTX_INSERT, at, 0, text);
}

static void list_bindings(struct injector *in, struct cuda_twin *twin)
{
	twin->bindings = calloc(in->nbindings + 1, sizeof(*twin->bindings));
	if (!twin->bindings) {
		in->err = -ENOMEM;
		return;
	}
	twin->nbindings = in->nbindings;
	for (uint32_t i = 0; i < in->symbols.n; i++) {
		const struct ptx_symbol *symbol = &in->symbols.symbols[i];
		uint32_t len = in->m->tokens[symbol->name].len;

		if (symbol->binding == PTX_NONE)
			continue;
		if (len >= sizeof(*twin->bindings))
			refuse(in, "the name of a variable is longer than 255 characters");
		else
			memcpy(twin->bindings[symbol->binding], ptx_token_text(in->m, symbol->name), len);
	}
}

int cuda_inject(const struct ptx_module *module, const struct gpubpf_lower_job *job, const struct cuda_probe *probes,
		const char *prelude, size_t prelude_size, uint32_t version, struct cuda_twin *twin,
		struct gpubpf_diag *diag)
{
	uint32_t own = cuda_ptx_version(module);
	const char *kernel = job->sites[0].kernel;
	struct injector in = { .version = version > own ? version : own, .m = module, .kernel = kernel, .probes = probes,
			       .at = { .job = job, .kernel = kernel }, .diag = diag, .kernel_node = PTX_NONE };
	struct cuda_twin made = { 0 };

	in.err = ptx_symbols_init(&in.symbols, module);
	if (!in.err)
		find_closure(&in);
	if (!in.err)
		list_bindings(&in, &made);
	if (!in.err)
		add_prelude(&in, prelude, prelude_size);
	if (!in.err)
		drop_rest(&in);
	if (!in.err)
		in.err = gpubpf_all_inserted(&in.at, diag);
	if (!in.err)
		in.err = ptx_print(module, in.edits, in.nedits, &made.text, &made.size);
	for (size_t i = 0; i < in.nedits; i++)
		if (in.edits[i].size)
			free((char *)in.edits[i].text);
	free(in.edits);
	free(in.placed);
	ptx_symbols_finish(&in.symbols);
	if (in.err)
		cuda_twin_finish(&made);
	else
		*twin = made;
	return in.err;
}

void cuda_twin_finish(struct cuda_twin *twin)
{
	free(twin->text);
	free(twin->bindings);
	*twin = (struct cuda_twin){ 0 };
}
