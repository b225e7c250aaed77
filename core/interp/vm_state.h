/* SPDX-License-Identifier: Apache-2.0 */
/* State of the interpreter's core loop (vm.h). */
#ifndef GPUBPF_INTERP_VM_STATE_H
#define GPUBPF_INTERP_VM_STATE_H

#include "core/model/facts.h"
#include "maps/device/devlib_types.h"

enum gpubpf_vm_status {
	GPUBPF_VM_RUNNING,
	GPUBPF_VM_EXIT,
	GPUBPF_VM_ENDED,      /* helper 507 ended the thread */
	GPUBPF_VM_ACCESS,     /* vm->address is out of bounds, or not writable */
	GPUBPF_VM_MISALIGNED, /* vm->address is the misaligned address of an atomic */
	GPUBPF_VM_HELPER,     /* vm->address is the number of a helper that does not exist or whose arguments are bad */
	GPUBPF_VM_DEPTH,
	GPUBPF_VM_LIMIT,
	GPUBPF_VM_FELL_OFF, /* the next instruction is after the program's end */
};

/* State of a helper that calls a function of the program repeatedly. */
struct gpubpf_vm_rounds {
	u64 n, i; /* n: largest number of iterations, or 0 if no helper calls the function. i: current iteration. */
	u64 arg;  /* argument that the helper passes on to each iteration */
	/* helper 164: pointer to the map, and position of the next element in it. map is 0 for helper 181. */
	u64 map, at;
	u32 target;
};

struct gpubpf_vm_frame {
	u32 ret;      /* pc at which the caller continues */
	u64 saved[4]; /* r6 to r9 of the caller */
	struct gpubpf_vm_rounds rounds;
};

struct gpubpf_vm {
	const struct gpubpf_insn *insns;
	u32 ninsns;
	u32 pc;
	u32 depth;
	u32 status; /* enum gpubpf_vm_status: why the run ended */
	u64 executed, limit;
	u64 address, size; /* address and size in bytes of the access that failed */
	int write;
	u64 reg[GPUBPF_NREGS];
	struct gpubpf_vm_rounds rounds; /* a helper fills this to have a function called repeatedly */
	struct gpubpf_vm_frame frame[GPUBPF_MAX_FRAMES];
	u32 may_gone[GPUBPF_MAX_FRAMES]; /* by depth: number of may_goto so far that did not jump */
	u8 stack[GPUBPF_STACK_ROWS * GPUBPF_STACK_SIZE] __attribute__((aligned(16)));
};

#endif
