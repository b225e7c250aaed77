/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: marks the functions that a kernel calls, directly or not, and the variables that these functions use.
 * Before: the symbols of the module are listed (ptx_symbols_init()).
 * After: needed symbols are marked, needed variables have binding numbers, and in->kernel_node is set.
 * Requires: direct calls. A kernel that uses function pointers is refused.
 */
#include <errno.h>
#include <stdlib.h>

#include "edit.h"

static bool is_runtime_function(const struct ptx_splice *in, uint32_t name)
{
	/* functions that the driver provides to any module */
	static const char *const known[] = { "vprintf", "malloc", "free", "__assertfail" };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (ptx_word_is(in, name, known[i]))
			return true;
	return false;
}

static void need_symbol(struct ptx_splice *in, struct ptx_symbol *symbol, uint32_t *stack, uint32_t *depth)
{
	const char *name = ptx_token_text(in->m, symbol->name);
	int len = in->m->tokens[symbol->name].len;

	if (symbol->needed)
		return;
	symbol->needed = true;
	if (symbol->is_ambiguous)
		ptx_refuse(in, "it needs %.*s, which several of the linked modules define", len, name);
	else if (symbol->handle)
		ptx_refuse(in,
			   "it uses the texture or surface reference %.*s; CUDA binds it to the kernel's own module, so a twin in another module cannot use it",
			   len, name);
	else if (symbol->shared)
		in->has_extern_shared |= !symbol->defined;
	else if (!symbol->function)
		symbol->binding = in->nbindings++;
	else if (symbol->function && symbol->defined)
		stack[(*depth)++] = symbol - in->symbols.symbols;
	else if (symbol->function && !is_runtime_function(in, symbol->name))
		ptx_refuse(in, "it calls %.*s, which its PTX only declares", len, name);
}

static void scan_insn(struct ptx_splice *in, uint32_t node, uint32_t *stack, uint32_t *depth)
{
	const struct ptx_node *insn = &in->m->nodes[node];
	bool call = ptx_word_is(in, insn->name, "call");
	uint32_t target = call ? ptx_callee(in->m, insn) : PTX_NONE;

	if (call && in->m->text[in->m->tokens[target].off] == '%')
		ptx_refuse(in,
			   "it calls through a function pointer (PTX line %u), which is valid only in its original "
			   "module",
			   in->m->tokens[target].line);
	if (ptx_word_is(in, insn->name, "isspacep") && ptx_has_modifier(in, insn, ".global"))
		in->isspacep_global_token = insn->name;
	for (uint32_t t = insn->operands; t < insn->end; t++) {
		struct ptx_symbol *symbol = ptx_symbols_find_at(&in->symbols, node, t);

		if (ptx_word_is(in, t, "%total_smem_size") || ptx_word_is(in, t, "%aggr_smem_size"))
			in->shared_size_token = t;
		if (!symbol)
			continue;
		if (symbol->function && t != target)
			ptx_refuse(in, "it takes the address of function %.*s, which is valid only in its original module",
				   in->m->tokens[t].len, ptx_token_text(in->m, t));
		need_symbol(in, symbol, stack, depth);
	}
}

/*
 * Refuses global or constant memory that a function declares, because the twin would get a second copy of this memory.
 */
static void scan_variable(struct ptx_splice *in, const struct ptx_node *variable)
{
	for (uint32_t t = variable->first; t < variable->name; t++) {
		in->has_extern_shared |= ptx_word_is(in, t, ".extern");
		if (ptx_word_is(in, t, ".global") || ptx_word_is(in, t, ".const"))
			ptx_refuse(in,
				   "a function declares the variable %.*s in %.*s (PTX line %u), whose address a twin cannot know",
				   in->m->tokens[variable->name].len, ptx_token_text(in->m, variable->name),
				   in->m->tokens[t].len, ptx_token_text(in->m, t), in->m->tokens[t].line);
	}
}

/*
 * Refuses isspacep.global if the kernel uses constants. The twin reads constants through global memory, so the test
 * would give another result.
 */
static void check_spaces(struct ptx_splice *in)
{
	for (uint32_t i = 0; in->isspacep_global_token && i < in->symbols.n; i++)
		if (in->symbols.symbols[i].constant && in->symbols.symbols[i].binding != PTX_NONE)
			ptx_refuse(in,
				   "it tests whether an address is in global memory (PTX line %u), but its twin has the constants in global memory too",
				   in->m->tokens[in->isspacep_global_token].line);
}

void ptx_find_closure(struct ptx_splice *in)
{
	const struct ptx_module *m = in->m;
	uint32_t *stack = calloc(in->symbols.n + 1, sizeof(*stack)), depth = 0;
	uint32_t function = ptx_find_function(m, in->kernel);
	struct ptx_symbol *kernel = function == PTX_NONE ? NULL : ptx_symbols_find(&in->symbols, m->nodes[function].name);

	if (!stack) {
		in->err = -ENOMEM;
		return;
	}
	if (!kernel || !kernel->function || !kernel->defined || !m->nodes[kernel->node].entry)
		ptx_refuse(in, "its PTX has no kernel of that name");
	else
		need_symbol(in, kernel, stack, &depth);
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
