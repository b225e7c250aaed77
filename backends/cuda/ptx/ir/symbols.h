/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the names at a PTX module's top level, and marks the names that a kernel needs. */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_SYMBOLS_H
#define GPUBPF_BACKENDS_CUDA_PTX_SYMBOLS_H

#include "ptx.h"
#include "scope.h"

struct ptx_symbol {
	/* node: the definition, or a declaration if there is no definition. name: token of its name. */
	uint32_t node, name;
	bool function, defined;
	bool weak, visible; /* linkage; a definition that is neither weak nor visible is private to its module */
	/* several linked modules define the name, and the PTX does not show which definition the linker chose */
	bool is_ambiguous;
	bool hidden;   /* a function declares the same name */
	bool needed;   /* the kernel uses it */
	bool shared;   /* a .shared variable, which the twin declares too */
	bool constant; /* a variable in .const */
	bool handle;   /* a .texref, .samplerref or .surfref, which the driver binds by name in its own module */
	/* index of the binding of a needed variable that is neither shared nor a handle; else PTX_NONE */
	uint32_t binding;
};

struct ptx_symbols {
	const struct ptx_module *module;
	struct ptx_symbol *symbols; /* sorted by name; each name occurs once */
	uint32_t n;
};

int ptx_symbols_init(struct ptx_symbols *symbols, const struct ptx_module *module);
void ptx_symbols_finish(struct ptx_symbols *symbols);
/* Returns the token of the function that a call instruction calls (PTX ISA 9.7.12.4). */
uint32_t ptx_callee(const struct ptx_module *module, const struct ptx_node *insn);
/*
 * Returns the symbol that a token names, or NULL. The function ptx_symbols_find_at() also returns NULL if a declaration
 * in the function around `node` hides the symbol.
 */
struct ptx_symbol *ptx_symbols_find(const struct ptx_symbols *symbols, uint32_t token);
struct ptx_symbol *ptx_symbols_find_at(const struct ptx_symbols *symbols, uint32_t node, uint32_t token);
struct ptx_symbol *ptx_symbols_find_name(const struct ptx_symbols *symbols, const char *name, size_t size);

#endif
