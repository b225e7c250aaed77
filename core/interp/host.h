/* SPDX-License-Identifier: Apache-2.0 */
/* Declares the state of one run of the interpreter on the host, for the files of core/interp. */
#ifndef GPUBPF_INTERP_HOST_H
#define GPUBPF_INTERP_HOST_H

#include "interp.h"
#include "maps/host/host.h"
#include "vm_state.h"

#define MAX_RECORDS 16

struct host {
	struct gpubpf_vm vm;
	const struct gpubpf_interp_job *job;
	const char *why; /* the error in the helper's arguments; NULL if the helper is unknown */
	struct gpubpf_env env;
	struct gpubpf_host_thread thread;
	u32 keys; /* index of the first stack frame that holds a map key for a callback (core/model/facts.h) */
	struct record {
		u64 address, size;
	} records[MAX_RECORDS]; /* ring-buffer records that are reserved and not yet submitted or discarded */
	u32 nrecords;
	struct proof {
		u64 address; /* address of the instruction's last access */
		u32 trips;   /* for a back edge: number of times that it was taken */
	} *proof;            /* [instructions]: state for checking facts; NULL if facts are not checked */
	u32 proven_pc, broken_pc;
	const char *violated; /* description of the violated fact, or NULL */
	/* an empty arena header, for runs of programs without maps */
	u8 no_arena[GPUBPF_ARENA_MAPS] __attribute__((aligned(8)));
};

/* Runs helper `id` with the arguments in registers and stores r0. Sets vm.status on failure. (helpers.c) */
void gpubpf_interp_call(struct host *h, s32 id);
/*
 * Sets r1 to r4 for one iteration of bpf_for_each_map_elem(), helper 164. Returns false if there are no more elements.
 * (helpers.c)
 */
bool gpubpf_interp_element(struct host *h, struct gpubpf_vm_rounds *rounds);
/*
 * Returns the index of the map whose value contains the address, or -1 if the address is in a record. Sets *off to the
 * offset from the start of the value or record. (memory.c)
 */
int gpubpf_interp_where(const struct host *h, u64 address, s64 *off);
/* In debug builds, checks the facts of a verified program before each instruction. (prove.c) */
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
/* Returns a pointer to the bytes at an address of the program, or sets vm.status and returns NULL. (memory.c) */
u8 *gpubpf_interp_memory(struct host *h, u64 address, u64 size, bool write);

#endif
