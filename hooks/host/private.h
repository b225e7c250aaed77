/* SPDX-License-Identifier: Apache-2.0 */
/* Private to hooks/host: the programs that the agent has, and the state of a calling thread. */
#ifndef GPUBPF_HOOKS_HOST_PRIVATE_H
#define GPUBPF_HOOKS_HOST_PRIVATE_H

#include "core/interp/interp.h"
#include "host.h"
#include "maps/maps.h"

/* An attached program. */
struct gpubpf_host_link {
	uint32_t link;        /* number of the link in the plan */
	uint32_t prog;        /* index of the program in the unit */
	uint8_t event, after; /* enum gpubpf_host_event; 1: after the call */
	bool uses_stack;      /* the program calls helper 27, for `depth` frames without the innermost `skip` */
	bool matches_all;     /* the pattern is * */
	uint32_t skip, depth;
	atomic_bool failed; /* the program failed and is disabled */
	char pattern[256];
};

/* The programs of one generation. It does not change after it is published. */
struct gpubpf_host_plan {
	struct gpubpf_host_plan *next; /* list of plans that a thread may still use */
	uint64_t generation;
	uint32_t events; /* bits of enum gpubpf_host_event */
	struct gpubpf_unit unit;
	struct gpubpf_layout layout;
	void *arena; /* NULL: the programs use no map */
	uint32_t nlinks;
	struct gpubpf_host_link *links;
};

/* A thread of the application that has run a program. */
struct gpubpf_host_caller {
	struct gpubpf_host_caller *next, **link;
	_Atomic(struct gpubpf_host_plan *) plan; /* plan that the thread uses now */
	bool is_busy;                            /* a program runs in this thread */
	uint32_t generation;                     /* of the session, for which pid and tid are valid */
	uint32_t pid, tid;
	struct gpubpf_ctx ctx;
	uint64_t room[]; /* memory of the interpreter */
};

/* plan.c: parses the programs that the session sent. Returns 0, -EPROTO or -ENOMEM. */
int gpubpf_host_plan_parse(const void *data, size_t size, struct gpubpf_host_plan **plan);
void gpubpf_host_plan_free(struct gpubpf_host_plan *plan);

/* names.c: returns the session's id of a name, or UINT64_MAX if the session does not answer. */
uint64_t gpubpf_host_function_id(const char *function);
uint64_t gpubpf_host_kernel_id(const struct gpubpf_hook_launch *launch);
void gpubpf_host_names_forget(void);

#endif
