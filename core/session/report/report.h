/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a session in three formats (text, JSON, CSV), which show the same data. */
#ifndef GPUBPF_SESSION_REPORT_H
#define GPUBPF_SESSION_REPORT_H

#include "core/model/places.h"
#include "core/session/base/json_write.h"
#include "core/session/maps/entries.h"

/* Implemented in text.c and json.c. The caller has checked opts and collected s->report->stats. Return 0 or -ENOMEM. */
int gpubpf_report_text(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts);
int gpubpf_report_json(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts);

/* Implemented in csv.c. Writes only the maps. */
int gpubpf_report_csv(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts);

#define GPUBPF_REPORT_SCHEMA 1 /* version of the format in cli/report.schema.json */
struct json_object;
/* Add the session's data to `root` as members. */
int gpubpf_report_add_json(struct gpubpf_session *s, struct json_object *root, const struct gpubpf_report_opts *opts);
/*
 * Like gpubpf_report_add_json(), but first collects the kernels' statistics. After a failure, gpubpf_session__error()
 * has the reason.
 */
int gpubpf_report_document(struct gpubpf_session *s, struct json_object *root, const struct gpubpf_report_opts *opts);
/* Return a single record or printed text as JSON: its members in the report, and its process and device. */
struct json_object *gpubpf_report_event(struct gpubpf_session *s, const struct gpubpf_event *event,
					const struct gpubpf_report_opts *opts);
struct json_object *gpubpf_report_print(const struct gpubpf_print_record *print);

bool gpubpf_report_includes_map(const struct gpubpf_report_opts *opts, const struct gpubpf_map *map);
/*
 * Returns the number of records, updates and look-ups that were dropped for lack of space, in all maps and the print
 * ring.
 */
uint64_t gpubpf_report_drops(const struct gpubpf_session *s);
uint64_t gpubpf_report_print_drops(const struct gpubpf_session *s);
uint64_t gpubpf_report_thread_drops(const struct gpubpf_session *s);
/*
 * Returns the largest measured difference between a device's clock and the host's clock; 0: no probe reads the clock.
 */
uint64_t gpubpf_report_clock_error(const struct gpubpf_session *s);
/* Returns true if kernels ran on several runtimes. Then the report names each kernel's runtime. */
bool gpubpf_report_has_several_runtimes(const struct gpubpf_session *s);
/* "probed", "seen", ... */
const char *gpubpf_report_outcome(const struct gpubpf_kernel_stats *stats);
/* Returns why some or all launches of `stats`, an element of s->report->stats, were not probed; "" if all were. */
const char *gpubpf_report_reason(struct gpubpf_session *s, const struct gpubpf_kernel_stats *stats);
/*
 * Only if the session inspects. Returns true if the kernel can be probed at its entry, so that its reason concerns only
 * its exit.
 */
bool gpubpf_report_entry_only(const struct gpubpf_session *s, const char *kernel);
/*
 * Only if the session inspects. Returns the target that would build the kernel's twin. Returns "" if no target can, or
 * if only one target accepts such images. *instead: why a preferred target cannot build it, or "".
 */
const char *gpubpf_report_route(const struct gpubpf_session *s, const char *kernel, const char **instead);
/*
 * Returns the names of the device functions that a kernel calls, in the format of
 * core/session/twins/called_functions.h. NULL: not known.
 */
const char *gpubpf_report_functions(const struct gpubpf_session *s, const char *kernel);
/*
 * Only if the session inspects. Returns the places of a kernel at which programs can run. Places in the kernel's own
 * code come before places in the functions that it calls.
 */
const struct gpubpf_place *gpubpf_report_places(const struct gpubpf_session *s, const char *kernel, uint32_t *n);
/*
 * Returns true if the program's pattern matches a launched kernel, a function that such a kernel calls, or a place in
 * such a kernel.
 */
bool gpubpf_report_is_matched(const struct gpubpf_session *s, const struct gpubpf_prog *prog);
/*
 * Returns false if all kernels that the program's pattern matches can be probed, but have no place of the program's
 * kind.
 */
bool gpubpf_report_has_place(const struct gpubpf_session *s, const struct gpubpf_prog *prog);

/* The i-th variable of global data. gpubpf_variable_at() returns false after the last. */
struct gpubpf_variable {
	const char *name;
	uint32_t type, offset, size;
};
bool gpubpf_variable_at(const struct btf *btf, const struct gpubpf_map *map, uint32_t i, struct gpubpf_variable *var);

#endif
