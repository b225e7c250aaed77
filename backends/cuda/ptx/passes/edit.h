/* SPDX-License-Identifier: Apache-2.0 */
/* Private to splice.c and its parts: the state of a twin while edits are collected. Once in->err is set, functions add
 * no edits. */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_EDIT_H
#define GPUBPF_BACKENDS_CUDA_PTX_EDIT_H

#include "core/model/diag.h"
#include "core/target.h"
#include "backends/cuda/ptx/analysis/places.h"
#include "backends/cuda/ptx/ir/symbols.h"
#include "splice.h"

struct ptx_text {
	char *data;
	size_t size, room;
};

struct ptx_splice {
	const struct ptx_module *m;
	struct ptx_symbols symbols;
	const char *kernel;
	uint32_t kernel_node;
	const struct cuda_probe *probes; /* indexed by the job's sites */
	struct gpubpf_inserting at;
	struct gpubpf_diag *diag;
	uint32_t nbindings, exits, probed_exits, labels, version; /* counts so far; version: highest PTX ISA version
								   * that the twin needs */
	struct ptx_site { /* a place of the function under edit, and its probe (NULL: none) */
		struct ptx_place place;
		const struct cuda_probe *probe;
		uint32_t acc_index;      /* number of the place's own accumulators (CUDA_ACC_MODE 1), or PTX_NONE */
		uint32_t first_acc_lane; /* first of the lanes that accumulate the place's adds for their warp
					  * (CUDA_ACC_MODE 2), or PTX_NONE */
		/* OWN: the place reads CUDA_ACTIVE for its probe only. READ: it reads it for itself and the next
		 * places. SHARED: an earlier place has read it */
		enum { PTX_ACTIVE_OWN, PTX_ACTIVE_READ, PTX_ACTIVE_SHARED } active_mask;
		uint32_t sunk_to; /* if the probe runs after an instruction: the place's, or a later one that
				      * sink_probes.c selected */
	} *placed;
	uint32_t nplaced, next;                 /* next: index of the first place that has not been edited */
	uint32_t open_run_first, open_run_last; /* the latest run of loads: its first instruction with a sunk probe, and
						 * the load after which the pass emits the probe */
	struct cuda_sum sums[CUDA_MAX_ACCS]; /* accumulators of values at fixed offsets, which the function's probes use */
	uint32_t nsums, nkeyed;              /* nkeyed: places with their own accumulators */
	struct cuda_sum lane_accs[CUDA_MAX_ACC_OFFSETS]; /* keys of the accumulators that lanes hold for their warp
							  * (CUDA_ACC_MODE 2) */
	uint32_t nlane_accs;
	/* maps for which the function's top computes CUDA_MAP_BASE */
	uint32_t map_bases[CUDA_MAX_ACCS + CUDA_MAX_ACC_OFFSETS + CUDA_MAX_MAP_BASES], nmap_bases;
	bool copies_result; /* a probe of the function reads its return value */
	/* the function's instruction probes need: CUDA_SM, CUDA_LANE, CUDA_ACTIVE, the predicate of
	 * ptx_declare_opaque_false() */
	bool reads_sm, reads_lane, reads_active_mask, needs_opaque_false;
	uint32_t isspacep_global_token; /* token of an isspacep.global; 0: none */
	uint32_t shared_size_token;     /* token of a special register that holds the size of shared memory; 0: none */
	bool flat;              /* the form for one-dimensional launches is under construction; it shares the other
				  * form's functions */
	bool counts_exits;      /* a probe runs at block end, in the last lane by the counter of lanes */
	bool syncs_before_exit; /* a probe runs at block end, in the first lane after a barrier of all lanes */
	bool has_ctaid;         /* all axes of CUDA_CTAID are set: an earlier probe read them, or the launch is
				  * one-dimensional */
	bool has_extern_shared; /* the kernel uses shared memory whose size the launch sets */
	struct ptx_edit *edits; /* their texts are malloc'd */
	size_t nedits, room;
	int err;
};

