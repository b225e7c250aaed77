/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreter runs a program of a unit on the host, ISA v1 to v4 (RFC 9669), and checks every access. It is the
 * oracle of all tests and runs host-side programs. It has two layers:
 *
 *   vm.h      the core loop, in the device library's subset of C: no recursion, no function
 *             pointers, no libc; it calls its host through a few gpubpf_vm_* functions
 *   interp.c  these functions on the host: the region table, helpers over maps/, the observer
 *
 * Pointers are those of core/model/facts.h: small numbers for stack, context and maps. Map values, records and MEM are host
 * addresses; values lie directly in the arena.
 */
#ifndef GPUBPF_INTERP_INTERP_H
#define GPUBPF_INTERP_INTERP_H

#include "core/model/facts.h"
#include "core/model/prog.h"
#include "maps/maps.h"

struct gpubpf_diag;

/* The state passed to an observer before each instruction; valid during the call only. */
struct gpubpf_interp_state {
	uint32_t pc;
	uint32_t depth;       /* number of the current frame: 0 for the program itself */
	const uint64_t *reg;  /* [GPUBPF_NREGS] */
	const uint8_t *stack; /* bytes of frame f at stack + 512 f */
};

struct gpubpf_interp_job {
	const struct gpubpf_unit *unit;
	const struct gpubpf_prog *prog; /* a program of the unit; it need not be verified */
	const struct gpubpf_ctx *ctx;   /* the program's r1; NULL: r1 and r2 are the address and length of mem */
	void *mem;
	uint64_t mem_size;
	/*
	 * The arena and the layout of the unit's maps in it; both NULL if the unit has no map. Helpers 6 and 501 write
	 * to the layout's print ring, if it has one. Read-only maps cannot be written.
	 */
	void *arena;
	const struct gpubpf_layout *layout;
	uint64_t pid_tgid;       /* result of helper 14 */
	uint32_t sm, warp, lane; /* results of helpers 8 and 509, of 510, and of 511; sm <
					     * layout->replicas */
	const void *arg_bytes;   /* source of helper 520: the bytes of the parameters that params
					     * describes */
	const struct gpubpf_param *params;
	uint32_t nparams;
	uint64_t max_insns; /* limit on executed instructions; 0: 64 million */
	void (*observe)(void *arg, const struct gpubpf_interp_state *state);
	void *observe_arg;
};

struct gpubpf_interp_result {
	uint64_t r0;
	uint64_t insns;    /* number of executed instructions */
	bool ended_thread; /* the program ended by helper 507 */
};

/*
 * Runs the program to its exit. 0, or -EINVAL and a diagnostic with the instruction. It refuses an access outside live
 * frames, context, MEM, map values and reserved records. It refuses a write to read-only memory, a misaligned atomic,
 * an unknown helper or bad arguments of one. It also refuses too deep calls, and more than max_insns instructions.
 */
int gpubpf_interp_run(const struct gpubpf_interp_job *job, struct gpubpf_interp_result *result, struct gpubpf_diag *diag);

#endif
