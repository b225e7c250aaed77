/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs cases that are BPF objects compiled from C, with programs and maps. All threads of a launch execute the
 * programs.
 */
#ifndef GPUBPF_CLI_CONFORMANCE_GRID_H
#define GPUBPF_CLI_CONFORMANCE_GRID_H

#include "core/model/diag.h"
#include "core/load/load.h"
#include "maps/maps.h"
#include "cli/conformance/suite/suite.h"

#define GRID_KERNEL "conformance" /* name of the kernel in struct gpubpf_ctx */
#define GRID_KERNEL_ID 7
#define GRID_LAUNCH 5          /* launch number of a case's first launch */
#define GRID_PID_TGID 0x0080123401405678ull /* result of helper 14; encodes the stack number 2053 (maps/layout.h) */

/* the launch that a case requests, with its sizes for one device */
struct grid_launch {
	uint32_t dim;
	uint32_t grid[3], block[3]; /* grid: number of blocks; block: threads per block */
	uint32_t times;             /* number of consecutive launches */
};

/* cases that are loaded together: object i of the unit belongs to cases[i] */
struct grid {
	const struct suite *suite;
	const uint32_t *cases; /* [n] indices of the cases in the suite */
	uint32_t n;
	struct gpubpf_loaded *loaded;
	uint32_t *map_use;
	struct gpubpf_layout layout;
};

/* grid.c: loads and verifies the cases. Returns 0, or -errno with a diagnostic. */
int grid_load(struct grid *g, const struct suite *suite, const uint32_t *cases, uint32_t n, struct gpubpf_diag *diag);
/* Lay out the maps for a device with `replicas` multiprocessors. `places` is as in struct gpubpf_layout_opts. */
int grid_layout(struct grid *g, uint32_t replicas, const uint32_t *places, struct gpubpf_diag *diag);
void grid_finish(struct grid *g);
void grid_launch_of(const struct suite_case *c, const struct gpubpf_device_caps *caps, struct grid_launch *launch);
/* Return the result of helper 14 in launch number nth of a case. Each launch has a different stack number. */
uint64_t grid_pid_tgid(uint32_t nth);
/* Return why the device does not support the launch's size, or NULL if it does. */
const char *grid_too_large(const struct suite_case *c, const struct gpubpf_device_caps *caps, char *buf, size_t size);
uint64_t grid_threads(const struct suite_case *c, const struct gpubpf_device_caps *caps);
/* Return the kernel of tests/cli/conformance/workload.cl that the case probes, or NULL if the case names no kernel. */
const char *grid_workload(const struct suite_case *c, char *buf, size_t size);
/* Returns true if the case must run alone, because it fills the print ring that all cases of a group share. */
bool grid_runs_alone(const struct suite_case *c);
/*
 * Find the next line in the case's expectations that begins with `word`. The search starts after *at, or at the first
 * line if *at is NULL. Returns the text after the word and advances *at, or returns NULL.
 */
const char *grid_line(const struct suite_case *c, const char *word, const char **at, char *buf, size_t size);

struct grid_run;
/*
 * judge.c: compares the maps of case i after its launch with the expectations of the case. `run` has the results of a
 * direct run, or is NULL.
 */
void grid_judge(const struct grid *g, uint32_t i, const struct gpubpf_device_caps *caps, void *arena,
		const struct grid_run *run, struct suite_result *r);

/*
 * Returns true if a refusal matches `want`: a rule's name in core/model/errors.def, a space, and a part of the message.
 */
bool grid_is_rule(const char *want, const char *rule, const char *what);
/*
 * grid_is_refused() returns true if the case expects a refusal. grid_refused() compares an actual refusal with the
 * expected one.
 */
bool grid_is_refused(const struct suite_case *c);
void grid_refused(const struct suite_case *c, const struct gpubpf_diag *diag, struct suite_result *r);

/* host.c: runs one case on the interpreter. */
void grid_run_host(const struct suite_run *run, const struct suite_device *host, uint32_t index, struct suite_result *r);
/* device.c: runs the n cases on a device. */
struct conformance_opts;
void grid_run_device(const struct suite_run *run, struct suite_device *device, const uint32_t *cases, uint32_t n,
		     const struct conformance_opts *opts);

#endif
