/* SPDX-License-Identifier: Apache-2.0 */
/* Identifies equal probes of different kernels, so that the probes of a thousand kernels are compiled once. */
#ifndef GPUBPF_WORKER_JOB_FINGERPRINT_H
#define GPUBPF_WORKER_JOB_FINGERPRINT_H

#include "core/target.h"

/*
 * Copies the job without the inputs that its probes do not depend on: the insertions, and the kernel's names and
 * parameters if no program reads them. The caller frees reduced->sites; all other data belongs to `job`. 0 or -ENOMEM.
 */
int gpubpf_job_reduce(const struct gpubpf_lower_job *job, struct gpubpf_lower_job *reduced);
/*
 * SHA-256 of the reduced job: jobs with equal digests have equal probes. 0, -ENOMEM, or -EINVAL if the job cannot be
 * encoded.
 */
int gpubpf_job_fingerprint(const struct gpubpf_lower_job *job, uint8_t digest[GPUBPF_IMAGE_DIGEST]);

#endif
