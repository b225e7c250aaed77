/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses PTX without loss: nodes refer to tokens, tokens refer to the text, and printing the tree returns the same
 * bytes. The parser covers the statements of PTX ISA 9.0 (chapters 4, 5, 7, 10, 11) as nvcc, NVRTC, Triton and
 * hand-written programs use them. It does not parse instruction operands; they stay tokens. The input is not trusted.
 * Every error names a line, and the parser reads nothing past the text.
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
	uint32_t off, len; /* position in the text; only blanks and comments lie between tokens */
	uint32_t line;     /* from 1 */
	uint8_t kind;      /* enum ptx_token_kind */
};

enum ptx_node_kind {
	PTX_MODULE,    /* the root; its children are all top-level statements */
	PTX_DIRECTIVE, /* .version .target .address_size .file .alias .pragma ...; also .loc in a body */
	PTX_SECTION,   /* .section name { ... }: debug information */
	PTX_VARIABLE,  /* a declaration in any state space, at top level or in a body */
	PTX_FUNCTION,  /* .entry or .func. Children: parameters, then the body, which a declaration lacks. */
	PTX_PARAM,     /* one parameter, or one result of a .func (`result`) */
	PTX_BLOCK,     /* { ... }; children: statements */
	PTX_LABEL,     /* name: */
	PTX_INSN,      /* [@[!]p] opcode.modifiers operands ; */
	PTX_MARK,      /* the instruction mov.b64 PTX_MARK_PREFIX NAME, value, as include/gpubpf/mark.h writes it */
};

#define PTX_NONE UINT32_MAX
#define PTX_MARK_PREFIX "gpubpf_mark_"

struct ptx_node {
	uint8_t kind;        /* enum ptx_node_kind */
	bool entry;          /* FUNCTION: .entry */
	bool result;         /* PARAM: it is in the list of results */
	uint32_t first, end; /* tokens [first, end) of the whole node */
	/* token of the name: label, function, first variable, parameter or opcode; or PTX_NONE */
	uint32_t name;
	uint32_t guard; /* INSN: token of the predicate register, or PTX_NONE if there is no predicate */
	/* INSN: first token after the opcode and its modifiers. MARK: first token of the value. */
	uint32_t operands;
	uint32_t parent, child, next; /* indices of nodes, or PTX_NONE */
	/* LABEL: the next node in the same hash slot of the module's labels, or PTX_NONE */
	uint32_t in_slot;
};

struct ptx_module {
	const char *text; /* the caller owns it; it need not end with a NUL */
	size_t size;
	struct ptx_token *tokens; /* the last token has the kind PTX_END */
	uint32_t ntokens;
	struct ptx_node *nodes; /* [0] is the module */
	uint32_t nnodes;
	/* hash table of label nodes (scope.h): each slot has the first label whose name hashes to it */
	uint32_t *labels;
	uint32_t nslots; /* number of slots, a power of two; 0 if the module has no labels */
};

/* Parses a module. Returns 0, -ENOMEM, or -EINVAL and a diagnostic with the line. The text must outlive the module. */
int ptx_parse(const char *text, size_t size, struct ptx_module *module, struct gpubpf_diag *diag);
void ptx_finish(struct ptx_module *module);

/* An edit that ptx_print() applies while it prints the tree. The printed text is malloc'd and not NUL-terminated. */
enum ptx_edit_kind {
	PTX_INSERT,  /* insert text before token `first`, and before the blanks that precede this token */
	PTX_REPLACE, /* replace tokens [first, end) by text */
};
struct ptx_edit {
	uint8_t kind;        /* enum ptx_edit_kind */
	uint32_t first, end; /* tokens */
	const char *text;
	size_t size;
};
/* Prints the module with edits applied. Edits must not overlap; edits at the same token apply in array order. */
int ptx_print(const struct ptx_module *module, const struct ptx_edit *edits, size_t nedits, char **text, size_t *size);

/* Returns the address of a token's text, which is not NUL-terminated. */
static inline const char *ptx_token_text(const struct ptx_module *m, uint32_t token)
{
	return m->text + m->tokens[token].off;
}
bool ptx_token_is(const struct ptx_module *m, uint32_t token, const char *text);
/* Returns true if `name` is the token's short name (core/wire/name.h). */
bool ptx_token_named(const struct ptx_module *m, uint32_t token, const char *name);
/*
 * Returns a function with that short name: its first definition, or else its first declaration. Returns PTX_NONE if
 * there is neither.
 */
uint32_t ptx_find_function(const struct ptx_module *m, const char *name);
/* Returns the i-th child of that kind, or PTX_NONE if there are at most i. */
uint32_t ptx_child(const struct ptx_module *m, uint32_t node, enum ptx_node_kind kind, uint32_t i);

/* Returns the version that a .version directive states, 804 for ".version 8.4". */
uint32_t ptx_directive_version(const struct ptx_module *module, const struct ptx_node *directive);
/*
 * A text may consist of several linked modules, each with its own directives. The function cuda_ptx_version() returns
 * the highest PTX ISA version that they state, 804 for ".version 8.4". The function cuda_ptx_target() returns the token
 * of the newest architecture, or PTX_NONE if the text states none.
 */
uint32_t cuda_ptx_version(const struct ptx_module *module);
uint32_t cuda_ptx_target(const struct ptx_module *module);

#endif
