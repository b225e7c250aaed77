/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes samples as a request of OTLP/HTTP in JSON (opentelemetry.io/docs/specs/otlp, JSON Protobuf Encoding): names in
 * lowerCamelCase, 64-bit integers as strings, enumerations as numbers.
 */
#include "export.h"

#include <inttypes.h>
#include <unistd.h>

#include <json-c/json.h>

#define CUMULATIVE 2 /* AGGREGATION_TEMPORALITY_CUMULATIVE */

static struct json_object *make_u64(uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	return json_object_new_string(text);
}

/* asInt is signed. A process can write any number of launches into the kernel table. */
static uint64_t clamp(double v)
{
	return v < (double)INT64_MAX ? (uint64_t)v : INT64_MAX;
}

static void add_attribute(struct json_object *list, const char *name, const char *value)
{
	struct json_object *o = json_object_new_object(), *v = json_object_new_object();

	json_object_object_add(v, "stringValue", json_object_new_string(value));
	json_object_object_add(o, "key", json_object_new_string(name));
	json_object_object_add(o, "value", v);
	json_object_array_add(list, o);
}

static void add_histogram(const struct export_sample *e, struct json_object *point)
{
	struct json_object *counts = json_object_new_array(), *bounds = json_object_new_array();
	uint64_t sum = 0;

	for (uint32_t i = 0; i <= EXPORT_BOUNDS; i++) {
		sum += e->bucket[i];
		json_object_array_add(counts, make_u64(e->bucket[i]));
		if (i < EXPORT_BOUNDS)
			json_object_array_add(bounds, json_object_new_double(export_bound(i)));
	}
	json_object_object_add(point, "count", make_u64(sum));
	json_object_object_add(point, "sum", json_object_new_double((double)e->sum_ns / 1e9));
	json_object_object_add(point, "bucketCounts", counts);
	json_object_object_add(point, "explicitBounds", bounds);
}

static struct json_object *make_point(const struct export_samples *s, const struct export_sample *e)
{
	struct json_object *point = json_object_new_object(), *attributes = json_object_new_array();

	for (uint32_t i = 0; i < e->nlabels; i++)
		add_attribute(attributes, e->label[i].name, e->label[i].value);
	json_object_object_add(point, "attributes", attributes);
	json_object_object_add(point, "startTimeUnixNano", make_u64(s->start_unix_ns));
	json_object_object_add(point, "timeUnixNano", make_u64(s->read_unix_ns));
	if (export_info[e->metric].kind == EXPORT_HISTOGRAM)
		add_histogram(e, point);
	else if (export_info[e->metric].kind == EXPORT_COUNTER)
		json_object_object_add(point, "asInt", make_u64(clamp(e->value)));
	else
		json_object_object_add(point, "asDouble", json_object_new_double(e->value));
	return point;
}

/* Start a metric, and add it to the list. Returns the array of its data points. */
static struct json_object *add_metric(struct json_object *list, const struct export_info *info)
{
	static const char *const names[] = {
		[EXPORT_COUNTER] = "sum",
		[EXPORT_GAUGE] = "gauge",
		[EXPORT_HISTOGRAM] = "histogram",
	};
	struct json_object *o = json_object_new_object(), *data = json_object_new_object(),
			   *points = json_object_new_array();

	json_object_object_add(o, "name", json_object_new_string(info->otel));
	json_object_object_add(o, "unit", json_object_new_string(info->unit));
	json_object_object_add(o, "description", json_object_new_string(info->meaning));
	if (info->kind != EXPORT_GAUGE)
		json_object_object_add(data, "aggregationTemporality", json_object_new_int(CUMULATIVE));
	if (info->kind == EXPORT_COUNTER)
		json_object_object_add(data, "isMonotonic", json_object_new_boolean(true));
	json_object_object_add(data, "dataPoints", points);
	json_object_object_add(o, names[info->kind], data);
	json_object_array_add(list, o);
	return points;
}

static struct json_object *make_resource(void)
{
	struct json_object *o = json_object_new_object(), *attributes = json_object_new_array();
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	add_attribute(attributes, "service.name", "gpubpf");
	add_attribute(attributes, "service.version", GPUBPF_VERSION);
	add_attribute(attributes, "host.name", host);
	json_object_object_add(o, "attributes", attributes);
	return o;
}

void export_write_otlp(const struct export_samples *s, FILE *out)
{
	struct json_object *root = json_object_new_object(), *resources = json_object_new_array(), *points = NULL;
	struct json_object *resource = json_object_new_object(), *scopes = json_object_new_array();
	struct json_object *scope = json_object_new_object(), *name = json_object_new_object();
	struct json_object *metrics = json_object_new_array();

	for (uint32_t i = 0; i < s->n; i++) {
		if (!i || s->sample[i].metric != s->sample[i - 1].metric)
			points = add_metric(metrics, &export_info[s->sample[i].metric]);
		json_object_array_add(points, make_point(s, &s->sample[i]));
	}
	json_object_object_add(name, "name", json_object_new_string("gpubpf"));
	json_object_object_add(name, "version", json_object_new_string(GPUBPF_VERSION));
	json_object_object_add(scope, "scope", name);
	json_object_object_add(scope, "metrics", metrics);
	json_object_array_add(scopes, scope);
	json_object_object_add(resource, "resource", make_resource());
	json_object_object_add(resource, "scopeMetrics", scopes);
	json_object_array_add(resources, resource);
	json_object_object_add(root, "resourceMetrics", resources);
	fputs(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN), out);
	json_object_put(root);
}
