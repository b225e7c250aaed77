/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks by number: what a STACK_TRACE's ids stand for. The tool has one store a session, which agents ask for the number of a
 * stack that they see for the first time; the host's look-ups find the addresses there (stack_trace.c).
 */
#ifndef GPUBPF_MAPS_STACKS_H
#define GPUBPF_MAPS_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/stack_frame.h"
#include "layout.h"

struct gpubpf_map_view;

struct gpubpf_stack {
	uint32_t n;
	uint64_t *address;       /* [n], the innermost first */
	uint64_t *place;         /* [n]: what else tells them apart: the session's word for where each lies in which file */
};

struct gpubpf_stacks;

/* Which file, by its build id, the i-th frame lies in, and where; false: it is not known. */
typedef bool (*gpubpf_stack_file_fn)(void *arg, const struct gpubpf_stack *stack, uint32_t i, struct gpubpf_stack_frame *frame);
void gpubpf_stacks_files(struct gpubpf_stacks *stacks, gpubpf_stack_file_fn fn, void *arg);
void gpubpf_stack_describe(const struct gpubpf_stacks *stacks, const struct gpubpf_stack *stack, uint32_t i,
			   struct gpubpf_stack_frame *frame);

struct gpubpf_stacks *gpubpf_stacks_create(void); /* NULL: out of memory */
void gpubpf_stacks_destroy(struct gpubpf_stacks *stacks);
/* The number of the stack, from 1, whether it was there before or not; 0: no memory, or GPUBPF_STACKS_MOST are there. */
uint32_t gpubpf_stacks_number(struct gpubpf_stacks *stacks, const uint64_t *address, const uint64_t *place, uint32_t n);
/* NULL: none has that number. */
const struct gpubpf_stack *gpubpf_stack_numbered(const struct gpubpf_stacks *stacks, uint64_t number);

/* stack_trace.c: the number in a bucket of a STACK_TRACE; 0: there is none. */
uint64_t gpubpf_stack_number_at(const struct gpubpf_map_view *view, uint32_t id);

#endif
