/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks by number, to which the ids of a STACK_TRACE refer. The tool has one store per session. When an agent sees a
 * stack for the first time, it requests a number for the stack. Look-ups on the host find the addresses here
 * (maps/kinds/stack_trace.c).
 */
#ifndef GPUBPF_MAPS_STACKS_H
#define GPUBPF_MAPS_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/model/stack_frame.h"
#include "maps/layout.h"

struct gpubpf_map_view;

struct gpubpf_stack {
	uint32_t n;
	uint64_t *address; /* [n], innermost first */
	uint64_t *place;   /* [n] the session's code for each frame's file and offset, which with the address
				  * identifies the frame */
};

struct gpubpf_stacks;

/*
 * Describes the file of the i-th frame, by its build id, and the offset in the file. Returns false if the file is
 * unknown.
 */
typedef bool (*gpubpf_stack_file_fn)(void *arg, const struct gpubpf_stack *stack, uint32_t i,
				     struct gpubpf_stack_frame *frame);
void gpubpf_stacks_files(struct gpubpf_stacks *stacks, gpubpf_stack_file_fn fn, void *arg);
void gpubpf_stack_describe(const struct gpubpf_stacks *stacks, const struct gpubpf_stack *stack, uint32_t i,
			   struct gpubpf_stack_frame *frame);

struct gpubpf_stacks *gpubpf_stacks_create(void); /* NULL: out of memory */
void gpubpf_stacks_destroy(struct gpubpf_stacks *stacks);
/*
 * Return the number of the stack, from 1; add the stack if it is new. 0: out of memory, or GPUBPF_MAX_STACKS stacks
 * exist.
 */
uint32_t gpubpf_stacks_intern(struct gpubpf_stacks *stacks, const uint64_t *address, const uint64_t *place, uint32_t n);
/* Return the stack with this number; NULL: there is none. */
const struct gpubpf_stack *gpubpf_stacks_find(const struct gpubpf_stacks *stacks, uint64_t number);

/* Return the number of the stack in a bucket of a STACK_TRACE, 0 if the bucket is empty (maps/kinds/stack_trace.c). */
uint64_t gpubpf_stack_number_at(const struct gpubpf_map_view *view, uint32_t id);

#endif
