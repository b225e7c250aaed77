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
	GPUBPF_VM_MISALIGNED, /* vm->address, of an atomic, is misaligned */
	GPUBPF_VM_HELPER,     /* vm->address is a helper that does not exist, or its arguments are bad */
	GPUBPF_VM_DEPTH,
	GPUBPF_VM_LIMIT,
	GPUBPF_VM_FELL_OFF, /* control passed the program's end */
};

/* The iterations of a helper that calls a function repeatedly. */
struct gpubpf_vm_rounds {
	u64 n, i;    /* n: maximum number of iterations, 0 if the program called the function directly; i:
			       * current iteration */
	u64 arg;     /* argument that the program passes to each iteration */
	u64 map, at; /* helper 164: the map, and the position of the next element in it; map is 0 for helper
			       * 181 */
	u32 target;
};

struct gpubpf_vm_frame {
	u32 ret;      /* pc to continue at after the return */
	u64 saved[4]; /* enum gpubpf_vm_status: why the run ended */
	struct gpubpf_vm_rounds rounds;
};

struct gpubpf_vm {
	const struct gpubpf_insn *insns;
	u32 ninsns;
	u32 pc;
	u32 depth;
	u32 status; /* enum gpubpf_vm_status */
	u64 executed, limit;
	u64 address, size; /* address and size of a failed access */
	int write;
	u64 reg[GPUBPF_NREGS];
	struct gpubpf_vm_rounds rounds; /* a helper requests calls of a function by filling this */
	struct gpubpf_vm_frame frame[GPUBPF_MAX_FRAMES];
	u8 stack[GPUBPF_STACK_ROWS * GPUBPF_STACK_SIZE] __attribute__((aligned(16)));
};

#endif
