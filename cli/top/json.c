/* SPDX-License-Identifier: Apache-2.0 */
/* Prints one state of `top` as JSON. A figure that is not known is null. */
#include "top.h"

#include <json-c/json.h>

#include "core/session/base/json_write.h"

static struct json_object *to_double(bool known, double v)
{
	return known ? json_object_new_double(v) : NULL;
}

static struct json_object *to_int(bool known, uint64_t v)
{
	return known ? json_object_new_uint64(v) : NULL;
}

static struct json_object *make_kernel(const struct figures_rate *r)
{
	const struct figures_kernel *k = r->kernel;
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "name", json_object_new_string(k->name));
	json_object_object_add(o, "backend", json_object_new_string(k->backend));
	json_object_object_add(o, "launches", json_object_new_uint64(k->launches));
	json_object_object_add(o, "probed", json_object_new_uint64(k->probed));
	json_object_object_add(o, "launches_per_s", to_double(r->launches_per_s >= 0, r->launches_per_s));
	json_object_object_add(o, "time_ns", to_int(k->has_times, r->time_ns));
	json_object_object_add(o, "share", to_double(k->has_times && r->timed, r->share));
	json_object_object_add(o, "mean_ns", to_int(k->timed, r->mean_ns));
	json_object_object_add(o, "p50_ns", to_int(k->nslots, r->p50_ns));
	json_object_object_add(o, "p99_ns", to_int(k->nslots, r->p99_ns));
	json_object_object_add(o, "bytes_per_s", to_double(r->bytes_per_s >= 0, r->bytes_per_s));
	return o;
}

static struct json_object *make_process(const struct figures_process *p)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "pid", json_object_new_uint64(p->pid));
	json_object_object_add(o, "program", json_object_new_string(p->program));
	json_object_object_add(o, "backend", json_object_new_string(p->backend));
	json_object_object_add(o, "device", json_object_new_uint64(p->device));
	json_object_object_add(o, "device_name", json_object_new_string(p->device_name));
	json_object_object_add(o, "launches", json_object_new_uint64(p->launches));
	json_object_object_add(o, "probed", json_object_new_uint64(p->probed));
	return o;
}

void top_print_json(const struct top *t, FILE *out)
{
	struct json_object *o = json_object_new_object(), *kernels = json_object_new_array(),
			   *processes = json_object_new_array();

	json_object_object_add(o, "schema", json_object_new_int(1));
	json_object_object_add(o, "session", json_object_new_string(t->path));
	json_object_object_add(o, "interval_s", to_double(t->rates.seconds > 0, t->rates.seconds));
	json_object_object_add(o, "launches_per_s", to_double(t->rates.launches_per_s >= 0, t->rates.launches_per_s));
	json_object_object_add(o, "idle_at_least", to_double(t->rates.idle >= 0, t->rates.idle));
	json_object_object_add(o, "dropped", json_object_new_uint64(t->is.dropped));
	json_object_object_add(o, "cost_factor", to_double(t->is.cost_factor > 0, t->is.cost_factor));
	for (uint32_t i = 0; i < t->rates.n; i++)
		json_object_array_add(kernels, make_kernel(&t->rates.rate[i]));
	for (uint32_t i = 0; i < t->is.nprocesses; i++)
		json_object_array_add(processes, make_process(&t->is.process[i]));
	json_object_object_add(o, "kernels", kernels);
	json_object_object_add(o, "processes", processes);
	gpubpf_json_write(o, out);
}
