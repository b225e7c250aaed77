/* SPDX-License-Identifier: Apache-2.0 */
/* Probes as machine code by themselves, which is put into the kernel's. */
#include "twin_make.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/worker/job.h"

void gpubpf_telling_line(const char *log, char *buf, size_t size)
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

struct gpubpf_worker *gpubpf_making_reader(const struct gpubpf_making *m)
{
	return m->set->worker[m->target->worker];
}

/* Is the program's code another in each kernel, by its name or its parameters? */
static bool depends_on_kernel(const struct gpubpf_prog *prog)
{
	bool depends = !prog->facts || prog->facts->ctx_args || prog->facts->ctx_constants || prog->facts->ends_thread;

	for (uint32_t i = 0; !depends && i < prog->ninsns; i++) {
		const struct gpubpf_helper *helper = gpubpf_insn_helper(&prog->insns[i]);

		depends = helper && gpubpf_helper_param_arg(helper);
	}
	return depends;
}

/* What probes are alike in goes without what they differ in: those of a thousand kernels are then one job, and made once.
 * Where in the kernel they stand is no matter of theirs. */
static int reduce(const struct gpubpf_lower_job *job, struct gpubpf_lower_job *reduced)
{
	struct gpubpf_site_desc *sites = malloc((job->nsites + 1) * sizeof(*sites));
	bool depends = false;

	if (!sites)
		return -ENOMEM;
	memcpy(sites, job->sites, job->nsites * sizeof(*sites));
	for (uint32_t i = 0; i < job->nsites; i++)
		for (uint32_t k = 0; k < sites[i].nprogs; k++)
			depends |= depends_on_kernel(&job->unit->progs[sites[i].progs[k]]);
	for (uint32_t i = 0; i < job->nsites && !depends; i++) {
		sites[i].kernel[0] = sites[i].function[0] = 0;
		sites[i].params = NULL;
		sites[i].nparams = 0;
	}
	*reduced = *job;
	reduced->sites = sites;
	reduced->insertions = NULL;
	reduced->ninsertions = 0;
	return 0;
}

int gpubpf_making_assemble(struct gpubpf_making *m, const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts,
			   struct gpubpf_twin_image *probes)
{
	struct gpubpf_twin_image text = { .piece[0].kind = m->target->output, .npieces = 1 };
	char log[4096] = "", line[160];
	struct gpubpf_lower_job reduced;
	int err = reduce(job, &reduced);

	if (err < 0)
		return err;
	err = gpubpf_worker_emit(gpubpf_making_reader(m), m->target->name, &reduced, opts, &text.piece[0].blob, &m->diag);
	free((void *)reduced.sites);
	if (err < 0)
		return err;
	err = gpubpf_worker_build(m->set->worker[GPUBPF_WORKER_ASSEMBLE], &m->req->caps, &text, probes, log, sizeof(log),
				  &m->diag);
	free(text.piece[0].blob.data);
	gpubpf_telling_line(log, line, sizeof(line));
	if (err < 0 && line[0])
		gpubpf_diag_set(&m->diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "the assembler refused the probes: %s", line);
	return err;
}
