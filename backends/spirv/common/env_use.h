/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines which members of struct gpubpf_env are read by the BPF programs at a kernel's sites. The wrappers in
 * OpenCL C and in SPIR-V set only these members.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_COMMON_ENV_USE_H
#define GPUBPF_BACKENDS_SPIRV_COMMON_ENV_USE_H

#include "core/lower/lower.h"

struct gpubpf_env_use {
	uint64_t args; /* bit i: a BPF program reads ctx->arg[i] */
	/* bit i: helper 520 reads parameter i (bit 63: parameter 63 or a higher one) */
	uint64_t params_read;
	bool ends_thread; /* a BPF program at the kernel's entry may end its thread, and the site permits that */
};

/*
 * Add to *use the members that the BPF programs of a site read. `site` is an index into job->sites; UINT32_MAX adds
 * nothing.
 */
void gpubpf_env_use(const struct gpubpf_lower_job *job, uint32_t site, struct gpubpf_env_use *use);
/* Returns a bit mask: bit i is set if a BPF program of the site reads captured word i (core/lower/ctx.h). */
uint64_t gpubpf_env_words(const struct gpubpf_lower_job *job, uint32_t site);
/*
 * Returns the first site that is in the kernel itself, not in a function that it calls: params[] of that site describes
 * the kernel's parameters. If the kernel has no such site, returns the site with the index `site`.
 */
const struct gpubpf_site_desc *gpubpf_env_site(const struct gpubpf_lower_job *job, uint32_t site);
/* Returns true if a BPF program reads the bytes of parameter i and the site reserves space for them. */
bool gpubpf_env_reads_bytes(const struct gpubpf_env_use *use, const struct gpubpf_site_desc *site, uint32_t i);
/*
 * Returns true if a BPF program can end threads at a place other than the kernel's entry. At such a place one lane can
 * exit while the other lanes continue.
 */
bool gpubpf_env_ends_inside(const struct gpubpf_lower_job *job, const char *kernel);
/* Returns the size of gpubpf_env.arg_bytes in bytes, or 0 if no BPF program reads it. */
uint32_t gpubpf_env_bytes(const struct gpubpf_env_use *use, const struct gpubpf_site_desc *site);

#endif
