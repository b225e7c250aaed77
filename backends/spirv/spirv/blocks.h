/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes that one lane of a block runs. The first is the one whose indices are 0, which every block has. The last is found by
 * counting: a word of the block's memory has the lanes that have not left. All of a block's lanes meet once, at the kernel's
 * top, behind the word's first value; where they leave nothing waits.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_BLOCKS_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_BLOCKS_H

#include "splice.h"

/* Is the lane its block's first? */
uint32_t spv_is_first_lane(struct inject *in, struct spv_words *out);
/* Begin to count; another block goes on. */
void spv_count_lanes(struct inject *in, struct spv_words *out);
/* Call the site if the lane is the last that comes here; another block goes on. */
void spv_call_last(struct inject *in, struct spv_words *out, uint32_t site, uint32_t env);

#endif
