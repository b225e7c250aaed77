/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's side of core/worker/job.h: the workers (enum gpubpf_worker_kind) are the same loop over different tables. */
#ifndef GPUBPF_WORKER_SERVE_H
#define GPUBPF_WORKER_SERVE_H

#include "core/target.h"

struct gpubpf_serve_ops {
	/* The target of that name, NULL: there is none; gpubpf_target_find() but for tests. */
	const struct gpubpf_target_info *(*target)(const char *name);
	/* GPUBPF_JOB_BUILD, NULL if it does not build */
	int (*build)(const struct gpubpf_device_caps *caps, const struct gpubpf_twin_image *pieces,
		     struct gpubpf_twin_image *out, char *log, size_t log_size, struct gpubpf_diag *diag);
	/* after start-up, before the first job: seccomp, limits. A vendor's compiler needs a wider one. */
	int (*sandbox)(struct gpubpf_diag *diag);
};

/* Serve jobs from descriptor `fd` until it closes. The exit status of the process. */
int gpubpf_worker_serve(int fd, const struct gpubpf_serve_ops *ops);

#endif
