/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host stacks of launches, numbered in the session. The tool has one store per session. When an agent sees a new
 * stack, it requests a number for it. An id in a STACK_TRACE map refers to such a number. Look-ups on the host read the
 * addresses from this store (maps/kinds/stack_trace.c).
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
	/*
	 * [n] for each frame, its file and its offset in that file, packed into one number (core/session/stacks).
	 * Frames are equal if this number and the address are equal.
	 */
	uint64_t *place;
};

struct gpubpf_stacks;

/* Stores the build id of the file of frame i, and the offset in the file. Returns false if the file is unknown. */
typedef bool (*gpubpf_stack_file_fn)(void *arg, const struct gpubpf_stack *stack, uint32_t i,
				     struct gpubpf_stack_frame *frame);
void gpubpf_stacks_files(struct gpubpf_stacks *stacks, gpubpf_stack_file_fn fn, void *arg);
void gpubpf_stack_describe(const struct gpubpf_stacks *stacks, const struct gpubpf_stack *stack, uint32_t i,
			   struct gpubpf_stack_frame *frame);

struct gpubpf_stacks *gpubpf_stacks_create(void); /* returns NULL if memory is exhausted */
void gpubpf_stacks_destroy(struct gpubpf_stacks *stacks);
/*
 * Return the number of the stack, from 1. A new stack is added. Returns 0 if memory is exhausted or GPUBPF_MAX_STACKS
 * stacks exist.
 */
uint32_t gpubpf_stacks_intern(struct gpubpf_stacks *stacks, const uint64_t *address, const uint64_t *place, uint32_t n);
/* Return the stack with this number, or NULL. */
const struct gpubpf_stack *gpubpf_stacks_find(const struct gpubpf_stacks *stacks, uint64_t number);

/*
 * Return the number of the stack in bucket `id` of a STACK_TRACE map, or 0 if the bucket is empty
 * (maps/kinds/stack_trace.c).
 */
uint64_t gpubpf_stack_number_at(const struct gpubpf_map_view *view, uint32_t id);

#endif
