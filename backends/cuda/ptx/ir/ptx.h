/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: parses PTX without loss. Nodes refer to tokens, tokens refer to the text, and printing the tree returns the
 * text byte for byte.
 * Covers the PTX ISA 9.0 as nvcc, NVRTC, Triton and hand-written programs use it (statement grammar, PTX ISA chapters
 * 4, 5, 7, 10, 11). Instruction operands stay tokens.
 * Input is not trusted: every error names a line, and the parser reads nothing past the text.
 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_PTX_H
#define GPUBPF_BACKENDS_CUDA_PTX_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpubpf_diag;

enum ptx_token_kind {
	PTX_WORD, /* identifier, register, opcode: foo %r1 $L__BB0_1 */
	PTX_DOT,  /* .word: directive or modifier, with any ::parts */
	PTX_NUMBER,
	PTX_STRING,
	PTX_PUNCT, /* one character */
	PTX_END,
};

struct ptx_token {
	uint32_t off, len; /* in the text; only blanks and comments lie between tokens */
	uint32_t line;     /* from 1 */
	uint8_t kind;      /* enum ptx_token_kind */
};

enum ptx_node_kind {
	PTX_MODULE,    /* children: everything at top level */
	PTX_DIRECTIVE, /* .version .target .address_size .file .alias .pragma ...; in bodies .loc too */
	PTX_SECTION,   /* .section name { ... }: debug information */
	PTX_VARIABLE,  /* a declaration in any state space, at top level or in a body */
	PTX_FUNCTION,  /* .entry or .func; children: parameters, then its body (none: a declaration) */
	PTX_PARAM,     /* one parameter; `result` in a .func's return list */
	PTX_BLOCK,     /* { ... }; children: statements */
	PTX_LABEL,     /* name: */
	PTX_INSN,      /* [@[!]p] opcode.modifiers operands ; */
	PTX_MARK,      /* mov.b64 PTX_MARK_PREFIX NAME, value; as include/gpubpf/mark.h writes it: name, value */
};

#define PTX_NONE UINT32_MAX
#define PTX_MARK_PREFIX "gpubpf_mark_"

struct ptx_node {
	uint8_t kind;                 /* enum ptx_node_kind */
	bool entry;                   /* FUNCTION: .entry */
	bool result;                  /* PARAM: of the return list */
	uint32_t first, end;          /* tokens [first, end) of the whole node */
	uint32_t name;                /* token: label, function, (first) variable, parameter, opcode; PTX_NONE */
	uint32_t guard;               /* INSN: token of the predicate's name, PTX_NONE if unguarded */
	uint32_t operands;            /* INSN: first token after opcode and modifiers; MARK: of its value */
	uint32_t parent, child, next; /* nodes, or PTX_NONE */
	uint32_t in_slot;             /* LABEL: the next node in the same slot of the module's labels, or PTX_NONE */
};

struct ptx_module {
	const char *text; /* owned by the caller, not necessarily NUL-terminated */
	size_t size;
	struct ptx_token *tokens; /* the last one is PTX_END */
	uint32_t ntokens;
	struct ptx_node *nodes; /* [0] is the module */
	uint32_t nnodes;
	uint32_t *labels; /* hash slots, a power of two; each holds the first label node whose name hashes to it
				   * (scope.h) */
	uint32_t nslots;  /* 0: the module has no labels */
};

/* Parses a module. Returns 0, -EINVAL with the line in diag, or -ENOMEM. The text must outlive the module. */
int ptx_parse(const char *text, size_t size, struct ptx_module *module, struct gpubpf_diag *diag);
void ptx_finish(struct ptx_module *module);

/* An edit that ptx_print() applies while it prints the tree. The printed text is malloc'd and not NUL-terminated. */
enum ptx_edit_kind {
	PTX_INSERT,  /* insert text before token `first` and before the blanks that precede it */
	PTX_REPLACE, /* replace tokens [first, end) by text */
};
struct ptx_edit {
	uint8_t kind;        /* enum ptx_edit_kind */
	uint32_t first, end; /* tokens */
	const char *text;
	size_t size;
};
/* Edits must not overlap. Edits at one token apply in array order. */
int ptx_print(const struct ptx_module *module, const struct ptx_edit *edits, size_t nedits, char **text, size_t *size);

/* Returns where a token's text begins; it is not NUL-terminated. */
static inline const char *ptx_token_text(const struct ptx_module *m, uint32_t token)
{
	return m->text + m->tokens[token].off;
}
bool ptx_token_is(const struct ptx_module *m, uint32_t token, const char *text);
/* Returns true if `name` is the token's short name (core/wire/name.h). */
bool ptx_token_named(const struct ptx_module *m, uint32_t token, const char *name);
/* Returns the first function with that short name; a definition wins over a declaration. PTX_NONE: there is none. */
uint32_t ptx_find_function(const struct ptx_module *m, const char *name);
/* Returns the i-th child of that kind, or PTX_NONE past the end. */
uint32_t ptx_child(const struct ptx_module *m, uint32_t node, enum ptx_node_kind kind, uint32_t i);

/* Returns the version that a .version directive states, 804 for ".version 8.4". */
uint32_t ptx_directive_version(const struct ptx_module *module, const struct ptx_node *directive);
/*
 * A module may be the concatenated text of several linked modules. The function cuda_ptx_version() returns the highest
 * PTX ISA version, 804 for ".version 8.4". The function cuda_ptx_target() returns the token of the latest architecture,
 * or PTX_NONE if the module states none.
 */
uint32_t cuda_ptx_version(const struct ptx_module *module);
uint32_t cuda_ptx_target(const struct ptx_module *module);

#endif
