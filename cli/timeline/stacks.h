/* SPDX-License-Identifier: Apache-2.0 */
/* stacks.c: the stacks of launching threads, with the names of their functions. */
#ifndef GPUBPF_CLI_TIMELINE_STACKS_H
#define GPUBPF_CLI_TIMELINE_STACKS_H

#include "timeline.h"

struct gpubpf_session;

struct collect_stacks;
struct collect_stacks *collect_stacks_create(struct timeline *t, struct timeline_names *names); /* NULL: out of memory */
void collect_stacks_destroy(struct collect_stacks *stacks);
/* Returns the value of timeline_span.stack for an id in the map `timeline_stacks`, or 0 if there is no stack. */
uint32_t collect_stack(struct collect_stacks *stacks, struct gpubpf_session *s, uint64_t id);

#endif
