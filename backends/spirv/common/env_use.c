/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/lower/ctx.h"
#include "env_use.h"

/*
 * Add the kernel parameter that a helper call reads. Argument `arg` (counted from 1) of the call is the parameter's
 * number. If that number is not constant, add all parameters.
 */
static void add_call(const struct gpubpf_call_facts *call, uint32_t arg, struct gpubpf_env_use *use)
{
	if (call && call->konst_mask >> (arg - 1) & 1)
		use->params_read |= 1ull << (call->konst[arg - 1] < 63 ? call->konst[arg - 1] : 63);
	else
		use->params_read = UINT64_MAX;
}

static void add_program(const struct gpubpf_prog *prog, bool captures, struct gpubpf_env_use *use)
{
	const struct gpubpf_facts *facts = prog->facts;

	if (!captures)
		use->args |= facts ? facts->ctx_args : UINT64_MAX;
	for (uint32_t i = 0; i < prog->ninsns; i++) {
		const struct gpubpf_helper *helper = gpubpf_insn_helper(&prog->insns[i]);

		if (helper && gpubpf_helper_param_arg(helper))
			add_call(facts ? facts->insn[i].call : NULL, gpubpf_helper_param_arg(helper), use);
	}
}

void gpubpf_env_use(const struct gpubpf_lower_job *job, uint32_t site, struct gpubpf_env_use *use)
{
	const struct gpubpf_site_desc *desc;

	if (site == UINT32_MAX)
		return;
	desc = &job->sites[site];
	for (uint32_t i = 0; i < desc->nprogs; i++) {
		const struct gpubpf_prog *prog = &job->unit->progs[desc->progs[i]];

		add_program(prog, ctx_captures(desc->site), use);
		use->ends_thread |= desc->site == GPUBPF_SITE_ENTRY && desc->may_end_thread && prog->facts &&
				    prog->facts->ends_thread;
	}
}

static bool reads_range(const struct gpubpf_prog *prog, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; prog->facts && i < prog->ninsns; i++) {
		const struct gpubpf_access *mem = &prog->facts->insn[i].mem;

		if (prog->insns[i].kind == GPUBPF_INSN_LOAD && mem->spaces & GPUBPF_SPACE_CTX &&
		    mem->off_min < (int64_t)to && (int64_t)mem->off_max + mem->size_max > from)
			return true;
	}
	return !prog->facts;
}

uint64_t gpubpf_env_words(const struct gpubpf_lower_job *job, uint32_t site)
{
	const struct gpubpf_site_desc *desc = &job->sites[site];
	uint64_t words = 0, args = 0;

	for (uint32_t p = 0; ctx_captures(desc->site) && p < desc->nprogs; p++)
		args |= job->unit->progs[desc->progs[p]].facts ? job->unit->progs[desc->progs[p]].facts->ctx_args :
								 UINT64_MAX;
	for (uint32_t i = 0; i < GPUBPF_CTX_ARGS; i++)
		if (args >> i & 1 && ctx_argument_word(i, desc->site) != UINT32_MAX)
			words |= 1ull << ctx_argument_word(i, desc->site);
	for (uint32_t f = 0; f < ctx_nfields; f++)
		for (uint32_t i = 0; i < ctx_fields[f].count; i++) {
			uint32_t word = ctx_field_word(&ctx_fields[f], i, desc->site), off = ctx_fields[f].off;

			for (uint32_t p = 0; word != UINT32_MAX && p < desc->nprogs; p++)
				if (reads_range(&job->unit->progs[desc->progs[p]], off + i * ctx_fields[f].size,
						off + (i + 1) * ctx_fields[f].size))
					words |= 1ull << word;
		}
	return words;
}

const struct gpubpf_site_desc *gpubpf_env_site(const struct gpubpf_lower_job *job, uint32_t site)
{
	for (uint32_t i = 0; i < job->nsites; i++)
		if (!job->sites[i].function[0] && !strcmp(job->sites[i].kernel, job->sites[site].kernel))
			return &job->sites[i];
	return &job->sites[site];
}

bool gpubpf_env_reads_bytes(const struct gpubpf_env_use *use, const struct gpubpf_site_desc *site, uint32_t i)
{
	const struct gpubpf_param *p = &site->params[i];

	return (use->params_read >> (i < 63 ? i : 63) & 1) && p->size && p->bytes_off != UINT32_MAX;
}

uint32_t gpubpf_env_bytes(const struct gpubpf_env_use *use, const struct gpubpf_site_desc *site)
{
	uint32_t size = 0;

	for (uint32_t i = 0; i < site->nparams; i++) {
		const struct gpubpf_param *p = &site->params[i];

		if (gpubpf_env_reads_bytes(use, site, i) && p->bytes_off + p->size > size)
			size = p->bytes_off + p->size;
	}
	return size;
}

bool gpubpf_env_ends_inside(const struct gpubpf_lower_job *job, const char *kernel)
{
	for (uint32_t i = 0; i < job->nsites; i++) {
		const struct gpubpf_site_desc *site = &job->sites[i];

		if (strcmp(site->kernel, kernel) || site->site == GPUBPF_SITE_ENTRY || site->site == GPUBPF_SITE_EXIT)
			continue;
		for (uint32_t p = 0; p < site->nprogs; p++)
			if (job->unit->progs[site->progs[p]].facts->ends_thread)
				return true;
	}
	return false;
}
