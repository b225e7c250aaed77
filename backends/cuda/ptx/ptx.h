/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of PTX, lossless: the tree refers to tokens, the tokens to the text, and printing the tree
 * gives the text back byte for byte. Covers the PTX ISA 9.0 as nvcc, NVRTC, Triton and hand-written
 * programs use it (statement grammar, PTX ISA chapters 4, 5, 7, 10, 11); instruction operands are kept
 * as tokens. Input is not trusted: every error has a line, nothing is read past the text.
 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_PTX_H
#define GPUBPF_BACKENDS_CUDA_PTX_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpubpf_diag;

enum ptx_token_kind {
	PTX_WORD,    /* identifier, register, opcode: foo %r1 $L__BB0_1 */
	PTX_DOT,     /* .word: directive or modifier, with any ::parts */
	PTX_NUMBER,
	PTX_STRING,
	PTX_PUNCT,   /* one character */
	PTX_END,
};

struct ptx_token {
	uint32_t off, len;   /* in the text; what lies between tokens is blank or comment */
	uint32_t line;       /* from 1 */
	uint8_t kind;        /* enum ptx_token_kind */
};

enum ptx_node_kind {
	PTX_MODULE,          /* children: everything at top level */
	PTX_DIRECTIVE,       /* .version .target .address_size .file .alias .pragma ...; in bodies .loc too */
	PTX_SECTION,         /* .section name { ... }: debug information */
	PTX_VARIABLE,        /* a declaration in any state space, at top level or in a body */
	PTX_FUNCTION,        /* .entry or .func; children: parameters, then its body (none: a declaration) */
	PTX_PARAM,           /* one parameter; `result` in a .func's return list */
	PTX_BLOCK,           /* { ... }; children: statements */
	PTX_LABEL,           /* name: */
	PTX_INSN,            /* [@[!]p] opcode.modifiers operands ; */
	PTX_MARK,            /* mov.b64 PTX_MARK_PREFIX NAME, value; as include/gpubpf/mark.h writes it: name, value */
};

#define PTX_NONE UINT32_MAX
#define PTX_MARK_PREFIX "gpubpf_mark_"

struct ptx_node {
	uint8_t kind;        /* enum ptx_node_kind */
	bool entry;          /* FUNCTION: .entry */
	bool result;         /* PARAM: of the return list */
	uint32_t first, end; /* tokens [first, end) of the whole node */
	uint32_t name;       /* token: label, function, (first) variable, parameter, opcode; PTX_NONE */
	uint32_t guard;      /* INSN: token of the predicate's name, PTX_NONE if unguarded */
	uint32_t operands;   /* INSN: first token after opcode and modifiers; MARK: of its value */
	uint32_t parent, child, next; /* nodes, PTX_NONE: none */
	uint32_t in_slot;    /* LABEL: the next node in its slot of the module's labels, likewise */
};

struct ptx_module {
	const char *text;    /* the caller's, not necessarily NUL-terminated */
	size_t size;
	struct ptx_token *tokens; /* the last one is PTX_END */
	uint32_t ntokens;
	struct ptx_node *nodes;   /* [0] is the module */
	uint32_t nnodes;
	uint32_t *labels;         /* slots, a power of two, by the hash of a name: the first node of it (scope.h) */
	uint32_t nslots;          /* 0: there are no labels */
};

/* Parse; -EINVAL with the line in diag, -ENOMEM. The text must outlive the module. */
int ptx_parse(const char *text, size_t size, struct ptx_module *module, struct gpubpf_diag *diag);
void ptx_finish(struct ptx_module *module);

/* Print the tree as text, malloc'd, not terminated: what was parsed, with the edits applied. */
enum ptx_edit_kind {
	PTX_INSERT,          /* text before token `first` (and before what precedes it on its line) */
	PTX_REPLACE,         /* tokens [first, end) by text */
};
struct ptx_edit {
	uint8_t kind;        /* enum ptx_edit_kind */
	uint32_t first, end; /* tokens */
	const char *text;
	size_t size;
};
/* Edits must not overlap; at one place they apply in the order given. */
int ptx_print(const struct ptx_module *module, const struct ptx_edit *edits, size_t nedits, char **text,
	      size_t *size);

/* Text of a token as a slice, and comparison with a C string. */
static inline const char *ptx_token_text(const struct ptx_module *m, uint32_t token)
{
	return m->text + m->tokens[token].off;
}
bool ptx_token_is(const struct ptx_module *m, uint32_t token, const char *text);
/* Is that its short name (core/wire/name.h)? */
bool ptx_token_named(const struct ptx_module *m, uint32_t token, const char *name);
/* The first function of that short name (a definition before a declaration), PTX_NONE if there is none. */
uint32_t ptx_find_function(const struct ptx_module *m, const char *name);
/* The i-th child of that kind, PTX_NONE past the end. */
uint32_t ptx_child(const struct ptx_module *m, uint32_t node, enum ptx_node_kind kind, uint32_t i);

#endif
