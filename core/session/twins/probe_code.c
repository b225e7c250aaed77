/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assembles the text of the probes, without the kernel, into machine code. The target then inserts this code into the
 * kernel's code.
 *
 * Does: Lets a worker assemble the text of the probes. Before: m->probes is the text that the target emitted. After:
 * m->probes is one piece of machine code, or m->diag has the reason why there is none. Requires: A route with the stage
 * assemble, and an assembler library or the user's assembler.
 */
#include "twin_build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int gpubpf_twin_build_assemble(struct gpubpf_twin_build *m, uint32_t step)
{
	struct gpubpf_twin_image code = { 0 };
	char log[4096] = "", line[160];
	int err = gpubpf_worker_build(m->set->worker[GPUBPF_WORKER_ASSEMBLE], &m->req->caps, &m->probes, &code, log,
				      sizeof(log), &m->diag);

	if (err < 0 && m->diag.code == GPUBPF_E_TARGET_LACKS) { /* no assembler library: use the user's assembler */
		int again = gpubpf_twin_build_assemble_probes(m, &m->probes.piece[0], &code, log, sizeof(log));

		if (again != -ENOENT) {
			gpubpf_diag_init(&m->diag);
			/* -ETIMEDOUT would be reported with the twin's time limit, which is longer */
			err = again == -ETIMEDOUT ? -EINVAL : again;
			if (err < 0 && !log[0])
				gpubpf_diag_set(&m->diag, GPUBPF_E_COMPILE, GPUBPF_NOPC,
						"ptxas produced no machine code for the probes");
		}
	}
	gpubpf_twin_image_finish(&m->probes);
	m->probes = code;
	gpubpf_compiler_log_summary(log, line, sizeof(line));
	if (err < 0 && line[0])
		gpubpf_diag_set(&m->diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "the assembler refused the probes: %s", line);
	return err;
}
