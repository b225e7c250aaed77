/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes that one lane of a block runs. The first lane is the one whose local ids are all 0; every block has it. The
 * last lane is found by counting: a word in the block's memory holds the number of lanes that have not returned. All
 * lanes of a block wait once, at the kernel's top, until this word is initialised. They do not wait where they return.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_BLOCKS_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_BLOCKS_H

#include "splice.h"

/* Returns the id of a boolean: is the lane the first of its block? */
uint32_t spv_is_first_lane(struct inject *in, struct spv_words *out);
/* Initialise the count of lanes. Ends the current block and begins another. */
void spv_count_lanes(struct inject *in, struct spv_words *out);
/* Call the site if the lane is the last one to arrive here. Ends the current block and begins another. */
void spv_call_last(struct inject *in, struct spv_words *out, uint32_t site, uint32_t env);

#endif
