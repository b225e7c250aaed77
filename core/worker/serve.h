/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's part of core/worker/job.h. All kinds of workers (enum gpubpf_worker_kind) run this loop, with different
 * operations.
 */
#ifndef GPUBPF_WORKER_SERVE_H
#define GPUBPF_WORKER_SERVE_H

#include "core/target.h"

struct gpubpf_serve_ops {
	/* Returns the target of that name, or NULL. This is gpubpf_target_find(), except in tests. */
	const struct gpubpf_target_info *(*target)(const char *name);
	/* runs a job GPUBPF_JOB_BUILD; NULL: this worker does not support such jobs */
	int (*build)(const struct gpubpf_device_caps *caps, const struct gpubpf_twin_image *pieces,
		     struct gpubpf_twin_image *out, char *log, size_t log_size, struct gpubpf_diag *diag);
	/* runs a job GPUBPF_JOB_ASSEMBLE; NULL: this worker does not support such jobs */
	int (*assemble)(const struct gpubpf_assembly *what, struct gpubpf_twin_image *out, char *log, size_t log_size,
			struct gpubpf_diag *diag);
	/*
	 * Enters the sandbox before the first job. NULL: no sandbox. Workers that run a vendor's compiler enter a less
	 * strict sandbox.
	 */
	int (*sandbox)(struct gpubpf_diag *diag);
};

/*
 * Runs jobs that arrive at the socket `fd`, until the tool closes the socket. Returns the exit status of the process.
 */
int gpubpf_worker_serve(int fd, const struct gpubpf_serve_ops *ops);

#endif
