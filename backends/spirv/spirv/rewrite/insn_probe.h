/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_INSN_PROBE_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_INSN_PROBE_H

#include "splice.h"

/* Prepare in->body and the environment parameters of functions. 0 or -ENOMEM. */
int spv_insn_probes_init(struct inject *in, const struct gpubpf_spv_wrap *wraps, uint32_t nwraps);
void spv_insn_probes_finish(struct inject *in);

/* Does the function receive the environment as an additional last parameter? */
bool spv_takes_env(const struct inject *in, uint32_t function);
/* Write an instruction of a function with the bodies at its places. Calls pass the environment on. */
void spv_write_insn(struct inject *in, uint32_t insn, uint32_t function, struct spv_words *out);
/* Write only the bodies that precede the instruction. */
void spv_write_before(struct inject *in, uint32_t insn, uint32_t function, struct spv_words *out);
/* Write an instruction of a function that is no twin; *first: no block of the function has begun yet. */
void spv_write_function(struct inject *in, uint32_t insn, uint32_t function, bool *first, struct spv_words *out);

/* Call the site's function; returns the id of its result. */
uint32_t spv_call_site(struct inject *in, struct spv_words *out, uint32_t site, uint32_t env);
/* Call the site in the first lane of each block, for launches of the twin with this number. */
void spv_call_first(struct inject *in, struct spv_words *out, uint32_t site, uint32_t twin, uint32_t env);

#endif
