/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_INSN_PROBE_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_INSN_PROBE_H

#include "splice.h"

/*
 * Collect in->body from the wraps, and add the environment parameter to functions that need it. Returns 0 or -ENOMEM.
 */
int spv_insn_probes_init(struct inject *in, const struct gpubpf_spv_wrap *wraps, uint32_t nwraps);
void spv_insn_probes_finish(struct inject *in);

/* Returns true if the function receives the environment as an additional last parameter. */
bool spv_takes_env(const struct inject *in, uint32_t function);
/*
 * Write an instruction of a function, with the code for the places before and after it. A call passes the environment
 * on.
 */
void spv_write_insn(struct inject *in, uint32_t insn, uint32_t function, struct spv_words *out);
/* Write only the code for the places before the instruction. */
void spv_write_before(struct inject *in, uint32_t insn, uint32_t function, struct spv_words *out);
/*
 * Write an instruction of a function that is not a twin. *first is true until the function's first basic block begins.
 */
void spv_write_function(struct inject *in, uint32_t insn, uint32_t function, bool *first, struct spv_words *out);

/* Emit a call of the site's function. Returns the id of the result. */
uint32_t spv_call_site(struct inject *in, struct spv_words *out, uint32_t site, uint32_t env);
/* Emit code that calls the site in the first lane of each work-group, if the environment has this twin's number. */
void spv_call_first(struct inject *in, struct spv_words *out, uint32_t site, uint32_t twin, uint32_t env);

#endif
