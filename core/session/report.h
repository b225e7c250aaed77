/* SPDX-License-Identifier: Apache-2.0 */
/* The report's forms over the same data. */
#ifndef GPUBPF_SESSION_REPORT_H
#define GPUBPF_SESSION_REPORT_H

#include "core/places.h"
#include "entries.h"

/* report_text.c, report_json.c: opts has been checked, s->stats collected. 0 or -ENOMEM. */
int gpubpf_report_text(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts);
int gpubpf_report_json(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts);

/* report_csv.c: the maps alone. */
int gpubpf_report_csv(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts);

#define GPUBPF_REPORT_SCHEMA 1 /* cli/report.schema.json */
struct json_object;
/* What the session has for the report, as members of `root`. */
int gpubpf_report_add_json(struct gpubpf_session *s, struct json_object *root, const struct gpubpf_report_opts *opts);
/* The same with the kernels' figures taken anew, and a reason in gpubpf_session__error(). */
int gpubpf_report_document(struct gpubpf_session *s, struct json_object *root, const struct gpubpf_report_opts *opts);
/* All JSON of the tool looks like this. Releases root. */
void gpubpf_json_write(struct json_object *root, FILE *out);
void gpubpf_json_line(struct json_object *root, FILE *out); /* the same in one line */
/* A record or a print as it comes, with the members that it has in the report, and whose it is. */
struct json_object *gpubpf_report_event(struct gpubpf_session *s, const struct gpubpf_event *event,
					const struct gpubpf_report_opts *opts);
struct json_object *gpubpf_report_print(const struct gpubpf_print_record *print);

bool gpubpf_report_wants(const struct gpubpf_report_opts *opts, const struct gpubpf_map *map);
/* Records, updates and look-ups that found no room, in all maps and the print ring. */
uint64_t gpubpf_report_drops(const struct gpubpf_session *s);
uint64_t gpubpf_report_print_drops(const struct gpubpf_session *s);
uint64_t gpubpf_report_thread_drops(const struct gpubpf_session *s);
/* How far times of a device and of the host were apart at most, as measured; 0: no probe asks for the time. */
uint64_t gpubpf_report_clock_error(const struct gpubpf_session *s);
/* Did kernels run on several runtimes? Then each is named with its own. */
bool gpubpf_report_mixed(const struct gpubpf_session *s);
/* "probed", "seen", ... */
const char *gpubpf_report_outcome(const struct gpubpf_kernel_stats *stats);
/* Why some or all launches of an element of s->stats were not probed; "" if there is nothing to say. */
const char *gpubpf_report_reason(struct gpubpf_session *s, const struct gpubpf_kernel_stats *stats);
/* Of a session that inspects: it can be probed at its entry, and the reason is of its exit alone. */
bool gpubpf_report_entry_only(const struct gpubpf_session *s, const char *kernel);
/* Of a session that inspects: the form of code of which the kernel's twin would be made, "" where there is none or no choice; *instead
 * why not of one that is preferred, "". */
const char *gpubpf_report_route(const struct gpubpf_session *s, const char *kernel, const char **instead);
/* Names of the device functions that a kernel calls, as called_functions.h lists them; NULL where that is not known. */
const char *gpubpf_report_functions(const struct gpubpf_session *s, const char *kernel);
/* Of a session that inspects: the places of a kernel at which programs can run, those of its own code first. */
const struct gpubpf_place *gpubpf_report_places(const struct gpubpf_session *s, const char *kernel, uint32_t *n);
/* Did any program's pattern name a kernel that was launched, a function that one calls, or a place that one has? */
bool gpubpf_report_matched(const struct gpubpf_session *s, const struct gpubpf_prog *prog);
/* Of a program at instructions: false if all kernels that it names could be probed, and none has a place of the kind. */
bool gpubpf_report_placed(const struct gpubpf_session *s, const struct gpubpf_prog *prog);

/* The i-th variable of global data: its name, type, and place in the value. False past the end. */
struct gpubpf_variable {
	const char *name;
	uint32_t type, offset, size;
};
bool gpubpf_variable_at(const struct btf *btf, const struct gpubpf_map *map, uint32_t i,
			struct gpubpf_variable *var);

#endif
