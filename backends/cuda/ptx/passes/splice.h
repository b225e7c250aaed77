/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The twin of a CUDA kernel, as PTX: the kernel and the functions that it calls, nothing else of the module. Probe code
 * is inlined at the kernel's entry, at the entry and returns of called functions, and around single instructions
 * (insn_probe.h). It is inlined where the first lane of a block enters and where the last lane leaves (block_probes.c). It is
 * inlined before each exit: ret, predicated ret, exit, and exit in called functions.
 * Every exit has its own copy of the probe. A common exit block would be a reconvergence point at which early lanes
 * wait for the others, and a barrier of the kernel would then deadlock.
 *
 * The twin is a separate module. References to the application's variables become addresses that the agent stores into
 * the twin's constants after loading; `bindings` names the variables. Constants that the kernel reads by address are
 * read through global memory.
 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_SPLICE_H
#define GPUBPF_BACKENDS_CUDA_PTX_SPLICE_H

#include <stddef.h>
#include <stdint.h>

#include "backends/cuda/ptx/ir/ptx.h"

struct gpubpf_diag;
struct gpubpf_lower_job;

#define CUDA_TWIN_PREFIX "gpubpf_twin_"
#define CUDA_BIND_PREFIX "gpubpf_bind_" /* .visible .const .u64 gpubpf_bind_<i>: address of binding i */
#define CUDA_MAX_EXITS 64               /* exits of a kernel and returns of its functions into which probe code is
					 * inlined */
/*
 * Registers in the text of a twin, for readers of dumped twins. The names are fixed, since twins must stay byte-identical.
 *   %gpubpf_sum<name>     CUDA_ACC          the sum for one value at a fixed offset.
 *   %gpubpf_key<name>     CUDA_ACC_OFFSET   the offset of the value that the next register accumulates.
 *   %gpubpf_kept<name>    CUDA_ACC_VALUE    the sum for the value at that offset.
 *   %gpubpf_keeps         CUDA_ACC_MODE     which lanes accumulate: 0 none, 1 each for itself, 2 one for its warp.
 *   %gpubpf_keeper<n>     CUDA_ACC_LANE     the lane that accumulates add n for its warp.
 *   %gpubpf_first<map>    CUDA_MAP_BASE     the address of the map's first value.
 *   %gpubpf_told          CUDA_PLACE_CONST  is the number of accessed bytes a constant of the place?
 *   %gpubpf_came          CUDA_ACTIVE       the active mask.
 *   %gpubpf_whole         CUDA_FULL_WARP    are all lanes of the warp active?
 *   %gpubpf_side          CUDA_TAKEN        the lanes that branch in this lane's direction.
 *   %gpubpf_sm, _lane     CUDA_SM, _LANE    copies of %smid, %laneid.
 *   %gpubpf_ctaid_<axis>  CUDA_CTAID        copies of %ctaid.
 *   %gpubpf_others        CUDA_NOT_LEADER   does another lane run the block's probe?
 *   %gpubpf_result        CUDA_RESULT       the function's return value.
 *   %gpubpf_o<word>       CUDA_OPERAND      an operand of the place.
 *   %gpubpf_v<i>                            the address of binding i (edit_function.c).
 *   %gpubpf_in, _g, _at                     WITHIN, GUARD, PTX_AT (insn_probe.c, operands.h).
 *   %gpubpf_here, _nobody                   ACTIVE_LANES, OPAQUE_FALSE (reconverge.c).
 *   %gpubpf_out                             SKIP_PRED (probe.c).
 */
#define CUDA_MAX_ACCS 8
#define CUDA_ACC "%gpubpf_sum" /* .b64: an accumulator for one value of a map */
#define CUDA_MAP_BASE "%gpubpf_first"      /* .b64: address of a map's first value for this multiprocessor */
#define CUDA_MAX_MAP_BASES 4
#define CUDA_PLACE_CONST "%gpubpf_told"        /* .b32: 1 if the number of accessed bytes is a constant of the place, 0
					        * if it is known at run time only */
#define CUDA_ACTIVE "%gpubpf_came"        /* .b32: active mask of the place. CUDA_FULL_WARP, .pred: all lanes of the
					   * warp are active */
#define CUDA_FULL_WARP "%gpubpf_whole"
#define CUDA_DECLARE_ACTIVE ".reg .b32 " CUDA_ACTIVE ";\n.reg .pred " CUDA_FULL_WARP ";\n"
#define CUDA_READ_ACTIVE "activemask.b32 " CUDA_ACTIVE ";\nsetp.eq.u32 " CUDA_FULL_WARP ", " CUDA_ACTIVE ", 0xffffffff;\n"
#define CUDA_TAKEN "%gpubpf_side"        /* .b32, at branches: mask of the lanes that take the same direction as this
					 * one */
#define CUDA_MAX_ACC_OFFSETS 2
#define CUDA_ACC_OFFSET "%gpubpf_key"          /* .b32: map offset of the value for which CUDA_ACC_VALUE (.b32) holds
					        * the sum. CUDA_ACC_MODE, .b32: 0, 1 or 2 (accumulators.c) */
