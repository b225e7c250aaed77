/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declares the state of a twin while the passes collect edits of its PTX, and the functions that splice.c and the
 * passes share. Once in->err is set, these functions add no edits.
 */
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
	const struct cuda_probe *probes; /* [site of the job] */
	struct gpubpf_inserting at;
	struct gpubpf_diag *diag;
	/* counts so far, and in `version` the highest PTX ISA version that the twin needs */
	uint32_t nbindings, exits, probed_exits, labels, version;
	struct ptx_site { /* a place of the function being edited, and its probe (NULL: no probe) */
		struct ptx_place place;
		const struct cuda_probe *probe;
		uint32_t acc_index; /* index of the place's own accumulators (CUDA_ACC_MODE 1), or PTX_NONE */
		/*
		 * CUDA_ACC_MODE 2: lane that accumulates the place's first add for the warp; the next lanes accumulate
		 * its other adds. Else PTX_NONE.
		 */
		uint32_t first_acc_lane;
		/*
		 * How the place gets CUDA_ACTIVE. OWN: reads it for its own probe only. READ: reads it for its own
		 * probe and for the next places. SHARED: uses the value that an earlier place read.
		 */
		enum { PTX_ACTIVE_OWN, PTX_ACTIVE_READ, PTX_ACTIVE_SHARED } active_mask;
		/*
		 * instruction after which a probe of kind "after" runs: the place's, or a later one that sink_probes.c
		 * chose
		 */
		uint32_t sunk_to;
	} *placed;
	uint32_t nplaced, next; /* number of places; index of the first place that is not edited yet */
	/*
	 * The latest run of loads whose probes are sunk. The run starts at the first load with such a probe. It ends at
	 * the load after which all these probes are emitted.
	 */
	uint32_t open_run_first, open_run_last;
	/* accumulators for map values at fixed offsets, of all probes of the function */
	struct gpubpf_acc_register sums[GPUBPF_MAX_SUMS];
	/* nkeyed: number of places that have their own accumulators */
	uint32_t nsums, nkeyed;
	/* accumulators of CUDA_ACC_MODE 2, in which each lane sums one add for its warp */
	struct gpubpf_acc_register lane_accs[GPUBPF_MAX_KEYS];
	uint32_t nlane_accs;
	/* maps whose CUDA_MAP_BASE the function computes at its top */
	uint32_t map_bases[GPUBPF_MAX_SUMS + GPUBPF_MAX_KEYS + GPUBPF_MAX_MAP_BASES], nmap_bases;
	bool copies_result; /* a probe of the function reads its return value */
	/*
	 * needs of the function's instruction probes: CUDA_SM, CUDA_LANE, CUDA_ACTIVE, and the predicate of
	 * ptx_declare_opaque_false()
	 */
	bool reads_sm, reads_lane, reads_active_mask, needs_opaque_false;
	uint32_t isspacep_global_token; /* token of an isspacep.global instruction, or 0 */
	uint32_t shared_size_token;     /* token of a special register that holds the size of shared memory, or 0 */
	/*
	 * true while the kernel's second variant, for one-dimensional launches, is built; it calls the functions of the
	 * first variant
	 */
	bool flat;
	/* the last lane of a block that exits runs the block-end probe; a word in shared memory counts the lanes */
	bool counts_exits;
	bool syncs_before_exit; /* the first lane of a block runs the block-end probe, after a barrier of all lanes */
	/* CUDA_CTAID has the values of all axes, because an earlier probe read them or the launch is one-dimensional */
	bool has_ctaid;
	bool has_extern_shared; /* the kernel uses shared memory whose size the launch sets */
	struct ptx_edit *edits; /* array of edits; the text of each is malloc'd */
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
/* Adds the probe's text as a { } block. */
void ptx_add_probe(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe);
/* Adds a probe and converges the lanes after it, because they continue in the function. */
void ptx_add_converged(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe);
/*
 * Opens a { } block for a probe. At the block's end, the lanes that entered it together are converged again, even if
 * they diverge in the probe. Returns a number for ptx_end_reconverge().
 */
