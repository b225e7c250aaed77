/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What scalar registers hold that a kernel or function was given or knows: addresses of functions (s_getpc_b64 and the distance
 * from there, or a word that the loader fills), to which it goes, and the descriptor of a lane's own memory. It is followed
 * through the code, all ways by which control comes to an instruction at once.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_CALLS_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "elf.h"

enum hip_flow { HIP_GOES_ON, HIP_BRANCHES, HIP_MAY_BRANCH, HIP_ENDS, HIP_UNKNOWN };

/* an instruction, as far as it matters here */
struct hip_step {
	uint32_t off, target;      /* bytes from the first one; target: where it branches to */
	enum hip_flow flow;
	enum {
		HIP_STEP_OTHER,    /* writes `to` and `also` */
		HIP_STEP_WAIT,     /* nothing */
		HIP_STEP_PC,       /* to = the address behind it */
		HIP_STEP_ADD, HIP_STEP_ADD_CARRY, /* to = from + literal, of 32 bits */
		HIP_STEP_EXTEND,   /* of an address the upper half, which stays */
		HIP_STEP_MOVE,     /* to = from */
		HIP_STEP_LOAD,     /* to = 64 bits at from + literal */
		HIP_STEP_CALL,     /* goes to `from` */
		HIP_STEP_COMPLETE, /* adds to a word of the descriptor what the wave's lacks */
		HIP_STEP_BUFFER,   /* accesses memory by the descriptor in `from` */
	} what;
	uint8_t to, nto, also, nalso, from, nfrom; /* scalar registers, and how many */
	uint32_t literal;
	uint64_t callee;           /* out, of CALL: the function's address; UINT64_MAX: not known */
	bool own;                  /* out, of BUFFER: it is the lane's own memory's */
};

struct hip_steps {
	struct hip_step *list;
	uint32_t n, room;
};

/* Add an instruction as LLVM's disassembler writes it. 0, -ENOMEM. */
int hip_steps_add(struct hip_steps *steps, const char *name, const char *operands, uint32_t off, enum hip_flow flow,
		  uint32_t target);
/* Tell what is behind `out`. The first instruction of all is at `start`; address: of byte 0 in the file; descriptor: the first of
 * the four registers that have that of the lane's own memory there, -1: none; elf: for what the loader fills, NULL: nothing. */
int hip_steps_follow(struct hip_steps *steps, uint32_t start, uint64_t address, int descriptor, const struct hip_elf *elf);

#endif
