/* SPDX-License-Identifier: Apache-2.0 */
/* Finds equal probes of different GPU kernels, so that they are compiled only once. */
#ifndef GPUBPF_WORKER_JOB_FINGERPRINT_H
#define GPUBPF_WORKER_JOB_FINGERPRINT_H

#include "core/target.h"

/*
 * Copies a job without the inputs on which the code of its probes does not depend. These are the insertions and, if no
 * BPF program reads them, the names and parameters of the GPU kernel. The caller frees reduced->sites; all other data
 * belongs to `job`. Returns 0 or -ENOMEM.
 */
int gpubpf_job_reduce(const struct gpubpf_lower_job *job, struct gpubpf_lower_job *reduced);
/*
 * Stores the SHA-256 of the reduced job. Jobs with equal digests have equal probes. Returns 0, -ENOMEM, or -EINVAL if
 * the job cannot be encoded.
 */
int gpubpf_job_fingerprint(const struct gpubpf_lower_job *job, uint8_t digest[GPUBPF_IMAGE_DIGEST]);

#endif
