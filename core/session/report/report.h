/* SPDX-License-Identifier: Apache-2.0 */
/* The report in its formats (text, JSON, CSV), which show the same data. */
#ifndef GPUBPF_SESSION_REPORT_H
#define GPUBPF_SESSION_REPORT_H

#include "core/model/places.h"
#include "core/session/base/json_write.h"
#include "core/session/maps/entries.h"

/* text.c, json.c. The caller has checked opts and collected s->stats. 0 or -ENOMEM. */
int gpubpf_report_text(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts);
int gpubpf_report_json(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts);

/* csv.c: only the maps. */
int gpubpf_report_csv(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts);

#define GPUBPF_REPORT_SCHEMA 1 /* cli/report.schema.json */
struct json_object;
/* Add the session's data to `root` as members. */
int gpubpf_report_add_json(struct gpubpf_session *s, struct json_object *root, const struct gpubpf_report_opts *opts);
/* Like gpubpf_report_add_json(), but collects the kernels' statistics first; gpubpf_session__error() has the reason of
 * a failure. */
int gpubpf_report_document(struct gpubpf_session *s, struct json_object *root, const struct gpubpf_report_opts *opts);
/* A single record or print as JSON: its members in the report, and its process and device. */
struct json_object *gpubpf_report_event(struct gpubpf_session *s, const struct gpubpf_event *event,
					const struct gpubpf_report_opts *opts);
struct json_object *gpubpf_report_print(const struct gpubpf_print_record *print);

bool gpubpf_report_includes_map(const struct gpubpf_report_opts *opts, const struct gpubpf_map *map);
/* The number of records, updates and look-ups that found no room, in all maps and the print ring. */
uint64_t gpubpf_report_drops(const struct gpubpf_session *s);
uint64_t gpubpf_report_print_drops(const struct gpubpf_session *s);
uint64_t gpubpf_report_thread_drops(const struct gpubpf_session *s);
/* The largest measured difference between a device's clock and the host's; 0: no probe reads the clock. */
uint64_t gpubpf_report_clock_error(const struct gpubpf_session *s);
/* Did kernels run on several runtimes? Then the report names each kernel's runtime. */
bool gpubpf_report_has_several_runtimes(const struct gpubpf_session *s);
/* "probed", "seen", ... */
const char *gpubpf_report_outcome(const struct gpubpf_kernel_stats *stats);
/* Why some or all launches of an element of s->stats were not probed; "" if there is nothing to say. */
const char *gpubpf_report_reason(struct gpubpf_session *s, const struct gpubpf_kernel_stats *stats);
/* With inspect: can the kernel be probed at its entry, so that the reason concerns only its exit? */
bool gpubpf_report_entry_only(const struct gpubpf_session *s, const char *kernel);
/* With inspect: the target that would build the kernel's twin; "" if there is no twin, or only one target for such
 * images. *instead: why a preferred target does not work, or "". */
const char *gpubpf_report_route(const struct gpubpf_session *s, const char *kernel, const char **instead);
/* Names of the device functions that a kernel calls, in the format of core/session/twins/called_functions.h; NULL: not known. */
const char *gpubpf_report_functions(const struct gpubpf_session *s, const char *kernel);
/* With inspect: the places of a kernel at which programs can run. Places in its own code precede those in functions. */
const struct gpubpf_place *gpubpf_report_places(const struct gpubpf_session *s, const char *kernel, uint32_t *n);
/* Does the program's pattern match a launched kernel, a function that such a kernel calls, or a place in one? */
bool gpubpf_report_is_matched(const struct gpubpf_session *s, const struct gpubpf_prog *prog);
/* For a program at instructions: false if all matching kernels can be probed, but have no place of that kind. */
bool gpubpf_report_has_place(const struct gpubpf_session *s, const struct gpubpf_prog *prog);

/* The i-th variable of global data: its name, type, offset and size. False past the end. */
struct gpubpf_variable {
	const char *name;
	uint32_t type, offset, size;
};
bool gpubpf_variable_at(const struct btf *btf, const struct gpubpf_map *map, uint32_t i, struct gpubpf_variable *var);

#endif
