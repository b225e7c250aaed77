/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that the runtime repeats later, from a graph or a command list. Each run is counted; none is probed unless a
 * twin was recorded. */
#include "count.h"

#include <stdlib.h>
#include <string.h>

#include "core/wire/checks.h"

struct gpubpf_hook_record {
	struct gpubpf_hook_launch launch;      /* its kernel may be destroyed; the kernel table's entry stays */
	struct gpubpf_kernel_entry *entry;
	const char *reason;
	enum gpubpf_kernel_state state;        /* state of the row that `reason` describes */
	size_t size;                           /* of the whole record */
	uint64_t plan;                         /* plan that `miss` refers to */
	enum gpubpf_miss miss;                 /* why a run of it is not probed */
	bool probed;
	uint32_t nlinks, links[]; /* links whose programs the twin contains; the kernel's full name follows them */
};

static char *name_of(struct gpubpf_hook_record *r)
{
	return (char *)&r->links[r->nlinks];
}

/* binding: of the recorded twin. NULL: the original was recorded. */
static struct gpubpf_hook_record *create_record(const struct gpubpf_hook_launch *l, const struct gpubpf_hook_binding *binding,
						const char *reason)
{
	uint32_t n = binding ? binding->nlinks : 0;
	size_t size = sizeof(struct gpubpf_hook_record) + n * sizeof(uint32_t) + strlen(l->kernel->whole) + 1;
	struct gpubpf_kernel_entry *entry = gpubpf_launch_is_inherited(l) ? NULL :
		gpubpf_kernel_entry(l->kernel->name, l->device->ops->backend, l->device->ordinal, true);
	struct gpubpf_hook_record *r = entry ? calloc(1, size) : NULL;

	if (!r)
		return NULL;
	r->launch = *l;
	r->entry = entry;
	r->reason = reason;
	r->state = GPUBPF_KERNEL_REFUSED;
	r->size = size;
	r->plan = GPUBPF_NO_PLAN;
	r->probed = binding;
	r->nlinks = n;
	if (n)
		memcpy(r->links, binding->links, n * sizeof(*r->links));
	strcpy(name_of(r), l->kernel->whole);
	return r;
}

struct gpubpf_hook_record *gpubpf_hook_record_create(const struct gpubpf_hook_launch *l, const char *reason)
{
	return create_record(l, NULL, reason);
}

static bool is_transient_miss(const struct gpubpf_hook_launch *l)
{
	return l->miss == GPUBPF_MISS_LATE || l->miss == GPUBPF_MISS_CALLBACK;
}

struct gpubpf_hook_record *gpubpf_hook_launch_record(struct gpubpf_hook_launch *l, enum gpubpf_hook_outcome outcome,
						     const char *reason)
{
	struct gpubpf_hook_record *r;

	if (l->followed)
		gpubpf_ref_was_counted(atomic_fetch_sub(&l->device->running, 1)); /* it starts when the record runs */
	if (outcome == GPUBPF_LAUNCH_FAILED)
		return NULL;
	if (l->choice)
		gpubpf_count_time(l);
	r = create_record(l, l->twin && outcome == GPUBPF_LAUNCHED ? l->binding : NULL, reason);
	if (r)
		r->state = GPUBPF_KERNEL_WAITING;
	/* the plan yields no twin: report the reason of a launch, not of a recording */
	if (r && l->choice && !l->twin && !is_transient_miss(l)) {
		r->plan = atomic_load_explicit(&l->choice->plan, memory_order_acquire);
		r->miss = l->miss;
	}
	return r;
}

struct gpubpf_hook_record *gpubpf_hook_record_copy(const struct gpubpf_hook_record *record)
{
	struct gpubpf_hook_record *r = malloc(record->size);

	if (r)
		memcpy(r, record, record->size);
	return r;
}

/* A run of the recorded twin counts for the programs it contains. */
static void count_probed(const struct gpubpf_hook_record *r)
{
	struct gpubpf_kernel_row *k = r->entry->shared;

	gpubpf_kernel_table_add(&k->probed, 1);
	gpubpf_kernel_table_add(&k->launches, 1);
	gpubpf_count_links(r->links, r->nlinks);
	gpubpf_count_shape(k, &r->launch);
	if (r->launch.followed)
		gpubpf_note_written(r->launch.device);
}

void gpubpf_hook_record_launched(struct gpubpf_hook_record *r)
{
	uint64_t plan = gpubpf_plan_generation();

	if (r->probed) {
		count_probed(r);
		return;
	}
	if (r->plan != plan || !gpubpf_session_enabled())
		r->miss = gpubpf_miss_reason(name_of(r));
	r->plan = plan;
	gpubpf_count_unprobed(r->entry, &r->launch, r->miss, r->state, r->reason);
}
