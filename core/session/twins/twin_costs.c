/* SPDX-License-Identifier: Apache-2.0 */
/* Adds finished requests for twins to the session's costs, and stores verdicts about their kernels. */
#include "build_pool.h"

#include <stdlib.h>
#include <string.h>

#include "core/session/base/named_places.h"
#include "private.h"

static void store_verdict(struct gpubpf_session *s, struct gpubpf_twin *twin, const struct gpubpf_twin_kernel *k,
			  const char *reason)
{
	struct gpubpf_verdict *grown;

	for (uint32_t i = 0; i < s->twins->nverdicts; i++)
		if (!strcmp(s->twins->verdicts[i].name, k->name)) {
			for (size_t n = 0; n < sizeof(k->named); n++)
				s->twins->verdicts[i].named[n] |= k->named[n];
			return;
		}
	if (s->twins->nverdicts == GPUBPF_MAX_KERNEL_IDS)
		return;
	grown = realloc(s->twins->verdicts, (s->twins->nverdicts + 1) * sizeof(*grown));
	if (!grown)
		return;
	s->twins->verdicts = grown;
	grown += s->twins->nverdicts++;
	memset(grown, 0, sizeof(*grown));
	snprintf(grown->name, sizeof(grown->name), "%s", k->name);
	snprintf(grown->reason, sizeof(grown->reason), "%s", reason);
	grown->entry_only = k->entry_only;
	grown->route = twin->route;
	snprintf(grown->instead, sizeof(grown->instead), "%s", twin->instead);
	memcpy(grown->named, k->named, sizeof(grown->named));
	if (k->places) {
		__atomic_add_fetch(&twin->refs, 1, __ATOMIC_RELAXED);
		grown->twin = twin;
		grown->places = k->places;
		grown->nplaces = k->nplaces;
	}
	if (!k->functions || s->twins->function_bytes > GPUBPF_MAX_FUNCTION_BYTES)
		return;
	grown->functions = strdup(k->functions);
	s->twins->function_bytes += strlen(k->functions);
}

/*
 * Returns true if the twin has no image only because its kernels have no insertions. In that case no reason is stored.
 */
static bool is_without_insertions(const struct gpubpf_twin *twin)
{
	for (uint32_t i = 0; i < twin->nkernels; i++)
		if (twin->kernels[i].reason[0])
			return false;
	return !twin->reason[0];
}

void gpubpf_twin_account(struct gpubpf_session *s, const struct gpubpf_twin_req *req)
{
	struct gpubpf_twin *twin = req->twin;
	bool ahead = twin && req->cached && __atomic_exchange_n(&twin->ahead, 0, __ATOMIC_RELAXED);
	bool cached = req->cached && !ahead;

	s->twins->pending--;
	if (!twin)
		return;
	s->twins->cost.ahead += ahead && twin->image;
	if (!twin->image)
		s->twins->cost.refused += !is_without_insertions(twin);
	else if (cached || twin->from_disk)
		s->twins->cost.cached++;
	else
		s->twins->cost.twins++;
	s->twins->cost.queue_ns += req->queue_ns;
	if (!cached) {
		s->twins->cost.lower_ns += twin->lower_ns;
		s->twins->cost.build_ns += twin->build_ns;
	}
	for (uint32_t i = 0; i < twin->nkernels; i++)
		gpubpf_kernel_set_signature(s, twin->kernels[i].id, &twin->kernels[i].signature);
	for (uint32_t i = 0; i < twin->nkernels; i++)
		if (twin->kernels[i].twin[0])
			gpubpf_kernel_set_route(s, twin->kernels[i].id, twin->route, twin->assembler);
	for (uint32_t i = 0; i < twin->nkernels; i++)
		if (s->opts.inspect || twin->kernels[i].functions || gpubpf_named_first_program(gpubpf_session_unit(s)))
			store_verdict(s, twin, &twin->kernels[i], twin->reason[0] ? twin->reason : twin->kernels[i].reason);
}
