/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program of a unit on the host (ISA v1 to v4, RFC 9669) and checks every access. Tests compare other executions
 * with its results, and the tool runs host-side programs in it. It has two layers:
 *
 *   vm.h      the core loop, in the subset of C that the device library uses: no recursion, no
 *             function pointers, no libc. It calls a few functions gpubpf_vm_*, which the host supplies.
 *   interp.c  these functions on the host: accessible memory, helpers over maps/, the observer.
 *
 * Pointers are encoded as in core/model/facts.h: small numbers denote the stack, the context and maps. Pointers to map
 * values, to ring-buffer records and to the job's memory block `mem` (called MEM) are addresses in this process. Map
 * values lie in the arena.
 */
#ifndef GPUBPF_INTERP_INTERP_H
#define GPUBPF_INTERP_INTERP_H

#include "core/model/facts.h"
#include "core/model/prog.h"
#include "maps/maps.h"

struct gpubpf_diag;

/* State that an observer receives before each instruction. It is valid only during the observer's call. */
struct gpubpf_interp_state {
	uint32_t pc;
	uint32_t depth;       /* index of the current stack frame; 0 is that of the main program */
	const uint64_t *reg;  /* [GPUBPF_NREGS] */
	const uint8_t *stack; /* frame f is at stack + 512 * f */
};

struct gpubpf_interp_job {
	const struct gpubpf_unit *unit;
	const struct gpubpf_prog *prog; /* a program of the unit, verified or not */
	const struct gpubpf_ctx *ctx;   /* context to which r1 points; NULL: r1 is the address of mem and r2 its size */
	void *mem;
	uint64_t mem_size;
	/*
	 * The arena, and the layout of the unit's maps in it. Both are NULL if the unit has no map. Helpers 6 and 501
	 * write to the layout's print ring, if there is one. Read-only maps cannot be written.
	 */
	void *arena;
	const struct gpubpf_layout *layout;
	uint64_t pid_tgid; /* result of helper 14 */
	/* sm: result of helpers 8 and 509, less than layout->replicas. warp, lane: results of helpers 510 and 511. */
	uint32_t sm, warp, lane;
	const void *arg_bytes; /* bytes of the kernel parameters that `params` describes, which helper 520 reads */
	const struct gpubpf_param *params;
	uint32_t nparams;
	uint64_t max_insns; /* largest number of executed instructions; 0: 64 million */
	/* the program was verified, so it reads no stack byte that it has not written; the stack is not zeroed */
	bool is_verified;
	void (*observe)(void *arg, const struct gpubpf_interp_state *state);
	void *observe_arg;
};

struct gpubpf_interp_result {
	uint64_t r0;
	uint64_t insns;    /* number of executed instructions */
	bool ended_thread; /* helper 507 ended the program's thread */
};

/*
 * Runs the program until it exits. Returns 0, or -EINVAL and a diagnostic that names the instruction. It is an error to
 * access memory outside of live stack frames, context, MEM, map values and reserved records. Writes to read-only
 * memory, misaligned atomics, unknown helpers, and bad arguments of helpers are errors. So are calls that nest too
 * deep, and more than max_insns instructions.
 */
int gpubpf_interp_run(const struct gpubpf_interp_job *job, struct gpubpf_interp_result *result, struct gpubpf_diag *diag);

/*
 * The same for threads with small stacks: the run's state is in `room`, which has gpubpf_interp_room() bytes aligned to
 * 16. After a failure, gpubpf_interp_refusal() writes the diagnostic. The job must be valid until then.
 */
size_t gpubpf_interp_room(void);
int gpubpf_interp_run_in(void *room, const struct gpubpf_interp_job *job, struct gpubpf_interp_result *result);
int gpubpf_interp_refusal(const void *room, struct gpubpf_diag *diag);

#endif