#define CUDA_ACC_VALUE "%gpubpf_kept"
#define CUDA_ACC_MODE "%gpubpf_keeps"
#define CUDA_MAX_ACC_LANES 8
#define CUDA_ACC_LANE "%gpubpf_keeper"    /* .b32, one for each add of a probe: number of the lane that accumulates this
					   * add for the warp; used if CUDA_ACC_MODE is 2 */
#define CUDA_SM "%gpubpf_sm"            /* .b32: copies of %smid and %laneid for instruction probes, */
#define CUDA_LANE "%gpubpf_lane"        /* read once at the function's top because each read is slow */
#define CUDA_CTAID "%gpubpf_ctaid_"     /* .b32, x, y and z: copies of %ctaid for probes that the first or last lane of
					 * a block runs */
#define CUDA_NOT_LEADER "%gpubpf_others"    /* .pred, at a probe of the first or last lane: this lane is not the one
					     * that runs it */
#define CUDA_RESULT "%gpubpf_result"    /* .b64, if a probe reads it: the first 8 bytes of the function's return
					 * value */

#define CUDA_OPERAND "%gpubpf_o"        /* .b64, one for each word: operands of the place (core/lower/ctx.h) */

/* A probe as statements of one PTX block: registers, labels, code. Control leaves the block by falling through at its
 * end. */
struct cuda_probe {
	char *body;
	size_t body_size;
	bool flat;          /* for one-dimensional launches: y and z indices are 0, y and z sizes are 1; set before
				  * extraction */
	bool reads_params;  /* it reads the kernel's parameters, so it cannot be inlined into functions that the
				  * kernel calls */
	bool reads_result;  /* reads CUDA_RESULT */
	bool ends_thread;   /* it may end the thread (helper 507) */
	bool may_diverge;   /* lanes may diverge in it: it has loops */
	bool is_insn_probe; /* it runs at single instructions; set before extraction */
	bool adds_alone; /* it only adds to summed map values, so it may be sunk (sink_probes.c); set before extraction */
	bool reads_sm, reads_lane;               /* reads CUDA_SM, CUDA_LANE */
	bool is_block_probe, is_last_lane_probe; /* one lane of a block runs it; that lane is the last to leave; both
						  * are set before extraction */
	bool reads_ctaid;                        /* reads CUDA_CTAID */
	bool reads_not_leader; /* its text tests CUDA_NOT_LEADER: all lanes may enter it, and the other lanes
				       * branch to its end */
	struct cuda_sum {      /* Registers that the probe uses (core/lower/llvm/accumulators.c). A sum is CUDA_ACC
				  * <name>. A key is CUDA_ACC_OFFSET <name> and CUDA_ACC_VALUE <name>. The base of a map
				  * is CUDA_MAP_BASE <number>. */
		char name[32]; /* "<bytes>_<map>_<offset>"; without the offset in keys */
	} sums[CUDA_MAX_ACCS], keys[CUDA_MAX_ACC_OFFSETS], map_bases[CUDA_MAX_MAP_BASES];
	uint32_t nsums, nkeys, nmap_bases;
	struct cuda_sum acc_lanes[CUDA_MAX_ACC_LANES]; /* registers CUDA_ACC_LANE "<number>" */
	uint32_t nacc_lanes;
	bool reads_place_const, reads_taken_mask; /* reads CUDA_PLACE_CONST, CUDA_TAKEN */
	bool reads_active_mask;                   /* reads CUDA_ACTIVE or CUDA_FULL_WARP */
	bool reads_acc_mode;                      /* reads CUDA_ACC_MODE; false if LLVM removed the accumulating code */
	uint64_t reads;                           /* bit i: reads CUDA_OPERAND "<i>", word i of the context's operands
				  * (core/lower/ctx.h) */
};

struct cuda_twin {
	char *text; /* PTX, malloc'd */
	size_t size;
	char (*bindings)[256]; /* names of the application's variables, malloc'd */
	uint32_t nbindings;
};

/* The probes that are inlined into a twin. */
struct cuda_probes {
	const struct cuda_probe *by_site; /* [site of the job] */
	const struct cuda_probe *flat;    /* [site of the job], for one-dimensional launches; NULL: that form would
					    * save no time */
	const char *prelude;              /* PTX for the top level of the twin's module, which the probes refer to */
	size_t prelude_size;
	uint32_t version; /* PTX ISA version that the probes' text needs; the twin states this or the
					    * module's version, the later one */
};

/*
 * Makes the twin of the kernel of the job's first site (its short name: core/wire/name.h). The job's insertions on that
 * kernel say where each probe is inlined. If `probes` has flat probes and the kernel is short, the twin has a second
 * form for one-dimensional launches. That form's name ends in CUDA_FLAT_SUFFIX.
 * Returns 0, -EINVAL with the reason if the kernel cannot be probed this way, or -ENOMEM.
 */
int cuda_inject(const struct ptx_module *module, const struct gpubpf_lower_job *job, const struct cuda_probes *probes,
		struct cuda_twin *twin, struct gpubpf_diag *diag);
void cuda_twin_finish(struct cuda_twin *twin);

#endif
