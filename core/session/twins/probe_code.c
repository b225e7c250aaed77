/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assembles the probes, without the kernel, into machine code, which the target then inserts into the kernel's code.
 *
 * Does: Emits the job's probes as text, and lets a worker assemble the text. Before: The sites of the twin are
 * selected. After: The image `probes` has one piece of machine code, or m->diag has the reason for its absence.
 * Requires: A target with `assembled`, and an assembler library or the user's assembler.
 */
#include "twin_build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/worker/alike.h"
#include "core/worker/job.h"

void gpubpf_compiler_log_summary(const char *log, char *buf, size_t size)
{
	const char *line = strstr(log, "error:"), *end = log + strlen(log);
	size_t n;

	while (end > log && strchr(" \t\r\n", end[-1]))
		end--;
	if (!line)
		for (line = end; line > log && line[-1] != '\n';)
			line--;
	n = strcspn(line, "\r\n");
	snprintf(buf, size, "%.*s", (int)(n < size ? n : size - 1), line);
}

struct gpubpf_worker *gpubpf_twin_build_reader(const struct gpubpf_twin_build *m)
{
	return m->set->worker[m->target->worker];
}

int gpubpf_twin_build_assemble(struct gpubpf_twin_build *m, const struct gpubpf_lower_job *job,
			       const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *probes)
{
	struct gpubpf_twin_image text = { .piece[0].kind = m->target->output, .npieces = 1 };
	char log[4096] = "", line[160];
	struct gpubpf_lower_job reduced;
	int err = gpubpf_job_reduce(job, &reduced);

	if (err < 0)
		return err;
	err = gpubpf_worker_emit(gpubpf_twin_build_reader(m), m->target->name, &reduced, opts, &text.piece[0].blob,
				 &m->diag);
	free((void *)reduced.sites);
	if (err < 0)
		return err;
	err = gpubpf_worker_build(m->set->worker[GPUBPF_WORKER_ASSEMBLE], &m->req->caps, &text, probes, log,
				  sizeof(log), &m->diag);
	if (err < 0 && m->diag.code == GPUBPF_E_TARGET_LACKS) { /* no assembler library: use the user's assembler */
		int again = gpubpf_twin_build_assemble_probes(m, &text.piece[0], probes, log, sizeof(log));

		if (again != -ENOENT) {
			gpubpf_diag_init(&m->diag);
			err = again == -ETIMEDOUT ? -EINVAL : again; /* not -ETIMEDOUT, which would refer to the twin's
								      * longer time limit */
			if (err < 0 && !log[0])
				gpubpf_diag_set(&m->diag, GPUBPF_E_COMPILE, GPUBPF_NOPC,
						"ptxas produced no machine code for the probes");
		}
	}
	free(text.piece[0].blob.data);
	gpubpf_compiler_log_summary(log, line, sizeof(line));
	if (err < 0 && line[0])
		gpubpf_diag_set(&m->diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "the assembler refused the probes: %s", line);
	return err;
}
