/* SPDX-License-Identifier: Apache-2.0 */
/* Cases in C: an object with programs and maps, run by all threads of a launch. */
#ifndef GPUBPF_CLI_CONFORMANCE_GRID_H
#define GPUBPF_CLI_CONFORMANCE_GRID_H

#include "core/diag.h"
#include "core/load/load.h"
#include "maps/maps.h"
#include "suite.h"

#define GRID_KERNEL "conformance" /* what the programs see as their kernel */
#define GRID_KERNEL_ID 7
#define GRID_LAUNCH 5          /* the first of a case */
#define GRID_PID_TGID 0x0080123401405678ull /* and the stack 2053 (maps/layout.h) */

/* the launch that a case asks for, on a device */
struct grid_launch {
	uint32_t dim;
	uint32_t grid[3], block[3]; /* blocks; threads of a block */
	uint32_t times;             /* so many, one behind the other */
};

/* cases, loaded together: the object i of the unit is that of cases[i] */
struct grid {
	const struct suite *suite;
	const uint32_t *cases;   /* indices in the suite */
	uint32_t n;
	struct gpubpf_loaded *loaded;
	uint32_t *map_use;
	struct gpubpf_layout layout;
};

/* grid.c. Load and prove. 0, or -errno and a diagnostic. */
int grid_load(struct grid *g, const struct suite *suite, const uint32_t *cases, uint32_t n, struct gpubpf_diag *diag);
/* Lay out the maps for a device; places: as struct gpubpf_layout_opts has it. */
int grid_layout(struct grid *g, uint32_t replicas, const uint32_t *places, struct gpubpf_diag *diag);
void grid_finish(struct grid *g);
void grid_launch_of(const struct suite_case *c, const struct gpubpf_device_caps *caps, struct grid_launch *launch);
/* The word of helper 14 of the nth of a case's launches, each of which comes of another stack. */
uint64_t grid_pid_tgid(uint32_t nth);
/* Why the device does not take the launch; NULL: it does. */
const char *grid_too_large(const struct suite_case *c, const struct gpubpf_device_caps *caps, char *buf, size_t size);
uint64_t grid_threads(const struct suite_case *c, const struct gpubpf_device_caps *caps);
/* The kernel of tests/conformance/workload.cl that the case is put into; NULL: none. */
const char *grid_workload(const struct suite_case *c, char *buf, size_t size);
/* It fills what the cases of a group share: the ring of prints. */
bool grid_is_apart(const struct suite_case *c);
/* The first line of what the case expects that begins with the word, behind `line` (NULL: from the start); its value
 * without the word, or NULL. */
const char *grid_line(const struct suite_case *c, const char *word, const char **at, char *buf, size_t size);

/* grid_judge.c. Of what the launch left in the maps of case i. */
void grid_judge(const struct grid *g, uint32_t i, const struct gpubpf_device_caps *caps, void *arena, struct suite_result *r);

/* Is that the refusal that is wanted: a rule of core/errors.def, a blank, and text that stands in what is said? */
bool grid_is_rule(const char *want, const char *rule, const char *what);
/* It was refused: is that what the case expects? */
bool grid_is_refused(const struct suite_case *c);
void grid_refused(const struct suite_case *c, const struct gpubpf_diag *diag, struct suite_result *r);

/* grid_host.c: one case on the interpreter, thread after thread. */
void grid_run_host(const struct suite_run *run, const struct suite_device *host, uint32_t index, struct suite_result *r);
/* grid_device.c: on a device. */
struct conformance_opts;
void grid_run_device(const struct suite_run *run, struct suite_device *device, const uint32_t *cases, uint32_t n,
		     const struct conformance_opts *opts);

#endif
