/* SPDX-License-Identifier: Apache-2.0 */
/* Runs cases in C: an object with programs and maps, whose programs all threads of a launch execute. */
#ifndef GPUBPF_CLI_CONFORMANCE_GRID_H
#define GPUBPF_CLI_CONFORMANCE_GRID_H

#include "core/model/diag.h"
#include "core/load/load.h"
#include "maps/maps.h"
#include "cli/conformance/suite/suite.h"

#define GRID_KERNEL "conformance" /* name of the kernel in struct gpubpf_ctx */
#define GRID_KERNEL_ID 7
#define GRID_LAUNCH 5          /* number of a case's first launch */
#define GRID_PID_TGID 0x0080123401405678ull /* helper 14's result; includes the number of stack 2053 (maps/layout.h) */

/* the launch that a case requests, with sizes for a certain device */
struct grid_launch {
	uint32_t dim;
	uint32_t grid[3], block[3]; /* grid: number of blocks; block: threads per block */
	uint32_t times;             /* number of consecutive launches */
};

/* cases that are loaded together: object i of the unit is that of cases[i] */
struct grid {
	const struct suite *suite;
	const uint32_t *cases; /* [n] indices in the suite */
	uint32_t n;
	struct gpubpf_loaded *loaded;
	uint32_t *map_use;
	struct gpubpf_layout layout;
};

/* grid.c: loads and verifies the cases. Returns 0, or -errno with a diagnostic. */
int grid_load(struct grid *g, const struct suite *suite, const uint32_t *cases, uint32_t n, struct gpubpf_diag *diag);
/* Lay out the maps for a device with `replicas` multiprocessors; places: see struct gpubpf_layout_opts. */
int grid_layout(struct grid *g, uint32_t replicas, const uint32_t *places, struct gpubpf_diag *diag);
void grid_finish(struct grid *g);
void grid_launch_of(const struct suite_case *c, const struct gpubpf_device_caps *caps, struct grid_launch *launch);
/* Return the result of helper 14 in launch number nth of a case. Each launch has another stack. */
uint64_t grid_pid_tgid(uint32_t nth);
/* Return why the launch is too large for the device; NULL: it is not. */
const char *grid_too_large(const struct suite_case *c, const struct gpubpf_device_caps *caps, char *buf, size_t size);
uint64_t grid_threads(const struct suite_case *c, const struct gpubpf_device_caps *caps);
/* Return the kernel of tests/conformance/workload.cl that the case probes; NULL: the case names none. */
const char *grid_workload(const struct suite_case *c, char *buf, size_t size);
/* Must the case run alone? It must if it fills the print ring, which the cases of a group share. */
bool grid_runs_alone(const struct suite_case *c);
/*
 * Find the next line of the case's expectations that begins with `word`, from *at on (NULL: from the first line).
 * Returns the text after the word, or NULL; advances *at.
 */
const char *grid_line(const struct suite_case *c, const char *word, const char **at, char *buf, size_t size);

/* judge.c: compares the maps of case i after its launch with its expectations. */
void grid_judge(const struct grid *g, uint32_t i, const struct gpubpf_device_caps *caps, void *arena,
		struct suite_result *r);

/* Does a refusal match `want`: a rule's name in core/model/errors.def, a blank, and a part of the message? */
bool grid_is_rule(const char *want, const char *rule, const char *what);
/*
 * grid_is_refused(): does the case expect a refusal? grid_refused() compares an actual refusal with the expected one.
 */
bool grid_is_refused(const struct suite_case *c);
void grid_refused(const struct suite_case *c, const struct gpubpf_diag *diag, struct suite_result *r);

/* host.c: runs one case on the interpreter, one thread after the other. */
void grid_run_host(const struct suite_run *run, const struct suite_device *host, uint32_t index, struct suite_result *r);
/* device.c: runs cases on a device. */
struct conformance_opts;
void grid_run_device(const struct suite_run *run, struct suite_device *device, const uint32_t *cases, uint32_t n,
		     const struct conformance_opts *opts);

#endif
