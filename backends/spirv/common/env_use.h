/* SPDX-License-Identifier: Apache-2.0 */
/* Which members of struct gpubpf_env the programs of a kernel's sites read. Wrappers in OpenCL C and in SPIR-V share
 * this. */
#ifndef GPUBPF_BACKENDS_SPIRV_COMMON_ENV_USE_H
#define GPUBPF_BACKENDS_SPIRV_COMMON_ENV_USE_H

#include "core/lower/lower.h"

struct gpubpf_env_use {
	uint64_t args;        /* bit i: a program reads ctx->arg[i] */
	uint64_t params_read; /* bit i: helper 520 reads parameter i; bit 63: any parameter from 63 on */
	bool ends_thread;     /* a program at the entry site may request the end of its thread, and is allowed to */
};

/* Add to *use the members that the programs of a site read. site: index in the job; UINT32_MAX adds nothing. */
void gpubpf_env_use(const struct gpubpf_lower_job *job, uint32_t site, struct gpubpf_env_use *use);
/* Bit i: a program of the site reads word i of the words that its places capture (core/lower/ctx.h). */
uint64_t gpubpf_env_words(const struct gpubpf_lower_job *job, uint32_t site);
/* Returns the kernel's first site that is not on a function: its params[] are the kernel's. If there is none, returns
 * the site itself. */
const struct gpubpf_site_desc *gpubpf_env_site(const struct gpubpf_lower_job *job, uint32_t site);
/* Does a program read the bytes of parameter i, and does the site reserve room for them? */
bool gpubpf_env_reads_bytes(const struct gpubpf_env_use *use, const struct gpubpf_site_desc *site, uint32_t i);
/* Does a program at a place other than the kernel's entry end threads? At such a place one lane can leave while the
 * other lanes continue. */
bool gpubpf_env_ends_inside(const struct gpubpf_lower_job *job, const char *kernel);
/* Returns the size of gpubpf_env.arg_bytes in bytes; 0: no program reads it. */
uint32_t gpubpf_env_bytes(const struct gpubpf_env_use *use, const struct gpubpf_site_desc *site);

#endif
