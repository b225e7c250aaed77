/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and frees the session's data about twins. Gives other folders access to requests, verdicts and costs. */
#include "private.h"

#include <errno.h>
#include <stdlib.h>

#include "build_pool.h"

int gpubpf_twins_create(struct gpubpf_session *s)
{
	s->twins = calloc(1, sizeof(*s->twins));
	return s->twins ? 0 : -ENOMEM;
}

void gpubpf_twins_destroy(struct gpubpf_session *s)
{
	if (!s->twins)
		return;
	gpubpf_twins_stop(s);
	for (uint32_t i = 0; i < s->twins->nverdicts; i++) {
		gpubpf_twin_put(s->twins->verdicts[i].twin);
		free(s->twins->verdicts[i].functions);
	}
	free(s->twins->verdicts);
	free(s->twins->assembler);
	free(s->twins);
	s->twins = NULL;
}

int gpubpf_twins_start(struct gpubpf_session *s, int wake)
{
	return gpubpf_builders_create(s, wake, &s->twins->builders);
}

void gpubpf_twins_stop(struct gpubpf_session *s)
{
	gpubpf_builders_destroy(s->twins->builders);
	s->twins->builders = NULL;
	s->twins->pending = 0;
}

void gpubpf_twins_submit(struct gpubpf_session *s, struct gpubpf_twin_req *req)
{
	s->twins->pending++;
	gpubpf_builders_submit(s->twins->builders, req);
}

struct gpubpf_twin_req *gpubpf_twins_collect(struct gpubpf_session *s)
{
	return gpubpf_builders_collect(s->twins->builders);
}

uint32_t gpubpf_session__pending(const struct gpubpf_session *s)
{
	return s->twins->pending;
}

bool gpubpf_twins_current(const struct gpubpf_session *s, char *kernel, size_t size, uint32_t *step)
{
	return gpubpf_builders_current(s->twins->builders, kernel, size, step);
}

const struct gpubpf_verdict *gpubpf_verdict_at(const struct gpubpf_session *s, uint32_t i)
{
	return i < s->twins->nverdicts ? &s->twins->verdicts[i] : NULL;
}

const struct gpubpf_cost_stats *gpubpf_session_costs(const struct gpubpf_session *s)
{
	return &s->twins->cost;
}

void gpubpf_session_add_cost(struct gpubpf_session *s, uint64_t load_ns, uint64_t verify_ns)
{
	s->twins->cost.load_ns += load_ns;
	s->twins->cost.verify_ns += verify_ns;
}
