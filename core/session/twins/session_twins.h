/* SPDX-License-Identifier: Apache-2.0 */
/* The twins of a session: requests in progress, facts about the kernels of their images, and costs. */
#ifndef GPUBPF_SESSION_TWINS_H
#define GPUBPF_SESSION_TWINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/protocol.h"
#include "gpubpf/gpubpf.h"

struct gpubpf_place;
struct gpubpf_session;
struct gpubpf_twin;
struct gpubpf_twin_req;

/* Facts about a kernel, which the session gets from its image. */
struct gpubpf_verdict {
	char name[256];
	char reason[240];  /* with inspect: why the kernel cannot be probed, or "" */
	bool entry_only;   /* the reason concerns only the kernel's exit; its entry can be probed */
	const char *route; /* target that can build a twin of the kernel; NULL: none */
	char instead[240]; /* why a preferred target cannot build it; "": none is preferred */
	/* names of the functions that the kernel calls (core/session/twins/called_functions.h); NULL: not known */
	char *functions;
	/* bit mask of programs, by index in the unit, that have a place in the kernel */
	uint8_t named[GPUBPF_PLAN_LINKS / 8];
	struct gpubpf_twin *twin; /* with inspect: the twin that owns places[], or NULL */
	const struct gpubpf_place *places;
	uint32_t nplaces;
};

int gpubpf_twins_create(struct gpubpf_session *s); /* 0 or -ENOMEM */
void gpubpf_twins_destroy(struct gpubpf_session *s);

/*
 * Set the user's assembler, which makes machine code from the PTX of twins. Line 1 of the string is its path. Line 2
 * identifies its build, on which results depend. NULL: there is no assembler, or it is disabled.
 *
 * Takes ownership of the malloc'd string. Call it before the session starts.
 */
void gpubpf_session_set_assembler(struct gpubpf_session *s, char *assembler);
const char *gpubpf_session_assembler(const struct gpubpf_session *s);

/* Start and stop the builder threads. wake: an eventfd that a builder writes when it has finished a request. */
int gpubpf_twins_start(struct gpubpf_session *s, int wake);
void gpubpf_twins_stop(struct gpubpf_session *s);
void gpubpf_twins_submit(struct gpubpf_session *s, struct gpubpf_twin_req *req);
/*
 * Take the list of finished requests. For each request of an agent, the caller calls gpubpf_twin_account(). For every
 * request, the caller finally calls gpubpf_builders_finish().
 */
struct gpubpf_twin_req *gpubpf_twins_collect(struct gpubpf_session *s);
/*
 * Store the first kernel of the oldest build in progress in `kernel`, and the stages of its current step (or 0) in
 * *step. Returns false if no build is in progress.
 */
bool gpubpf_twins_current(const struct gpubpf_session *s, char *kernel, size_t size, uint32_t *step);

/* Returns the i-th verdict, or NULL after the last. */
const struct gpubpf_verdict *gpubpf_verdict_at(const struct gpubpf_session *s, uint32_t i);
const struct gpubpf_cost_stats *gpubpf_session_costs(const struct gpubpf_session *s);
/* Add time that was spent on loading and verifying BPF objects to the session's costs. */
void gpubpf_session_add_cost(struct gpubpf_session *s, uint64_t load_ns, uint64_t verify_ns);

#endif
