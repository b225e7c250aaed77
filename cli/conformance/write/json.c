/* SPDX-License-Identifier: Apache-2.0 */
#include <json-c/json.h>

#include "core/session/report/report.h"
#include "cli/conformance/suite/suite.h"

static void add(struct json_object *o, const char *name, const char *text)
{
	json_object_object_add(o, name, json_object_new_string(text));
}

static struct json_object *result_json(const struct suite_case *c, const struct suite_result *r)
{
	static const char *const states[] = { [SUITE_FAILED] = "failed",
					      [SUITE_PASSED] = "passed",
					      [SUITE_SKIPPED] = "skipped" };
	struct json_object *o = json_object_new_object();

	add(o, "group", c->group);
	add(o, "case", c->name);
	add(o, "state", states[r->state]);
	add(o, r->state == SUITE_SKIPPED ? "reason" : "got", r->got);
	if (r->state != SUITE_SKIPPED)
		add(o, "expected", r->expected);
	return o;
}

static struct json_object *device_json(const struct suite_run *run, const struct suite_device *d)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	add(o, "backend", d->caps.backend);
	add(o, "device", d->caps.name);
	add(o, "driver", d->caps.driver);
	json_object_object_add(o, "passed", json_object_new_uint64(suite_count(run, d, NULL, SUITE_PASSED)));
	json_object_object_add(o, "failed", json_object_new_uint64(suite_count(run, d, NULL, SUITE_FAILED)));
	json_object_object_add(o, "skipped", json_object_new_uint64(suite_count(run, d, NULL, SUITE_SKIPPED)));
	for (uint32_t i = 0; i < run->suite.ncases; i++) {
		const struct suite_case *c = &run->suite.cases[i];
		struct json_object *result = result_json(c, &d->results[i]);

		add(result, "object", run->suite.objects[c->object].name);
		json_object_array_add(list, result);
	}
	json_object_object_add(o, "cases", list);
	return o;
}

void suite_write_json(const struct suite_run *run, FILE *out)
{
	struct json_object *root = json_object_new_object(), *objects = json_object_new_object();
	struct json_object *devices = json_object_new_array(), *missing = json_object_new_object();

	for (uint32_t i = suite_object(&run->suite, 0); i < run->suite.nobjects && !run->random;
	     i = suite_object(&run->suite, i + 1))
		add(objects, run->suite.objects[i].name, run->suite.objects[i].sha256);
	for (uint32_t i = 0; i < run->ndevices; i++)
		json_object_array_add(devices, device_json(run, &run->devices[i]));
	for (uint32_t i = 0; i < run->nmissing; i++)
		add(missing, run->missing[i].backend, run->missing[i].why);
	add(root, "version", GPUBPF_VERSION);
	json_object_object_add(root, "objects", objects);
	json_object_object_add(root, "devices", devices);
	json_object_object_add(root, "missing", missing);
	gpubpf_json_write(root, out);
}
