/* SPDX-License-Identifier: Apache-2.0 */
/* The names at a PTX module's top level, and which of them a kernel needs. */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_SYMBOLS_H
#define GPUBPF_BACKENDS_CUDA_PTX_SYMBOLS_H

#include "ptx.h"
#include "scope.h"

struct ptx_symbol {
	uint32_t node, name; /* node of the definition, or else of a declaration; token of its name */
	bool function, defined;
	bool weak, visible; /* linkage; a definition with neither is private to its module */
	bool is_ambiguous;  /* several linked modules define it, and it is not clear which definition the linker
				  * chose */
	bool hidden;        /* a function declares the same name */
	bool needed;        /* by the kernel */
	bool shared;        /* a variable in .shared; the twin declares its own */
	bool constant;      /* a variable in .const */
	bool handle;        /* .texref, .samplerref, .surfref: bound by name to its module */
	uint32_t binding;   /* other variables: index of the binding, once needed */
};

struct ptx_symbols {
	const struct ptx_module *module;
	struct ptx_symbol *symbols; /* sorted by name, each name once */
	uint32_t n;
};

int ptx_symbols_init(struct ptx_symbols *symbols, const struct ptx_module *module);
void ptx_symbols_finish(struct ptx_symbols *symbols);
/* Returns the token that a call instruction calls (PTX ISA 9.7.12.4). */
uint32_t ptx_callee(const struct ptx_module *module, const struct ptx_node *insn);
/* Returns the symbol that a token names, or NULL. ptx_symbols_find_at() returns NULL also where a declaration in the
 * function hides it. */
struct ptx_symbol *ptx_symbols_find(const struct ptx_symbols *symbols, uint32_t token);
struct ptx_symbol *ptx_symbols_find_at(const struct ptx_symbols *symbols, uint32_t node, uint32_t token);
struct ptx_symbol *ptx_symbols_find_name(const struct ptx_symbols *symbols, const char *name, size_t size);

#endif
