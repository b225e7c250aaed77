/* SPDX-License-Identifier: Apache-2.0 */
/* The names at a PTX module's top level, and which of them a kernel needs. */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_SYMBOLS_H
#define GPUBPF_BACKENDS_CUDA_PTX_SYMBOLS_H

#include "ptx.h"
#include "scope.h"

struct ptx_symbol {
	uint32_t node, name;     /* its definition (else a declaration), and the token of its name */
	bool function, defined;
	bool weak, visible;      /* its linkage; a definition without is its module's own */
	bool twice;              /* modules that were linked both define it, and which one is meant is not clear */
	bool hidden;             /* a function declares the name too */
	bool needed;             /* by the kernel */
	bool shared;             /* a variable in .shared: the twin declares its own */
	bool constant;           /* a variable in .const */
	bool handle;             /* .texref, .samplerref, .surfref: bound by name to the module */
	uint32_t binding;        /* other variables: number of the address, once needed */
};

struct ptx_symbols {
	const struct ptx_module *module;
	struct ptx_symbol *symbols; /* sorted by name, one each */
	uint32_t n;
};

int ptx_symbols_init(struct ptx_symbols *symbols, const struct ptx_module *module);
void ptx_symbols_finish(struct ptx_symbols *symbols);
/* The token that a call instruction calls (PTX ISA 9.7.12.4). */
uint32_t ptx_callee(const struct ptx_module *module, const struct ptx_node *insn);
/* The symbol that a token names, NULL if none; and one in that node, where the name may be a function's own. */
struct ptx_symbol *ptx_symbols_find(const struct ptx_symbols *symbols, uint32_t token);
struct ptx_symbol *ptx_symbols_find_at(const struct ptx_symbols *symbols, uint32_t node, uint32_t token);
struct ptx_symbol *ptx_symbols_find_name(const struct ptx_symbols *symbols, const char *name, size_t size);

#endif
