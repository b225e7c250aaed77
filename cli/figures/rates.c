/* SPDX-License-Identifier: Apache-2.0 */
/* Computes rates, shares and quantiles between two readings of a session. */
#include "figures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns the increase of a counter. A counter that fell was reset by the user, so it counts from 0. */
static uint64_t increase(uint64_t was, uint64_t is)
{
	return is >= was ? is - was : is;
}

uint64_t figures_quantile(const struct figures_slot *slot, uint32_t n, double part)
{
	uint64_t total = 0, seen = 0;
	double rank;

	for (uint32_t i = 0; i < n; i++)
		total += slot[i].count;
	rank = part * (double)total;
	for (uint32_t i = 0; i < n; i++) {
		if (slot[i].count && (double)(seen + slot[i].count) >= rank) {
			double inside = (rank - (double)seen) / (double)slot[i].count;

			return slot[i].min + (uint64_t)((double)(slot[i].max - slot[i].min) * inside);
		}
		seen += slot[i].count;
	}
	return 0;
}

/* Store in `to` the histogram of the amounts that were added since `was`. */
static void subtract_slots(const struct figures_kernel *was, const struct figures_kernel *is, struct figures_slot *to)
{
	uint32_t a = 0;

	memcpy(to, is->slot, is->nslots * sizeof(*to));
	for (uint32_t i = 0; was && i < is->nslots; i++) {
		while (a < was->nslots && was->slot[a].min < to[i].min)
			a++;
		if (a < was->nslots && was->slot[a].min == to[i].min)
			to[i].count = increase(was->slot[a].count, to[i].count);
	}
}

static int add_quantiles(const struct figures_kernel *was, struct figures_rate *r)
{
	const struct figures_kernel *k = r->kernel;
	struct figures_slot *slot = calloc(k->nslots + 1, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	if (k->nslots)
		subtract_slots(r->timed ? was : NULL, k, slot);
	r->p50_ns = figures_quantile(slot, k->nslots, 0.50);
	r->p99_ns = figures_quantile(slot, k->nslots, 0.99);
	r->mean_ns = r->timed ? r->time_ns / r->timed : k->timed ? k->time_ns / k->timed : 0;
	free(slot);
	return 0;
}

/*
 * Store what the maps counted between the readings. A probe may have been attached after the earlier reading, which then
 * has launches but no entry of its map. Then the map's figures of the interval are not known.
 */
static void add_measures(const struct figures_kernel *was, const struct figures_kernel *is, double seconds,
			 struct figures_rate *r)
{
	bool is_new = !was || !was->launches;

	if (is_new || was->has_times) {
		r->timed = increase(was ? was->timed : 0, is->timed);
		r->time_ns = increase(was ? was->time_ns : 0, is->time_ns);
	}
	if (is->has_bytes && (is_new || was->has_bytes)) {
		r->bytes = increase(was ? was->bytes : 0, is->bytes);
		r->bytes_per_s = seconds > 0 ? (double)r->bytes / seconds : -1;
	}
}

static int add_rate(const struct figures_kernel *was, const struct figures_kernel *is, double seconds,
		    struct figures_rate *r)
{
	*r = (struct figures_rate){
		.kernel = is,
		.launches = increase(was ? was->launches : 0, is->launches),
		.launches_per_s = -1,
		.bytes_per_s = -1,
	};
	if (seconds > 0)
		r->launches_per_s = (double)r->launches / seconds;
	add_measures(was, is, seconds, r);
	return add_quantiles(was, r);
}

/* Returns true if all kernels run on one device, because the map of times has no devices. */
static bool has_one_device(const struct figures *f)
{
	for (uint32_t i = 1; i < f->nprocesses; i++)
		if (f->process[i].device != f->process[0].device || strcmp(f->process[i].backend, f->process[0].backend))
			return false;
	return f->nprocesses > 0;
}

/*
 * Returns true if a probe timed the launches between the readings. Launches that run during a reading are counted but not
 * timed yet, so a few may be missing. If a launch began and none ended, the kernel may have run all the time.
 */
static bool is_all_timed(const struct figures_rates *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		const struct figures_rate *rate = &r->rate[i];

		if (rate->launches > rate->timed + 1 + rate->launches / 100)
			return false;
		if (!rate->timed && rate->kernel->probed > rate->kernel->timed)
			return false;
	}
	return true;
}

static void add_shares(const struct figures *is, struct figures_rates *r)
{
	double total = 0;

	for (uint32_t i = 0; i < r->n; i++)
		total += (double)r->rate[i].time_ns;
	for (uint32_t i = 0; i < r->n; i++)
		r->rate[i].share = total > 0 ? (double)r->rate[i].time_ns / total : 0;
	if (r->seconds <= 0 || !is->has_times || !has_one_device(is) || !is_all_timed(r))
		return;
	r->idle = 1 - total / 1e9 / r->seconds;
	if (r->idle < 0)
		r->idle = 0;
}

int figures_rates(const struct figures *was, const struct figures *is, struct figures_rates *r)
{
	int err = 0;

	*r = (struct figures_rates){ .n = is->nkernels, .idle = -1, .launches_per_s = -1 };
	r->seconds = was && is->read_ns > was->read_ns ? (double)(is->read_ns - was->read_ns) / 1e9 : 0;
	r->rate = calloc(r->n + 1, sizeof(*r->rate));
	if (!r->rate)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n && !err; i++) {
		const struct figures_kernel *k = &is->kernel[i];

		err = add_rate(was ? figures_find(was, k->name, k->backend) : NULL, k, r->seconds, &r->rate[i]);
	}
	if (r->seconds > 0)
		r->launches_per_s = (double)increase(was->launches, is->launches) / r->seconds;
	add_shares(is, r);
	return err;
}

void figures_rates_finish(struct figures_rates *r)
{
	free(r->rate);
	*r = (struct figures_rates){ 0 };
}
