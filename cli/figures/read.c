/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the report of a session into struct figures. The report is not trusted: members may be missing. */
#include "figures.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "core/session/session.h"

struct json_object *figures_member(struct json_object *o, const char *name)
{
	struct json_object *v = NULL;

	if (o && json_object_is_type(o, json_type_object))
		json_object_object_get_ex(o, name, &v);
	return v;
}

static const char *get_text(struct json_object *o, const char *name)
{
	struct json_object *v = figures_member(o, name);

	return v && json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
}

static uint64_t get_number(struct json_object *o, const char *name)
{
	struct json_object *v = figures_member(o, name);

	return v ? json_object_get_uint64(v) : 0;
}

static size_t count_elements(struct json_object *list)
{
	return list && json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

/* -- kernels and processes -- */

static int compare_kernels(const void *a, const void *b)
{
	const struct figures_kernel *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->backend, y->backend);
}

static int read_kernels(struct figures *f)
{
	struct json_object *list = figures_member(f->document, "kernels");
	size_t n = count_elements(list);

	f->kernel = calloc(n + 1, sizeof(*f->kernel));
	if (!f->kernel)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		f->kernel[f->nkernels++] = (struct figures_kernel){
			.name = get_text(o, "name"),
			.backend = get_text(o, "backend"),
			.outcome = get_text(o, "outcome"),
			.launches = get_number(o, "launches"),
			.probed = get_number(o, "probed"),
		};
		f->launches += get_number(o, "launches");
	}
	qsort(f->kernel, n, sizeof(*f->kernel), compare_kernels);
	return 0;
}

static int read_processes(struct figures *f)
{
	struct json_object *list = figures_member(f->document, "device_list");
	size_t n = count_elements(list);

	f->process = calloc(n + 1, sizeof(*f->process));
	if (!f->process)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		f->process[f->nprocesses++] = (struct figures_process){
			.process = get_number(o, "process"),
			.device = get_number(o, "device"),
			.pid = get_number(o, "pid"),
			.program = get_text(o, "program"),
			.backend = get_text(o, "backend"),
			.device_name = get_text(o, "name"),
			.launches = get_number(o, "launches"),
			.probed = get_number(o, "probed"),
		};
	}
	return 0;
}

/* -- maps whose keys are kernels -- */

/* Returns the first kernel of this name, whatever its backend: maps do not distinguish backends. */
static struct figures_kernel *find_by_name(const struct figures *f, const char *name)
{
	uint32_t low = 0, high = f->nkernels;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (strcmp(f->kernel[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < f->nkernels && !strcmp(f->kernel[low].name, name) ? &f->kernel[low] : NULL;
}

static int add_slots(struct figures_kernel *k, struct json_object *list)
{
	size_t n = count_elements(list);

	free(k->slot);
	k->nslots = 0;
	k->slot = calloc(n + 1, sizeof(*k->slot));
	for (size_t i = 0; k->slot && i < n; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		k->slot[k->nslots++] = (struct figures_slot){
			.min = get_number(o, "min"),
			.max = get_number(o, "max"),
			.count = get_number(o, "count"),
		};
	}
	return k->slot ? 0 : -ENOMEM;
}

static int add_times(struct figures_kernel *k, struct json_object *launches)
{
	k->has_times = true;
	k->timed += get_number(launches, "count");
	k->time_ns += get_number(launches, "sum");
	return add_slots(k, figures_member(figures_member(launches, "quantiles"), "histogram"));
}

/* Add the members of a value that are numbers of bytes. Returns true if there are any. */
static bool add_bytes(struct figures_kernel *k, struct json_object *value)
{
	static const char *const names[] = { "bytes", "loaded", "stored" };
	bool found = false;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!json_object_is_type(figures_member(value, names[i]), json_type_int))
			continue;
		k->bytes += get_number(value, names[i]);
		k->has_bytes = found = true;
	}
	return found;
}

static int read_entry(struct figures *f, struct json_object *map, struct json_object *entry)
{
	struct json_object *value = figures_member(entry, "value");
	struct figures_kernel *k = find_by_name(f, get_text(entry, "key"));

	if (!k || !value)
		return 0;
	f->has_bytes |= add_bytes(k, value);
	if (strcmp(get_text(map, "name"), "kerneltime"))
		return 0;
	return add_times(k, figures_member(value, "launches"));
}

static int read_maps(struct figures *f)
{
	struct json_object *maps = figures_member(f->document, "maps");
	int err = 0;

	for (size_t m = 0; m < count_elements(maps) && !err; m++) {
		struct json_object *map = json_object_array_get_idx(maps, m), *entries = figures_member(map, "entries");

		f->has_times |= !strcmp(get_text(map, "name"), "kerneltime");
		for (size_t i = 0; i < count_elements(entries) && !err; i++)
			err = read_entry(f, map, json_object_array_get_idx(entries, i));
	}
	return err;
}

/* -- the report -- */

int figures_parse(struct json_object *document, struct figures *f)
{
	struct json_object *maps = figures_member(document, "maps");
	int err;

	*f = (struct figures){ .document = document, .read_ns = gpubpf_now_ns() };
	f->dropped = get_number(document, "dropped");
	for (size_t i = 0; i < count_elements(maps); i++) {
		struct json_object *factor = figures_member(json_object_array_get_idx(maps, i), "unprobed_factor");

		if (factor)
			f->cost_factor = json_object_get_double(factor);
	}
	err = read_kernels(f);
	if (!err)
		err = read_processes(f);
	return err ? err : read_maps(f);
}

int figures_read(const char *path, struct figures *f, char *why, size_t why_size)
{
	struct gpubpf_writer more = { 0 };
	struct json_object *document;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int err;

	*f = (struct figures){ 0 };
	if (!out)
		return -ENOMEM;
	gpubpf_put_str(&more, "");
	err = gpubpf_query_request(path, GPUBPF_QUERY_REPORT, GPUBPF_QUERY_JSON, &more, out, why, why_size);
	fclose(out);
	document = err ? NULL : json_tokener_parse(text);
	free(text);
	if (err)
		return err;
	snprintf(why, why_size, "the session's answer cannot be parsed");
	return document ? figures_parse(document, f) : -EPROTO;
}

bool figures_has_ended(int err)
{
	return err == -EPIPE || err == -ECONNRESET || err == -ECONNREFUSED || err == -ENOENT;
}

void figures_finish(struct figures *f)
{
	for (uint32_t i = 0; i < f->nkernels; i++)
		free(f->kernel[i].slot);
	free(f->kernel);
	free(f->process);
	json_object_put(f->document);
	*f = (struct figures){ 0 };
}

const struct figures_kernel *figures_find(const struct figures *f, const char *name, const char *backend)
{
	const struct figures_kernel key = { .name = name, .backend = backend };

	return f->nkernels ? bsearch(&key, f->kernel, f->nkernels, sizeof(key), compare_kernels) : NULL;
}
