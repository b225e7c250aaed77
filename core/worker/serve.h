/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's side of core/worker/job.h. All workers (enum gpubpf_worker_kind) run this loop with different tables. */
#ifndef GPUBPF_WORKER_SERVE_H
#define GPUBPF_WORKER_SERVE_H

#include "core/target.h"

struct gpubpf_serve_ops {
	/* Returns the target of that name, NULL: none. This is gpubpf_target_find() except in tests. */
	const struct gpubpf_target_info *(*target)(const char *name);
	/* runs GPUBPF_JOB_BUILD; NULL: the worker does not support it */
	int (*build)(const struct gpubpf_device_caps *caps, const struct gpubpf_twin_image *pieces,
		     struct gpubpf_twin_image *out, char *log, size_t log_size, struct gpubpf_diag *diag);
	/* Enters the sandbox (seccomp, limits), before the first job. NULL: no sandbox. Workers with a vendor's
	 * compiler pass a less strict one. */
	int (*sandbox)(struct gpubpf_diag *diag);
};

/* Serves jobs from descriptor `fd` until it closes. Returns the exit status of the process. */
int gpubpf_worker_serve(int fd, const struct gpubpf_serve_ops *ops);

#endif
