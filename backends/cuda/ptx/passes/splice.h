/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the twin of a CUDA kernel as a separate PTX module with only the kernel and the functions that it calls. Probes
 * are inlined at the kernel's entry, at the entry and returns of called functions, and around single instructions
 * (insn_probe.h). Block probes are inlined where the first lane of a block enters and where the last lane exits
 * (block_probes.c). Exit probes are inlined before each ret of the kernel, and before each exit, also in called
 * functions.
 *
 * Every exit has its own copy of the probe. In a common exit block, lanes that exit early would reconverge with the
 * others and wait for them. A barrier of the kernel would then deadlock.
 *
 * After loading, the agent stores the addresses of the application's variables in constants of the twin, and references
 * to the variables use these addresses. `bindings` names the variables. The twin reads the application's constants
 * through global memory.
 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_SPLICE_H
#define GPUBPF_BACKENDS_CUDA_PTX_SPLICE_H

#include <stddef.h>
#include <stdint.h>

#include "backends/cuda/ptx/ir/ptx.h"
#include "core/lower/registers.h"

struct gpubpf_diag;
struct gpubpf_lower_job;

#define CUDA_TWIN_PREFIX "gpubpf_twin_"
/* name of the constant .visible .const .u64 gpubpf_bind_<i>: address of binding i */
#define CUDA_BIND_PREFIX "gpubpf_bind_"
/* largest number of exits of a kernel, and returns of its functions, at which probes are inlined */
#define CUDA_MAX_EXITS 64
/*
 * Registers in the text of a twin, for readers of dumped twins. The names are fixed, since twins must stay
 * byte-identical.
 *
 *   `%gpubpf_sum<name>`      CUDA_ACC          The sum for one value at a fixed offset.
 *   `%gpubpf_key<name>`      CUDA_ACC_OFFSET   The offset of the value that the next register accumulates.
 *   `%gpubpf_kept<name>`     CUDA_ACC_VALUE    The sum for the value at that offset.
 *   `%gpubpf_keeps`          CUDA_ACC_MODE     Which lanes accumulate: 0 none, 1 each for itself, 2 one for its warp.
 *   `%gpubpf_keeper<n>`      CUDA_ACC_LANE     The lane that accumulates add n for its warp.
 *   `%gpubpf_first<map>`     CUDA_MAP_BASE     The address of the map's first value.
 *   `%gpubpf_told`           CUDA_PLACE_CONST  Is the number of accessed bytes a constant of the place?
 *   `%gpubpf_came`           CUDA_ACTIVE       The active mask.
 *   `%gpubpf_whole`          CUDA_FULL_WARP    Are all lanes of the warp active?
 *   `%gpubpf_side`           CUDA_TAKEN        The lanes that branch in this lane's direction.
 *   `%gpubpf_sm, _lane`      CUDA_SM, _LANE    Copies of %smid, %laneid.
 *   `%gpubpf_ctaid_<axis>`   CUDA_CTAID        Copies of %ctaid.
 *   `%gpubpf_others`         CUDA_NOT_LEADER   Does another lane run the block's probe?
 *   `%gpubpf_result`         CUDA_RESULT       The function's return value.
 *   `%gpubpf_o<word>`        CUDA_OPERAND      An operand of the place.
 *   `%gpubpf_v<i>`                             The address of binding i (edit_function.c).
 *   `%gpubpf_in, _g, _at`                      WITHIN, GUARD, PTX_AT (insn_probe.c, operands.h).
 *   `%gpubpf_here, _nobody`                    ACTIVE_LANES, OPAQUE_FALSE (reconverge.c).
 *   `%gpubpf_out`                              SKIP_PRED (probe.c).
 */
#define CUDA_ACC "%gpubpf_sum" /* .b64: accumulator for one map value at a fixed offset */
#define CUDA_MAP_BASE "%gpubpf_first"      /* .b64: address of a map's first value, in this multiprocessor's replica */
/* .b32: 1 if the number of accessed bytes is constant at the place, 0 if it is known only at run time */
#define CUDA_PLACE_CONST "%gpubpf_told"
/* CUDA_ACTIVE, .b32: active mask at the place. CUDA_FULL_WARP, .pred: all lanes of the warp are active. */
#define CUDA_ACTIVE "%gpubpf_came"
#define CUDA_FULL_WARP "%gpubpf_whole"
#define CUDA_DECLARE_ACTIVE ".reg .b32 " CUDA_ACTIVE ";\n.reg .pred " CUDA_FULL_WARP ";\n"
#define CUDA_READ_ACTIVE "activemask.b32 " CUDA_ACTIVE ";\nsetp.eq.u32 " CUDA_FULL_WARP ", " CUDA_ACTIVE ", 0xffffffff;\n"
#define CUDA_TAKEN "%gpubpf_side"        /* .b32, at branches: mask of the lanes that branch in this lane's direction */
/*
 * CUDA_ACC_OFFSET, .b32: map offset of a value. CUDA_ACC_VALUE, .b32: the sum for this value. CUDA_ACC_MODE, .b32: 0, 1
 * or 2 (accumulators.c).
 */
