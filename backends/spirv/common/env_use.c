/* SPDX-License-Identifier: Apache-2.0 */
#include "env_use.h"

#define HELPER_READ_ARG 520 /* include/gpubpf/helpers.def */

/* The number of the parameter is a constant argument of the helper (ARG_CONST). */
static void use_call(const struct gpubpf_call_facts *call, struct gpubpf_env_use *use)
{
	if (call && (call->konst_mask & 2))
		use->read |= 1ull << (call->konst[1] < 63 ? call->konst[1] : 63);
	else
		use->read = UINT64_MAX;
}

static void use_program(const struct gpubpf_prog *prog, struct gpubpf_env_use *use)
{
	const struct gpubpf_facts *facts = prog->facts;

	use->args |= facts ? facts->ctx_args : UINT64_MAX;
	for (uint32_t i = 0; i < prog->ninsns; i++)
		if (prog->insns[i].kind == GPUBPF_INSN_CALL && prog->insns[i].imm == HELPER_READ_ARG)
			use_call(facts ? facts->insn[i].call : NULL, use);
}

void gpubpf_env_use(const struct gpubpf_lower_job *job, uint32_t site, struct gpubpf_env_use *use)
{
	const struct gpubpf_site_desc *desc;

	if (site == UINT32_MAX)
		return;
	desc = &job->sites[site];
	for (uint32_t i = 0; i < desc->nprogs; i++) {
		const struct gpubpf_prog *prog = &job->unit->progs[desc->progs[i]];

		use_program(prog, use);
		use->ends_thread |= desc->site == GPUBPF_SITE_ENTRY && desc->may_end_thread && prog->facts &&
				    prog->facts->ends_thread;
	}
}

bool gpubpf_env_reads_bytes(const struct gpubpf_env_use *use, const struct gpubpf_site_desc *site, uint32_t i)
{
	const struct gpubpf_param *p = &site->params[i];

	return (use->read >> (i < 63 ? i : 63) & 1) && p->size && p->bytes_off != UINT32_MAX;
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
