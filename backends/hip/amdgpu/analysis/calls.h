/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: tracks constants in scalar registers, to find callees and accesses to private memory.
 * Before: calls go to a register pair, and buffer accesses use a descriptor in registers.
 * After: each call has its callee's address, and each buffer access is marked if the descriptor is the lane's.
 * Requires: all reachable instructions. Addresses of functions are s_getpc_b64 plus a distance, or a word that the
 * loader fills. The analysis merges the values of all paths to an instruction.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_CALLS_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/hip/amdgpu/isa/flow.h"
#include "backends/hip/amdgpu/object/elf.h"

/* an instruction, as far as the analysis needs it */
struct hip_step {
	uint32_t off, target; /* offset of the instruction and of a branch's target, in bytes from the first
				    * instruction */
	enum hip_flow flow;
	enum {
		HIP_STEP_OTHER, /* writes `to` and `second_to` */
		HIP_STEP_WAIT,  /* no effect */
		HIP_STEP_PC,    /* to = the address after the instruction */
		HIP_STEP_ADD,
		HIP_STEP_ADD_CARRY, /* to = from + literal, of 32 bits */
		HIP_STEP_EXTEND,    /* sign-extends the upper half of an address, which does not change it */
		HIP_STEP_MOVE,      /* to = from */
		HIP_STEP_LOAD,      /* to = 64 bits at from + literal */
		HIP_STEP_CALL,      /* jumps to the address in `from` */
		HIP_STEP_COMPLETE,  /* adds the wave's offset to a word of the descriptor */
		HIP_STEP_BUFFER,    /* accesses memory through the descriptor in `from` */
	} what;
	uint8_t to, nto, second_to, nsecond_to, from, nfrom; /* scalar registers: index of the first, and how many */
	uint32_t literal;
	uint64_t callee; /* out, of CALL: the function's address, or UINT64_MAX */
	bool is_private; /* out, of BUFFER: the descriptor is that of the lane's private memory */
};

struct hip_steps {
	struct hip_step *list;
	uint32_t n, room;
};

/* Adds an instruction as LLVM's disassembler prints it. Returns 0 or -ENOMEM. */
int hip_steps_add(struct hip_steps *steps, const char *name, const char *operands, uint32_t off, enum hip_flow flow,
		  uint32_t target);
/* Computes the members marked `out`. The first instruction is at `start`, and `address` is that of byte 0 in the file.
 * Four registers from `descriptor` on hold the descriptor of the lane's private memory at `start`, unless it is -1. If
 * `elf` is not NULL, words that the loader fills are followed. Returns 0 or -ENOMEM. */
int hip_steps_follow(struct hip_steps *steps, uint32_t start, uint64_t address, int descriptor, const struct hip_elf *elf);

#endif
