/* SPDX-License-Identifier: Apache-2.0 */
#include "alike.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec.h"
#include "result_cache.h"

/*
 * Does the code of the BPF program depend on the GPU kernel, because it reads the kernel's name or parameters, or ends
 * threads?
 */
static bool depends_on_kernel(const struct gpubpf_prog *prog)
{
	bool depends = !prog->facts || prog->facts->ctx_args || prog->facts->ctx_constants || prog->facts->ends_thread;

	for (uint32_t i = 0; !depends && i < prog->ninsns; i++) {
		const struct gpubpf_helper *helper = gpubpf_insn_helper(&prog->insns[i]);

		depends = helper && gpubpf_helper_param_arg(helper);
	}
	return depends;
}

int gpubpf_job_reduce(const struct gpubpf_lower_job *job, struct gpubpf_lower_job *reduced)
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

int gpubpf_job_fingerprint(const struct gpubpf_lower_job *job, uint8_t digest[GPUBPF_IMAGE_DIGEST])
{
	struct gpubpf_job_request req = { .kind = GPUBPF_JOB_EMIT };
	struct gpubpf_writer bytes = { 0 };
	int err = gpubpf_job_reduce(job, &req.job);

	if (err < 0)
		return err;
	err = gpubpf_job_request_encode(&req, &bytes);
	if (!err)
		gpubpf_result_cache_key("alike", bytes.data, bytes.size, digest);
	gpubpf_writer_finish(&bytes);
	free((void *)req.job.sites);
	return err;
}
