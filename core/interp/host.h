/* SPDX-License-Identifier: Apache-2.0 */
/* State of one run on the host; private to core/interp. */
#ifndef GPUBPF_INTERP_HOST_H
#define GPUBPF_INTERP_HOST_H

#include "interp.h"
#include "maps/host/host.h"
#include "vm_state.h"

#define MAX_RECORDS 16

struct host {
	struct gpubpf_vm vm;
	const struct gpubpf_interp_job *job;
	const char *why; /* what is wrong with a helper's arguments; NULL: the helper is unknown */
	struct gpubpf_env env;
	struct gpubpf_host_thread thread;
	u32 keys; /* index of the first frame that holds a key (core/model/facts.h) */
	struct record {
		u64 address, size;
	} records[MAX_RECORDS]; /* records reserved in rings and not released yet */
	u32 nrecords;
	struct proof {
		u64 address; /* address of the instruction's last access */
		u32 trips;   /* back edge: number of times taken so far */
	} *proof;            /* [instructions] state of the checks of facts; NULL: facts are not checked */
	u32 proven_pc, broken_pc;
	const char *violated;                                       /* the violated fact; NULL: none */
	u8 no_arena[GPUBPF_ARENA_MAPS] __attribute__((aligned(8))); /* an empty arena header, for runs without maps */
};

/* Runs helper `id` on the registers; sets vm.status on failure (helpers.c). */
void gpubpf_interp_call(struct host *h, s32 id);
/* Sets r1 to r4 for an iteration of helper 164; false: there are no more elements (helpers.c). */
bool gpubpf_interp_element(struct host *h, struct gpubpf_vm_rounds *rounds);
/*
 * Returns the index of the map whose value contains the address; -1: a record. *off is the offset from the start of the
 * value or record (memory.c).
 */
int gpubpf_interp_where(const struct host *h, u64 address, s64 *off);
/* Debug builds: checks the facts of a verified program before each instruction (prove.c). */
#ifndef NDEBUG
int gpubpf_interp_prove_begin(struct host *h);
void gpubpf_interp_prove(struct host *h);
void gpubpf_interp_prove_end(struct host *h);
#else
static inline int gpubpf_interp_prove_begin(struct host *h)
{
	return (void)h, 0;
}
static inline void gpubpf_interp_prove(struct host *h)
{
	(void)h;
}
static inline void gpubpf_interp_prove_end(struct host *h)
{
	(void)h;
}
#endif
/* Returns the bytes at an address, or NULL with vm.status set (memory.c). */
u8 *gpubpf_interp_memory(struct host *h, u64 address, u64 size, bool write);

#endif
