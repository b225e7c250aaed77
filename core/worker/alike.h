/* SPDX-License-Identifier: Apache-2.0 */
/* What probes of different kernels have in common: those of a thousand kernels are then made once. */
#ifndef GPUBPF_WORKER_ALIKE_H
#define GPUBPF_WORKER_ALIKE_H

#include "core/target.h"

/* The job without what its probes do not depend on: where in the kernel they stand; and, where no program asks for it, which
 * kernel that is. reduced->sites is malloc'd, the rest the job's. 0 or -ENOMEM. */
int gpubpf_job_reduce(const struct gpubpf_lower_job *job, struct gpubpf_lower_job *reduced);
/* SHA-256 of that: probes of jobs with the same one are the same. 0; -ENOMEM; -EINVAL: it holds what cannot be sent. */
int gpubpf_job_alike(const struct gpubpf_lower_job *job, uint8_t digest[GPUBPF_IMAGE_DIGEST]);

#endif
