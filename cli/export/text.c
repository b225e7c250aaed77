/* SPDX-License-Identifier: Apache-2.0 */
/* Writes samples in Prometheus's text format, version 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats). */
#include "export.h"

#include <inttypes.h>
#include <string.h>

#include "core/model/text/utf8.h"

static const char *const kinds[] = {
	[EXPORT_COUNTER] = "counter",
	[EXPORT_GAUGE] = "gauge",
	[EXPORT_HISTOGRAM] = "histogram",
};

/* Write the value of a label. It must be UTF-8, so other bytes become '?'. */
static void put_value(const char *text, FILE *out)
{
	size_t left = strlen(text);
	uint32_t code;

	while (left) {
		int n = gpubpf_utf8_next(text, left, &code);

		if (n <= 0) {
			fputc('?', out);
			n = 1;
		} else if (*text == '\n') {
			fputs("\\n", out);
		} else {
			if (*text == '"' || *text == '\\')
				fputc('\\', out);
			fwrite(text, 1, (size_t)n, out);
		}
		text += n;
		left -= (size_t)n;
	}
}

/* Write a sample's name and labels. bound: the label le of a bucket, or NULL. */
static void put_labels(const struct export_sample *e, const char *suffix, const char *bound, FILE *out)
{
	const char *between = "{";

	fprintf(out, "%s%s", export_info[e->metric].prometheus, suffix);
	for (uint32_t i = 0; i < e->nlabels; i++, between = ",") {
		fprintf(out, "%s%s=\"", between, e->label[i].name);
		put_value(e->label[i].value, out);
		fputc('"', out);
	}
	if (bound) {
		fprintf(out, "%sle=\"%s\"", between, bound);
		between = ",";
	}
	fputs(between[0] == ',' ? "} " : " ", out);
}

static void put_histogram(const struct export_sample *e, FILE *out)
{
	uint64_t sum = 0;
	char bound[32];

	for (uint32_t i = 0; i <= EXPORT_BOUNDS; i++) {
		sum += e->bucket[i];
		snprintf(bound, sizeof(bound), "%.12g", export_bound(i));
		put_labels(e, "_bucket", i < EXPORT_BOUNDS ? bound : "+Inf", out);
		fprintf(out, "%" PRIu64 "\n", sum);
	}
	put_labels(e, "_sum", NULL, out);
	fprintf(out, "%.9f\n", (double)e->sum_ns / 1e9);
	put_labels(e, "_count", NULL, out);
	fprintf(out, "%" PRIu64 "\n", sum);
}

void export_write_text(const struct export_samples *s, FILE *out)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct export_sample *e = &s->sample[i];
		const struct export_info *info = &export_info[e->metric];

		if (!i || e->metric != s->sample[i - 1].metric)
			fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", info->prometheus, info->meaning, info->prometheus,
				kinds[info->kind]);
		if (info->kind == EXPORT_HISTOGRAM) {
			put_histogram(e, out);
			continue;
		}
		put_labels(e, "", NULL, out);
		fprintf(out, "%.17g\n", e->value);
	}
}
