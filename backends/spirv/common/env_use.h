/* SPDX-License-Identifier: Apache-2.0 */
/* What of struct gpubpf_env the programs of a kernel's sites need: the same for a wrapper in OpenCL C and
 * for one in SPIR-V. */
#ifndef GPUBPF_BACKENDS_SPIRV_COMMON_ENV_USE_H
#define GPUBPF_BACKENDS_SPIRV_COMMON_ENV_USE_H

#include "core/lower/lower.h"

struct gpubpf_env_use {
	uint64_t args;         /* bit i: arg[i] */
	uint64_t read;         /* bit i: helper 520 reads parameter i; bit 63: any from 63 on */
	bool ends_thread;      /* the entry site may ask to end the thread, and may do so here */
};

/* Add what the programs of a site need; UINT32_MAX: no site. */
void gpubpf_env_use(const struct gpubpf_lower_job *job, uint32_t site, struct gpubpf_env_use *use);
/* Bit i: a program of the site reads word i of what its places give (core/lower/ctx.h). */
uint64_t gpubpf_env_words(const struct gpubpf_lower_job *job, uint32_t site);
/* A site on the same kernel whose parameters are the kernel's; where all are functions', the site itself. */
const struct gpubpf_site_desc *gpubpf_env_site(const struct gpubpf_lower_job *job, uint32_t site);
/* Are the bytes of parameter i needed, and does the site have a place for them? */
bool gpubpf_env_reads_bytes(const struct gpubpf_env_use *use, const struct gpubpf_site_desc *site, uint32_t i);
/* Does a program at the kernel's places end threads elsewhere than at its entry? There a lane can leave alone. */
bool gpubpf_env_ends_inside(const struct gpubpf_lower_job *job, const char *kernel);
/* Size of arg_bytes, 0: none. */
uint32_t gpubpf_env_bytes(const struct gpubpf_env_use *use, const struct gpubpf_site_desc *site);

#endif
