/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes that run in only one lane of a work-group, the first or the last. The first lane is the one whose local ids
 * are all 0; every work-group has it. The last lane is found by counting: a Workgroup variable holds the number of
 * lanes that have not returned. All lanes wait once, at the kernel's start, until this variable is initialized. They do
 * not wait where they return.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_BLOCKS_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_BLOCKS_H

#include "splice.h"

/* Emit code that tests whether the lane is the first of its work-group. Returns the id of the boolean. */
uint32_t spv_is_first_lane(struct inject *in, struct spv_words *out);
/* Emit code that initializes the count of lanes. Ends the current basic block and begins another. */
void spv_count_lanes(struct inject *in, struct spv_words *out);
/*
 * Emit code that calls the site if the lane is the last of its work-group to arrive. Ends the current basic block and
 * begins another.
 */
void spv_call_last(struct inject *in, struct spv_words *out, uint32_t site, uint32_t env);

#endif
