/* SPDX-License-Identifier: Apache-2.0 */
/* Private to splice.c and its parts: a twin while its edits are gathered. Each part does nothing once in->err is set. */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_EDIT_H
#define GPUBPF_BACKENDS_CUDA_PTX_EDIT_H

#include "core/diag.h"
#include "core/target.h"
#include "places.h"
#include "splice.h"
#include "symbols.h"

struct ptx_text {
	char *data;
	size_t size, room;
};

struct ptx_splice {
	const struct ptx_module *m;
	struct ptx_symbols symbols;
	const char *kernel;
	uint32_t kernel_node;
	const struct cuda_probe *probes; /* by the job's sites */
	struct gpubpf_inserting at;
	struct gpubpf_diag *diag;
	uint32_t nbindings, exits, labels, version;
	struct ptx_placed {          /* the places of the function that is being edited, and their probes; NULL: none */
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

/* edit.c */
void ptx_refuse(struct ptx_splice *in, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ptx_add(struct ptx_text *text, int *err, const char *data, size_t n);
void ptx_addf(struct ptx_text *text, int *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Queue an edit; it takes the text over. */
void ptx_edit(struct ptx_splice *in, enum ptx_edit_kind kind, uint32_t first, uint32_t end, struct ptx_text text);
bool ptx_word_is(const struct ptx_splice *in, uint32_t token, const char *word);
bool ptx_has_modifier(const struct ptx_splice *in, const struct ptx_node *insn, const char *modifier);

/* closure.c: mark what the kernel needs of its module, count the bindings, and set in->kernel_node. */
void ptx_find_closure(struct ptx_splice *in);
/* result.c: keep what a function returns where its probe reads it: does the function return so; and at each node. */
void ptx_check_result(struct ptx_splice *in, uint32_t function);
void ptx_keep_result(struct ptx_splice *in, uint32_t function, uint32_t node);
/* header.c: a directive of the module's top; false: the twin does not have it. */
bool ptx_edit_directive(struct ptx_splice *in, const struct ptx_node *node);

#endif
