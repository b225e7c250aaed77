/* SPDX-License-Identifier: Apache-2.0 */
/* State of one run on the host; private to core/interp. */
#ifndef GPUBPF_INTERP_HOST_H
#define GPUBPF_INTERP_HOST_H

#include "interp.h"
#include "maps/host.h"
#include "vm_state.h"

#define MAX_RECORDS 16

struct host {
	struct gpubpf_vm vm;
	const struct gpubpf_interp_job *job;
	const char *why;      /* what is wrong with a helper's arguments; NULL: the helper is unknown */
	struct gpubpf_env env;
	struct gpubpf_host_thread thread;
	u32 keys;             /* the first frame that holds a key (core/facts.h) */
	struct record {
		u64 address, size;
	} records[MAX_RECORDS]; /* reserved in rings and not given back */
	u32 nrecords;
	struct proof {
		u64 address;          /* of the last access */
		u32 trips;            /* of a back edge, so far */
	} *proof;                     /* [instructions]; NULL: facts are not proven again */
	u32 proven_pc, broken_pc;
	const char *broken;           /* the fact that does not hold; NULL: all do */
	u8 no_arena[GPUBPF_ARENA_MAPS] __attribute__((aligned(8))); /* a header's worth, for runs without maps */
};

/* Run helper `id` on the registers; sets vm.status on failure (helpers.c). */
void gpubpf_interp_call(struct host *h, s32 id);
/* What a round of helper 164 is given, in r1 to r4; false: there is no more element (helpers.c). */
bool gpubpf_interp_element(struct host *h, struct gpubpf_vm_rounds *rounds);
/* The map that the address lies in a value of, or -1: a record; *off from where that begins (memory.c). */
int gpubpf_interp_where(const struct host *h, u64 address, s64 *off);
/* Debug builds: prove the facts of a verified program again, before each instruction (prove.c). */
#ifndef NDEBUG
int gpubpf_interp_prove_begin(struct host *h);
void gpubpf_interp_prove(struct host *h);
void gpubpf_interp_prove_end(struct host *h);
#else
static inline int gpubpf_interp_prove_begin(struct host *h) { return (void)h, 0; }
static inline void gpubpf_interp_prove(struct host *h) { (void)h; }
static inline void gpubpf_interp_prove_end(struct host *h) { (void)h; }
#endif
/* The bytes at an address, or NULL with vm.status set (memory.c). */
u8 *gpubpf_interp_memory(struct host *h, u64 address, u64 size, bool write);

#endif
