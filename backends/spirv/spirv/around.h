/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_AROUND_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_AROUND_H

#include "splice.h"

/* 0 or -ENOMEM. */
int spv_around_init(struct inject *in, const struct gpubpf_spv_wrap *wraps, uint32_t nwraps);
void spv_around_finish(struct inject *in);

/* Does the function get an environment as one parameter more? */
bool spv_takes_env(const struct inject *in, uint32_t function);
/* An instruction of a function, with the bodies of its places; calls hand the environment on. */
void spv_write_insn(struct inject *in, uint32_t insn, uint32_t function, struct spv_words *out);
/* The bodies alone that stand before it. */
void spv_write_before(struct inject *in, uint32_t insn, uint32_t function, struct spv_words *out);
/* Likewise, of a function that is no twin; *first: none of its blocks has begun. */
void spv_write_function(struct inject *in, uint32_t insn, uint32_t function, bool *first, struct spv_words *out);

/* Call the site's function; returns what it answers. */
uint32_t spv_call_site(struct inject *in, struct spv_words *out, uint32_t site, uint32_t env);
/* Likewise, by the first lane of each block, of a twin by its number. */
void spv_call_first(struct inject *in, struct spv_words *out, uint32_t site, uint32_t twin, uint32_t env);

#endif