#define CUDA_ACC_OFFSET "%gpubpf_key"
#define CUDA_ACC_VALUE "%gpubpf_kept"
#define CUDA_ACC_MODE "%gpubpf_keeps"
/*
 * .b32, one for each add of a probe, if CUDA_ACC_MODE is 2: number of the lane that accumulates this add for the warp
 */
#define CUDA_ACC_LANE "%gpubpf_keeper"
/*
 * CUDA_SM and CUDA_LANE, .b32: copies of %smid and %laneid for instruction probes. The function reads them once at its
 * top, because each read is slow.
 */
#define CUDA_SM "%gpubpf_sm"
#define CUDA_LANE "%gpubpf_lane"
/* .b32, with suffix x, y or z: copies of %ctaid for the probes that one lane of a block runs */
#define CUDA_CTAID "%gpubpf_ctaid_"
/* .pred, at probes that one lane of a block runs: this lane does not run the probe */
#define CUDA_NOT_LEADER "%gpubpf_others"
#define CUDA_RESULT "%gpubpf_result"    /* .b64: first 8 bytes of the function's return value, if a probe reads it */

/* .b64, with the number of a word as suffix: operand of the place (core/lower/ctx.h) */
#define CUDA_OPERAND "%gpubpf_o"

/*
 * A probe as the statements of one PTX { } block: registers, labels, code. Control reaches the end of the block by
 * falling through.
 */
struct cuda_probe {
	char *body;
	size_t body_size;
	/*
	 * the probe is for one-dimensional launches: y and z indices are 0, y and z sizes are 1; set before extraction
	 */
	bool flat;
	/* the probe reads the kernel's parameters, so it cannot be inlined into functions that the kernel calls */
	bool reads_params;
	bool reads_result;  /* reads CUDA_RESULT */
	bool ends_thread;   /* the probe may end the thread (helper 507) */
	bool may_diverge;   /* lanes may diverge in the probe, because it has loops or calls */
	bool is_insn_probe; /* the probe runs at single instructions; set before extraction */
	/* the probe only adds to summed map values, so sink_probes.c may move it; set before extraction */
	bool adds_alone;
	bool reads_sm, reads_lane; /* reads CUDA_SM; reads CUDA_LANE */
	/*
	 * is_block_probe: only one lane of a block runs the probe. is_last_lane_probe: the probe is at the block's end.
	 * Both are set before extraction.
	 */
	bool is_block_probe, is_last_lane_probe;
	bool reads_ctaid; /* reads CUDA_CTAID */
	/* the probe's text tests CUDA_NOT_LEADER: all lanes may enter it, and all except one branch to its end */
	bool reads_not_leader;
	/*
	 * Registers that the probe uses. `sums` are registers CUDA_ACC <name>. `keys` are pairs CUDA_ACC_OFFSET <name>
	 * and CUDA_ACC_VALUE <name>. `map_bases` are CUDA_MAP_BASE <name>, and `acc_lanes` are CUDA_ACC_LANE <name>.
	 */
	struct gpubpf_site_registers registers;
	bool reads_place_const, reads_taken_mask; /* reads CUDA_PLACE_CONST; reads CUDA_TAKEN */
	bool reads_active_mask;                   /* reads CUDA_ACTIVE or CUDA_FULL_WARP */
	bool reads_acc_mode;                      /* reads CUDA_ACC_MODE; false if LLVM removed the accumulating code */
	/* bit i is set if the probe reads CUDA_OPERAND "<i>", word i of the context's operands (core/lower/ctx.h) */
	uint64_t reads;
};

struct cuda_twin {
	char *text; /* PTX, malloc'd */
	size_t size;
	char (*bindings)[256]; /* names of the application's variables, malloc'd */
	uint32_t nbindings;
};

/* The probes that are inlined into a twin. */
struct cuda_probes {
	const struct cuda_probe *by_site; /* [site of the job]: the probe of that site */
	/*
	 * [site of the job]: the probe for one-dimensional launches. NULL: a variant for such launches would save no
	 * time.
	 */
	const struct cuda_probe *flat;
	const char *prelude; /* PTX that the probes refer to, for the top level of the twin's module */
	size_t prelude_size;
	/* PTX ISA version that the probes need; the twin states this version or the module's, whichever is later */
	uint32_t version;
};

/*
 * Makes the twin of the kernel of the job's first site; the site has the kernel's short name (core/wire/name.h). The
 * job's insertions for that kernel say where each probe is inlined. If `probes` has flat probes and the kernel is
 * short, the twin has a second variant of the kernel, for one-dimensional launches. The name of that variant ends in
 * CUDA_FLAT_SUFFIX. Returns 0, -ENOMEM, or -EINVAL and a diagnostic if the kernel cannot be probed in this way.
 */
int cuda_inject(const struct ptx_module *module, const struct gpubpf_lower_job *job, const struct cuda_probes *probes,
		struct cuda_twin *twin, struct gpubpf_diag *diag);
void cuda_twin_finish(struct cuda_twin *twin);

#endif
