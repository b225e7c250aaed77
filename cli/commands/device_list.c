/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf device list: lists the devices of each runtime, and the targets for their programs.
 */
#include "cli/cli.h"

#include <assert.h>
#include <json-c/json.h>
#include <string.h>

#include "core/device.h"
#include "core/session/report/report.h"
#include "core/session/report/table.h"
#include "core/target.h"
#include "cli/devices.h"

static const char *clock_name(uint32_t clock)
{
	static const char *const names[GPUBPF_CLOCKS] = {
		[GPUBPF_CLOCK_NONE] = "none",         [GPUBPF_CLOCK_TSC] = "tsc",
		[GPUBPF_CLOCK_KHR] = "khr",           [GPUBPF_CLOCK_GLOBALTIMER] = "globaltimer",
		[GPUBPF_CLOCK_REALTIME] = "realtime", [GPUBPF_CLOCK_CYCLES] = "cycles",
	};

	assert(clock < GPUBPF_CLOCKS && names[clock]);
	return names[clock];
}

/* Store the names or code forms of the targets that the device can use, separated by commas. "-" means none. */
static const char *list_targets(const struct gpubpf_device_caps *c, bool names, char *text, size_t size)
{
	const struct gpubpf_target_info *t;
	size_t n = 0;

	snprintf(text, size, "-");
	for (size_t i = 0; (t = gpubpf_target_at(i)) && n < size; i++)
		if (gpubpf_target_emits_for(t, c))
			n += snprintf(text + n, size - n, "%s%s", n ? ", " : "", names ? t->name : t->code);
	return text;
}

/* Return as JSON what kinds of map memory the device supports. */
static struct json_object *list_caps(const struct gpubpf_device_caps *c)
{
	struct json_object *list = json_object_new_array();
	const char *name, *meaning;
	uint64_t bit;

	for (size_t i = 0; (name = gpubpf_memory_cap_at(i, &bit, &meaning)); i++)
		if (c->bits & bit)
			json_object_array_add(list, json_object_new_string(name));
	return list;
}

static const char *format_places(const struct gpubpf_device_caps *c, char *text, size_t size)
{
	size_t n = 0;

	for (uint32_t i = 0; i < GPUBPF_PLACEMENTS && n < size; i++)
		if (!gpubpf_placement_lacks(i, c->bits))
			n += snprintf(text + n, size - n, "%s%s%s", n ? ", " : "", gpubpf_placement_name(i),
				      gpubpf_placement_live(i, c->bits) ? "*" : "");
	return text;
}

static void put_rows(struct gpubpf_table *t, const char *backend, const struct cli_devices *f)
{
	for (uint32_t i = 0; i < f->n; i++) {
		const struct gpubpf_device_caps *c = &f->caps[i];
		char text[64];

		gpubpf_table_cell(t, "%s", backend);
		gpubpf_table_cell(t, "%u", i);
		gpubpf_table_cell(t, "%.96s", c->name);
		gpubpf_table_cell(t, "%s", list_targets(c, false, text, sizeof(text)));
		gpubpf_table_cell(t, "%u", c->compute_units);
		gpubpf_table_cell(t, "%u", c->warp_size);
		gpubpf_table_cell(t, "%s", clock_name(c->clock));
		gpubpf_table_cell(t, "%s", c->bits & GPUBPF_CAP_SHARED_ARENA ? "live" : "copied");
		gpubpf_table_cell(t, "%s", format_places(c, text, sizeof(text)));
	}
}

static struct json_object *list_json(const struct cli_devices *f)
{
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < f->n; i++) {
		const struct gpubpf_device_caps *c = &f->caps[i];
		struct json_object *o = json_object_new_object();
		char text[64];

		json_object_object_add(o, "name", json_object_new_string(c->name));
		json_object_object_add(o, "driver", json_object_new_string(c->driver));
		json_object_object_add(o, "targets", json_object_new_string(list_targets(c, true, text, sizeof(text))));
		json_object_object_add(o, "compute_units", json_object_new_uint64(c->compute_units));
		json_object_object_add(o, "warp_size", json_object_new_uint64(c->warp_size));
		json_object_object_add(o, "clock", json_object_new_string(clock_name(c->clock)));
		json_object_object_add(o, "maps_live", json_object_new_boolean(!!(c->bits & GPUBPF_CAP_SHARED_ARENA)));
		json_object_object_add(o, "memory_capabilities", list_caps(c));
		json_object_object_add(o, "memory", json_object_new_uint64(c->memory));
		json_object_array_add(list, o);
	}
	return list;
}

static int list_text(const char *only)
{
	struct gpubpf_table t;
	struct cli_devices f;
	const char *name;

	gpubpf_table_init(&t, "BACKEND", "NR", "DEVICE", "PROBES AS", "UNITS", "WARP", "CLOCK", "MAPS", "MEMORY", NULL);
	for (size_t i = 0; (name = gpubpf_backend_at(i)); i++) {
		if (only && strcmp(only, name))
			continue;
		cli_devices_query(name, NULL, &f);
		put_rows(&t, name, &f);
		if (f.missing[0])
			fprintf(stderr, "gpubpf: %s: %s\n", name, f.missing);
	}
	if (gpubpf_table_rows(&t))
		gpubpf_table_print(&t, stdout);
	gpubpf_table_finish(&t);
	return CLI_OK;
}

static int list_all_json(const char *only)
{
	struct json_object *root = json_object_new_array();
	struct cli_devices f;
	const char *name;

	for (size_t i = 0; (name = gpubpf_backend_at(i)); i++) {
		struct json_object *o;

		if (only && strcmp(only, name))
			continue;
		cli_devices_query(name, NULL, &f);
		o = json_object_new_object();
		json_object_object_add(o, "backend", json_object_new_string(name));
		json_object_object_add(o, "devices", list_json(&f));
		json_object_object_add(o, "missing", json_object_new_string(f.missing));
		json_object_array_add(root, o);
	}
	gpubpf_json_write(root, stdout);
	return CLI_OK;
}

int gpubpf_cmd_device_list(const struct cli_args *args)
{
	const char *only = cli_str(args, OPT_BACKEND, cli_env_backend());

	if (only && !cli_backend_known(only))
		return CLI_USAGE;
	return cli_has(args, OPT_JSON) ? list_all_json(only) : list_text(only);
}
