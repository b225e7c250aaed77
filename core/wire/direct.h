/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct runs: gpubpf-runner, a process of gpubpf, launches an empty kernel. A program of section gpu/run/ is the probe at
 * the entry of that kernel. The kernel is KERNEL(block, size, key). The agent makes its twin as for every
 * application.
 *
 * `block` is memory that the runner shares with the session. It begins with struct gpubpf_direct_block; the program's
 * data buffer of `size` bytes begins at GPUBPF_DIRECT_DATA (maps/layout.h). The device library uses these arguments
 * only if `key` is GPUBPF_DIRECT_KEY.
 *
 * An executor runs the same programs on request, in one resident launch of GPUBPF_SERVE_KERNEL(block, queue, key). The
 * memory `block` then has a queue of `queue` bytes at GPUBPF_DIRECT_DATA, and the data after it. Host and device access
 * the memory at the same time. No word is written by both. Block number i of the launch has queue number i. It calls
 * GPUBPF_SERVE_FUNCTION(memory, size, key, to) for each request, and the program is the probe at the entry of that
 * function. If `key` is GPUBPF_SERVE_KEY, the device library uses the function's arguments. Then the data begins at
 * memory + GPUBPF_DIRECT_DATA, and the first thread stores the result at `to`.
 *
 * core/direct/serve.cl and serve.ptx repeat the offsets below.
 */
#ifndef GPUBPF_CORE_WIRE_DIRECT_H
#define GPUBPF_CORE_WIRE_DIRECT_H

#include <stddef.h>
#include <stdint.h>

#define GPUBPF_DIRECT_KERNEL "gpubpf_direct_run"
#define GPUBPF_SERVE_KERNEL "gpubpf_direct_serve"
#define GPUBPF_SERVE_FUNCTION "gpubpf_serve_step"
#define GPUBPF_SERVE_BLOCKS 1024 /* maximum number of queues */
#define GPUBPF_SERVE_SLOTS 64    /* requests in a queue */
#define GPUBPF_SERVE_UNIT 8      /* unit of offsets and sizes of requests in bytes */
#define GPUBPF_SERVE_BITS 28     /* bits of an offset and of a size in a request */
#define GPUBPF_SERVE_ROUNDS 255  /* numbers of requests in a slot are 1 to this number, and 1 follows */

struct gpubpf_direct_block {
	uint64_t result; /* r0 of the first thread of the last run; the device writes it */
	uint64_t unused[7];
	/* The runner writes the members below. */
	uint64_t runs;               /* number of launches that ended */
	uint64_t first_ns, total_ns; /* time of the first launch, and of all launches, until the runner sees their end */
	uint64_t min_ns;             /* shortest launch */
	char backend[16], device[128];
	char error[240]; /* why the runs failed; "" if they succeeded */
	uint64_t padding[68];
	/* Control words of an executor, at offset 1024. */
	uint64_t stop; /* the session writes 1 to end the launch */
	/* The runner increments `beat`. If it does not change for `limit`, in ns or in polls, the launch ends. */
	uint64_t beat, limit;
};
_Static_assert(offsetof(struct gpubpf_direct_block, stop) == 1024, "serve.cl and serve.ptx have this offset");

/* The state of a resident block. */
enum gpubpf_serve_state {
	GPUBPF_SERVE_NOT_STARTED,
	GPUBPF_SERVE_RUNS,
	GPUBPF_SERVE_ENDED,
};

/* The queue of one block. */
struct gpubpf_serve_queue {
	uint64_t requests[GPUBPF_SERVE_SLOTS]; /* number << 56 | offset << 28 | size; the host writes them, in order of the slots */
	uint64_t state;                        /* enum gpubpf_serve_state; the device writes it and the answers */
	uint64_t unused[7];
	struct gpubpf_serve_answer {
		uint64_t number, result; /* number: number of the last request that ended in this slot */
	} answers[GPUBPF_SERVE_SLOTS];
	uint64_t padding[56];
};
_Static_assert(sizeof(struct gpubpf_serve_queue) == 2048, "serve.cl and serve.ptx have this size");

#endif
