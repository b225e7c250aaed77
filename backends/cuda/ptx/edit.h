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
	uint32_t nbindings, exits, probed_exits, labels, version;
	struct ptx_placed {          /* the places of the function that is being edited, and their probes; NULL: none */
		struct ptx_place place;
		const struct cuda_probe *probe;
		uint32_t keeps;      /* number of what it keeps in the function, PTX_NONE: nothing */
		uint32_t keeper;     /* the first of the lanes that keep what is added there, likewise */
		enum { PTX_ALONE, PTX_FIRST, PTX_AS_BEFORE } came; /* whose lanes CUDA_CAME are: its own, or of several places, which it begins */
		uint32_t behind;     /* the instruction behind which the probe runs, if it runs behind one: the place's, or late.c's */
	} *placed;
	uint32_t nplaced, next;  /* next: the first that has not been edited */
	uint32_t since, until;   /* the last run of loads behind which probes wait: its first and its last instruction */
	struct cuda_sum sums[CUDA_MAX_SUMS]; /* that its probes keep */
	uint32_t nsums, nkeeps;
	struct cuda_sum held[CUDA_MAX_KEYS]; /* keys of what lanes keep for their warps */
	uint32_t nheld;
	uint32_t maps[CUDA_MAX_SUMS + CUDA_MAX_KEYS + CUDA_MAX_FIRSTS], nmaps; /* of what is kept, and looked up */
	bool keeps_result;       /* a probe of it reads what it returns */
	bool reads_sm, reads_lane, asks_came, meets_often; /* of its probes at instructions: CUDA_SM, CUDA_LANE, CUDA_CAME, NOBODY (splice.c) */
	uint32_t asks_global;    /* token of an isspacep.global; 0: none */
	uint32_t asks_shared;    /* token of what says how much there is; 0: none */
	bool flat;               /* the kernel for launches of one dimension is made, with the other's functions */
	bool counts_lanes;       /* a probe stands where the last lane of a block leaves, */
	bool meets;              /* and all of a block's wait for each other there instead */
	bool has_ctaid;          /* CUDA_CTAID need not be read: a probe before has, or there is one axis alone */
	bool extern_shared;      /* it uses shared memory of a launch's size */
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

/* A probe that reads arguments names the parameters of its function: refuse where at that node their names mean others. */
void ptx_check_params(struct ptx_splice *in, const struct cuda_probe *probe, uint32_t function, uint32_t node);
/* Is the kernel one of few instructions? */
bool ptx_is_short(const struct ptx_splice *in);
/* A block that lanes leave as they came, together, whatever the probe does in it; a number for its end. */
uint32_t ptx_begin_meeting(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe);
void ptx_end_meeting(struct ptx_splice *in, struct ptx_text *text, uint32_t meeting);
/* The probe as a block. */
void ptx_add_probe(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe);

/* sums.c: what the probes that are placed in a function keep; where it begins, and where it is left; around a probe. */
void ptx_note_sums(struct ptx_splice *in, uint32_t function);
bool ptx_keeps(const struct ptx_splice *in);
void ptx_begin_sums(struct ptx_splice *in, struct ptx_text *text);
void ptx_end_sums(struct ptx_splice *in, struct ptx_text *text);
void ptx_begin_keys(struct ptx_splice *in, struct ptx_text *text, const struct ptx_placed *at);
void ptx_end_keys(struct ptx_splice *in, struct ptx_text *text, const struct ptx_placed *at);
/* leave.c: may the lanes of a block, instead of being counted, wait for each other where they leave? */
bool ptx_may_meet(struct ptx_splice *in);
/* Of the places where blocks end, is it one from which lanes jump to another one? */
bool ptx_jumps(const struct ptx_place *place);
/* The lanes of a block that have not left, in shared memory. Where it is declared; set at the kernel's top; */
void ptx_add_lanes(struct ptx_splice *in, struct ptx_text *text);
void ptx_begin_lanes(struct ptx_splice *in, struct ptx_text *text);
/* At the kernel's top, before those: what the probes of the block's lanes ask for. */
void ptx_begin_blocks(struct ptx_splice *in, struct ptx_text *text);
/* a probe that the first lane of a block runs, */
void ptx_add_first(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe);
/* and one that the last which leaves runs; all that leave pass it. */
void ptx_add_last(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe);
/* closure.c: mark what the kernel needs of its module, count the bindings, and set in->kernel_node. */
void ptx_find_closure(struct ptx_splice *in);
/* result.c: keep what a function returns where its probe reads it: does the function return so; and at each node. */
void ptx_check_result(struct ptx_splice *in, uint32_t function);
void ptx_keep_result(struct ptx_splice *in, uint32_t function, uint32_t node);
/* header.c: a directive of the module's top; false: the twin does not have it. */
bool ptx_edit_directive(struct ptx_splice *in, const struct ptx_node *node);

#endif
