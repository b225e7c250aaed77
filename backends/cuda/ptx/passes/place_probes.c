/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: finds the places of a function, and the probe that runs at each place.
 * Before: the job's sites and insertions, with a cuda_probe for each site.
 * After: in->placed has the places in text order, and the registers that their probes read are known.
 * Requires: in->kernel_node (closure.c).
 */
#include <errno.h>
#include <stdlib.h>

#include "core/wire/name.h"
#include "insn_probe.h"

uint32_t ptx_requested_kinds(const struct ptx_splice *in)
{
	uint32_t kinds = 0;

	for (uint32_t i = 0; i < in->at.job->nsites; i++)
		kinds |= 1u << in->at.job->sites[i].site;
	return kinds;
}

static void collect_needs(struct ptx_splice *in, const struct cuda_probe *probe)
{
	in->copies_result |= probe->reads_result;
	in->reads_sm |= probe->reads_sm;
	in->reads_lane |= probe->reads_lane;
	in->reads_active_mask |= probe->reads_active_mask;
	in->needs_opaque_false |= probe->is_insn_probe && ptx_needs_reconvergence(probe);
}

void ptx_find_probes(struct ptx_splice *in, uint32_t function)
{
	const struct ptx_token *name = &in->m->tokens[in->m->nodes[function].name];
	struct ptx_place *places = NULL;
	char words[256] = "";

	in->nplaced = in->next = 0;
	in->copies_result = in->reads_sm = in->reads_lane = in->reads_active_mask = in->needs_opaque_false = false;
	free(in->placed);
	in->placed = NULL;
	if (ptx_places(in->m, function, ptx_requested_kinds(in), &places, &in->nplaced) == 0)
		in->placed = calloc(in->nplaced + 1, sizeof(*in->placed));
	if (!in->placed) {
		in->err = -ENOMEM;
		in->nplaced = 0;
	}
	if (function != in->kernel_node)
		gpubpf_name_short(in->m->text + name->off, name->len, words);
	for (uint32_t i = 0; i < in->nplaced; i++) {
		uint32_t site = gpubpf_site_at(&in->at, places[i].kind, words, places[i].id);

		in->placed[i] = (struct ptx_site){ places[i],      site == UINT32_MAX ? NULL : &in->probes[site],
						   PTX_NONE,       PTX_NONE,
						   PTX_ACTIVE_OWN, places[i].node };
		/* the probe runs at the branch's target instead, after the barrier */
		if (in->syncs_before_exit && ptx_is_branch_to_exit(&places[i]))
			in->placed[i].probe = NULL;
		if (in->placed[i].probe)
			collect_needs(in, in->placed[i].probe);
	}
	free(places);
	ptx_sink_probes(in);
	ptx_share_active_mask(in);
	ptx_assign_accumulators(in, function);
}