/* edit.c */
void ptx_refuse(struct ptx_splice *in, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ptx_add(struct ptx_text *text, int *err, const char *data, size_t n);
void ptx_addf(struct ptx_text *text, int *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Queues an edit and takes ownership of the text. */
void ptx_edit(struct ptx_splice *in, enum ptx_edit_kind kind, uint32_t first, uint32_t end, struct ptx_text text);
bool ptx_word_is(const struct ptx_splice *in, uint32_t token, const char *word);
bool ptx_has_modifier(const struct ptx_splice *in, const struct ptx_node *insn, const char *modifier);

/* reconverge.c */
/* Adds the probe as a block. */
void ptx_add_probe(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe);
/* Adds a probe after which the lanes continue in the function. */
void ptx_add_converged(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe);
/* Opens a block at whose end the lanes that entered together are converged again, whatever the probe does. Returns a
 * number for ptx_end_reconverge(). */
uint32_t ptx_begin_reconverge(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe);
void ptx_end_reconverge(struct ptx_splice *in, struct ptx_text *text, uint32_t meeting);
/* Returns true if lanes may diverge in the probe and continue after it. The code of ptx_begin_reconverge() then uses
 * the predicate that ptx_declare_opaque_false() declares. For probes at single instructions it is declared once, at the
 * function's top. */
bool ptx_needs_reconvergence(const struct cuda_probe *probe);
void ptx_declare_opaque_false(struct ptx_splice *in, struct ptx_text *text);
/* Refuses a probe that reads arguments if, at that node, a block redeclares the name of a parameter of the function. */
void ptx_check_params(struct ptx_splice *in, const struct cuda_probe *probe, uint32_t function, uint32_t node);

/* place_probes.c: ptx_requested_kinds() returns the kinds of the job's sites, GPUBPF_SITE_BIT. The function
 * ptx_find_probes() finds the places of a function and the probes that run there. */
uint32_t ptx_requested_kinds(const struct ptx_splice *in);
void ptx_find_probes(struct ptx_splice *in, uint32_t function);
/* edit_function.c: edits a function of the twin. `function` is one of its nodes, perhaps a declaration; symbol->node is
 * its definition. */
void ptx_edit_function(struct ptx_splice *in, const struct ptx_symbol *symbol, uint32_t function);

/* accumulators.c: ptx_assign_accumulators() selects accumulators for the probes in a function. The others emit code:
 * `begin` at the function's top, `flush` at each exit, `load` before and `store` after a probe. */
void ptx_assign_accumulators(struct ptx_splice *in, uint32_t function);
bool ptx_has_accumulators(const struct ptx_splice *in);
void ptx_begin_accumulators(struct ptx_splice *in, struct ptx_text *text);
void ptx_flush_accumulators(struct ptx_splice *in, struct ptx_text *text);
void ptx_load_accumulators(struct ptx_splice *in, struct ptx_text *text, const struct ptx_site *at);
void ptx_store_accumulators(struct ptx_splice *in, struct ptx_text *text, const struct ptx_site *at);
/* block_probes.c: returns true if the kernel has few instructions. */
bool ptx_is_short(const struct ptx_splice *in);
/* Returns true if all lanes of a block can wait at a barrier before they exit, so that no counter of lanes is needed. */
bool ptx_can_sync_before_exit(struct ptx_splice *in);
/* Returns true if the place is a branch to another place at which blocks end. */
bool ptx_is_branch_to_exit(const struct ptx_place *place);
/* The counter of a block's lanes that have not left, in shared memory. The first function declares it, the second sets
 * it at the kernel's top. */
void ptx_declare_lane_count(struct ptx_splice *in, struct ptx_text *text);
void ptx_init_lane_count(struct ptx_splice *in, struct ptx_text *text);
/* Emits code at the kernel's top, before that of ptx_init_lane_count(): it computes the values that the block probes
 * read. */
void ptx_begin_block_probes(struct ptx_splice *in, struct ptx_text *text);
/* Adds a probe that the first lane of a block runs. */
void ptx_emit_first_lane(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe);
/* Adds a block-end probe, which one lane runs. All lanes that leave execute this code. */
void ptx_emit_last_lane(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe);
/* closure.c: marks the symbols that the kernel needs, counts the bindings, and sets in->kernel_node. */
void ptx_find_closure(struct ptx_splice *in);
/* result.c: copies the return value if a probe reads it. ptx_check_result() refuses functions that return in registers,
 * ptx_copy_result() edits each node. */
void ptx_check_result(struct ptx_splice *in, uint32_t function);
void ptx_copy_result(struct ptx_splice *in, uint32_t function, uint32_t node);
/* header.c: edits a directive at the module's top. Returns false if the twin does not keep it. */
bool ptx_edit_directive(struct ptx_splice *in, const struct ptx_node *node);

#endif