uint32_t ptx_begin_reconverge(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe);
void ptx_end_reconverge(struct ptx_splice *in, struct ptx_text *text, uint32_t meeting);
/*
 * Returns true if lanes may diverge in the probe and then continue. If so, ptx_begin_reconverge() uses the predicate
 * that ptx_declare_opaque_false() declares. For instruction probes the predicate is declared once, at the function's
 * top.
 */
bool ptx_needs_reconvergence(const struct cuda_probe *probe);
void ptx_declare_opaque_false(struct ptx_splice *in, struct ptx_text *text);
/*
 * Refuses a probe that reads arguments if a block around `node` redeclares the name of one of the function's
 * parameters.
 */
void ptx_check_params(struct ptx_splice *in, const struct cuda_probe *probe, uint32_t function, uint32_t node);

/*
 * place_probes.c: ptx_requested_kinds() returns the kinds of the job's sites as bits GPUBPF_SITE_BIT. The function
 * ptx_find_probes() finds a function's places and the probe that runs at each.
 */
uint32_t ptx_requested_kinds(const struct ptx_splice *in);
void ptx_find_probes(struct ptx_splice *in, uint32_t function);
/*
 * edit_function.c: edits one node of a function of the twin. `function` is the node, which may be a declaration;
 * symbol->node is the definition.
 */
void ptx_edit_function(struct ptx_splice *in, const struct ptx_symbol *symbol, uint32_t function);

/*
 * accumulators.c: ptx_assign_accumulators() chooses accumulators for the probes of a function. The function
 * ptx_begin_accumulators() emits code at the function's top, and ptx_flush_accumulators() at each exit. The function
 * ptx_load_accumulators() emits code before a probe, and ptx_store_accumulators() after it.
 */
void ptx_assign_accumulators(struct ptx_splice *in, uint32_t function);
bool ptx_has_accumulators(const struct ptx_splice *in);
void ptx_begin_accumulators(struct ptx_splice *in, struct ptx_text *text);
void ptx_flush_accumulators(struct ptx_splice *in, struct ptx_text *text);
void ptx_load_accumulators(struct ptx_splice *in, struct ptx_text *text, const struct ptx_site *at);
void ptx_store_accumulators(struct ptx_splice *in, struct ptx_text *text, const struct ptx_site *at);
/* block_probes.c: returns true if the kernel has at most MAX_SHORT_INSNS instructions. */
bool ptx_is_short(const struct ptx_splice *in);
/*
 * Returns true if all lanes of a block can synchronize at a barrier before they exit. Then no word in shared memory has
 * to count lanes.
 */
bool ptx_can_sync_before_exit(struct ptx_splice *in);
/* Returns true if the place is a branch to an exit, which is itself a block-end place. */
bool ptx_is_branch_to_exit(const struct ptx_place *place);
/*
 * Declare the word in shared memory that counts the lanes of a block that have not exited, and set this word at the
 * kernel's top.
 */
void ptx_declare_lane_count(struct ptx_splice *in, struct ptx_text *text);
void ptx_init_lane_count(struct ptx_splice *in, struct ptx_text *text);
/*
 * Emits code at the kernel's top that computes the registers which block probes read. It must precede
 * ptx_init_lane_count().
 */
void ptx_begin_block_probes(struct ptx_splice *in, struct ptx_text *text);
/* Adds a probe that only the first lane of a block runs. */
void ptx_emit_first_lane(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe);
/* Adds a block-end probe, which one lane of the block runs. All lanes that exit execute the code around the probe. */
void ptx_emit_last_lane(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe);
/* closure.c: marks the symbols that the kernel needs, numbers the bindings, and sets in->kernel_node. */
void ptx_find_closure(struct ptx_splice *in);
/*
 * result.c, for probes that read the function's return value. The function ptx_check_result() refuses functions that
 * return the value in registers. If `node` stores the value, ptx_copy_result() copies it.
 */
void ptx_check_result(struct ptx_splice *in, uint32_t function);
void ptx_copy_result(struct ptx_splice *in, uint32_t function, uint32_t node);
/* header.c: edits a directive at the module's top. Returns false if the twin must not have this directive. */
bool ptx_edit_directive(struct ptx_splice *in, const struct ptx_node *node);

#endif
