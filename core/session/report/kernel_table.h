/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel table of a session is shared memory in which agents count launches, and from which they read the plan.
 * Reports combine its rows into a list of kernels.
 */
#ifndef GPUBPF_SESSION_KERNEL_TABLE_H
#define GPUBPF_SESSION_KERNEL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/wire/protocol.h"
#include "gpubpf/gpubpf.h"

/* Whether a dump shows all maps at one moment. */
enum gpubpf_moment {
	GPUBPF_MOMENT_UNKNOWN, /* the report is not a dump */
	GPUBPF_MOMENT_LIVE,    /* GPU kernels may have run while the maps were read */
	GPUBPF_MOMENT_SNAPSHOT,
};

int gpubpf_report_create(struct gpubpf_session *s); /* 0 or -ENOMEM */
void gpubpf_report_destroy(struct gpubpf_session *s);
void gpubpf_report_set_moment(struct gpubpf_session *s, enum gpubpf_moment moment);

/* Create the table when the session starts. Returns 0, or -errno with the reason in gpubpf_session__error(). */
int gpubpf_kernel_table_open(struct gpubpf_session *s);
/* memfd of the table, for agents; the table owns it */
int gpubpf_kernel_table_fd(const struct gpubpf_session *s);
void gpubpf_kernel_table_enable(struct gpubpf_session *s, bool on); /* `on`: let agents probe launches */
/*
 * Change which launches agents probe, from the next launch on. The first function returns the current rate; before the
 * first change, its member `round` is 0.
 */
struct gpubpf_rate gpubpf_kernel_table_rate(const struct gpubpf_session *s);
void gpubpf_kernel_table_set_rate(struct gpubpf_session *s, const struct gpubpf_rate *rate);
/* Which launches run the program of one link, in addition to the session's rate (core/wire/gate/gate.h). */
struct gpubpf_link_setting {
	struct gpubpf_gate_rule rule;
	struct gpubpf_gate_term term[GPUBPF_GATE_TERMS];
	char where[256]; /* the condition as the user wrote it; "": none */
};

/* gates.c */
struct gpubpf_link_setting gpubpf_gate_setting(const struct gpubpf_session *s, uint32_t link);
/*
 * Change settings from the next launch on, in three steps: begin with the set of links, set or arm each link, publish.
 * The first function returns 0, or -ENOMEM with the reason in gpubpf_session__error(). For a changed link, `first` counts
 * anew.
 */
int gpubpf_gates_begin(struct gpubpf_session *s, const bool *links);
void gpubpf_gate_set(struct gpubpf_session *s, uint32_t link, const struct gpubpf_link_setting *setting);
void gpubpf_gate_arm(struct gpubpf_session *s, uint32_t link, uint64_t n); /* admit the next n launches */
/*
 * Make links whose programs others arm wait for requests in their maps, once per link. Call it before the plan is
 * written.
 */
void gpubpf_gates_bind(struct gpubpf_session *s);
void gpubpf_gates_publish(struct gpubpf_session *s);
uint64_t gpubpf_gate_armed(const struct gpubpf_session *s, uint32_t link); /* returns how many of them are left */
/*
 * Write the plan in three steps: begin, add each attached link with the pattern of its kernels, publish. Without a
 * table, the first function returns false. If `measures` is set, agents measure launches with and without probes.
 */
bool gpubpf_kernel_table_begin_plan(struct gpubpf_session *s, bool measures);
/* flags: set of enum gpubpf_plan_flags */
void gpubpf_kernel_table_add_link(struct gpubpf_session *s, uint32_t link, uint32_t flags, const char *pattern);
void gpubpf_kernel_table_publish_plan(struct gpubpf_session *s);
/* The generation of the attached programs of sections host/. change: agents then request the programs anew. */
void gpubpf_kernel_table_change_host(struct gpubpf_session *s);
uint64_t gpubpf_kernel_table_host(const struct gpubpf_session *s);
uint64_t gpubpf_kernel_table_link_launches(const struct gpubpf_session *s, uint32_t link);
uint64_t gpubpf_kernel_table_process_launches(const struct gpubpf_session *s, uint32_t process);

/*
 * Returns the number of rows that agents have reserved. The rows after these are free; to read them would allocate
 * memory for their pages.
 */
uint32_t gpubpf_kernel_table_rows(const struct gpubpf_session *s);

/* the route of a kernel that runs without a twin, because the runtime measures its launches */
#define GPUBPF_ROUTE_RUNTIME "runtime"

/* The list that the last gpubpf_kernel_table_collect() has made. */
uint32_t gpubpf_kernel_stats_count(const struct gpubpf_session *s);
const struct gpubpf_kernel_stats *gpubpf_kernel_stats_at(const struct gpubpf_session *s, uint32_t i);
/* Returns the number of probed launches on the device since the mirror of its maps was last copied. */
uint64_t gpubpf_kernel_table_uncopied(const struct gpubpf_session *s, uint32_t process, const char *backend,
				      uint32_t device);
/*
 * Add up the launches of each process on each device, for gpubpf_session_listed_device(). Returns an array of n
 * elements that the caller frees, or NULL if memory is exhausted.
 */
struct gpubpf_device_launches {
	uint64_t launches, probed;
};
struct gpubpf_device_launches *gpubpf_kernel_table_by_device(const struct gpubpf_session *s, uint32_t n);
/* Combine the rows of the kernel table by kernel and runtime into the list of gpubpf_kernel_stats_at(). */
int gpubpf_kernel_table_collect(struct gpubpf_session *s);
/* Sum up over all rows the time that applications waited for twins, and the time to load twins. */
void gpubpf_kernel_table_times(const struct gpubpf_session *s, uint64_t *wait_ns, uint64_t *load_ns);
uint64_t gpubpf_kernel_table_hook_ns(const struct gpubpf_session *s);
/*
 * Returns the factor between the times of probed and unprobed launches, or 0 if it is not known. It covers only kernels
 * for which both times were measured. Stores in *unprobed the number of measured unprobed launches.
 */
double gpubpf_kernel_table_factor(const struct gpubpf_session *s, uint64_t *unprobed);

#endif
