/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: tracks constants in scalar registers, to find the callees of calls and the accesses to private memory.
 * Before: a call names a register pair with the callee's address. A buffer access names registers with a descriptor.
 * After: each call has its callee's address if known. Each buffer access through the descriptor of the lane's private
 * memory is marked.
 * Requires: the list has all reachable instructions. A function's address is s_getpc_b64 plus a constant, or a word
 * that the loader relocates. At an instruction with several predecessors, the analysis merges the values of all paths.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_CALLS_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/hip/amdgpu/isa/flow.h"
#include "backends/hip/amdgpu/object/elf.h"

/* The effect of an instruction on the scalar registers, as far as the analysis needs it. */
struct hip_step {
	/* offsets of the instruction and of its branch target, in bytes from the start of the code */
	uint32_t off, target;
	enum hip_flow flow;
	enum {
		HIP_STEP_OTHER, /* sets `to` and `second_to` to unknown values */
		HIP_STEP_WAIT,  /* no effect */
		HIP_STEP_PC,    /* to = the address of the next instruction */
		HIP_STEP_ADD,
		HIP_STEP_ADD_CARRY, /* to = from + the 32-bit literal (ADD), plus the carry (ADD_CARRY) */
		HIP_STEP_EXTEND,    /* sign-extends a register, which leaves the upper half of an address unchanged */
		HIP_STEP_MOVE,      /* to = from */
		HIP_STEP_LOAD,      /* to = the 8 bytes at address from + literal */
		HIP_STEP_CALL,      /* jumps to the address in `from` */
		HIP_STEP_COMPLETE,  /* adds the wave's scratch offset to a word of the descriptor of private memory */
		HIP_STEP_BUFFER,    /* accesses memory through the descriptor in `from` */
	} what;
	/* ranges of scalar registers: first register and number of registers */
	uint8_t to, nto, second_to, nsecond_to, from, nfrom;
	uint32_t literal;
	uint64_t callee; /* output for HIP_STEP_CALL: address of the callee, or UINT64_MAX if unknown */
	bool is_private; /* output for HIP_STEP_BUFFER: the descriptor is that of the lane's private memory */
};

struct hip_steps {
	struct hip_step *list;
	uint32_t n, room;
};

/* Appends an instruction, with name and operands in the notation of LLVM's disassembler. Returns 0 or -ENOMEM. */
int hip_steps_add(struct hip_steps *steps, const char *name, const char *operands, uint32_t off, enum hip_flow flow,
		  uint32_t target);
/* Computes the output members of all steps. `start` is the offset of the first instruction, and `address` is the
 * virtual address of offset 0. `descriptor` is the first of the four registers that hold the descriptor of the lane's
 * private memory at `start`, or -1. `elf` is the code's file, for function addresses that the loader stores in memory;
 * NULL: ignore them. Returns 0 or -ENOMEM. */
int hip_steps_follow(struct hip_steps *steps, uint32_t start, uint64_t address, int descriptor, const struct hip_elf *elf);

#endif
