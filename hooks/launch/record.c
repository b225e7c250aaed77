/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches that the runtime recorded in a graph or a command list. Each run of a recorded launch is counted. The run is
 * probed only if the runtime recorded a twin.
 */
#include "count.h"

#include <stdlib.h>
#include <string.h>

#include "core/wire/checks.h"

struct gpubpf_hook_record {
	struct gpubpf_hook_launch launch; /* launch.kernel may have been destroyed; `entry` stays valid */
	struct gpubpf_kernel_entry *entry;
	const char *reason;
	enum gpubpf_kernel_state state; /* state that is stored in the kernel table together with `reason` */
	size_t size;                    /* bytes of this record, including links[] and the name */
	uint64_t plan;                  /* plan generation for which `miss` was determined */
	enum gpubpf_miss miss;          /* why runs of the record are not probed */
	bool probed;
	/* indices of the links whose BPF programs the twin contains; the kernel's full name follows */
	uint32_t nlinks, links[];
};

static char *name_of(struct gpubpf_hook_record *r)
{
	return (char *)&r->links[r->nlinks];
}

/* binding: the binding with the recorded twin, or NULL if the runtime recorded the original */
static struct gpubpf_hook_record *create_record(const struct gpubpf_hook_launch *l,
						const struct gpubpf_hook_binding *binding, const char *reason)
{
	uint32_t n = binding ? binding->nlinks : 0;
	size_t size = sizeof(struct gpubpf_hook_record) + n * sizeof(uint32_t) + strlen(l->kernel->full_name) + 1;
	struct gpubpf_kernel_entry *entry = gpubpf_launch_is_inherited(l) ?
						    NULL :
						    gpubpf_kernel_entry(l->kernel->name, l->device->ops->backend,
									l->device->ordinal, true);
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
	strcpy(name_of(r), l->kernel->full_name);
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

	gpubpf_launch_end_host(l, outcome);
	if (l->followed)
		/* the twin starts later, so it does not count as running now */
		gpubpf_ref_was_counted(atomic_fetch_sub(&l->device->running, 1));
	if (outcome == GPUBPF_LAUNCH_FAILED)
		return NULL;
	if (l->dispatch)
		gpubpf_count_time(l);
	r = create_record(l, l->twin && outcome == GPUBPF_LAUNCHED ? l->binding : NULL, reason);
	if (r)
		r->state = GPUBPF_KERNEL_WAITING;
	/*
	 * The plan has no twin for the kernel. Each run of the record counts this launch's miss reason, which an
	 * unrecorded launch would count too.
	 */
	if (r && l->dispatch && !l->twin && !is_transient_miss(l)) {
		r->plan = atomic_load_explicit(&l->dispatch->plan, memory_order_acquire);
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

/* Count a run of the recorded twin, and count it for each link that the twin contains. */
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
