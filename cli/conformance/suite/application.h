/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The application whose kernels the suite probes, gpubpf-workload. Its kernels exist in the forms of code of all
 * vendors.
 */
#ifndef GPUBPF_CLI_CONFORMANCE_APPLICATION_H
#define GPUBPF_CLI_CONFORMANCE_APPLICATION_H

#include "cli/conformance/grid/grid.h"
#include "suite.h"

struct gpubpf_session;

#define APPLICATION_KERNEL "plain" /* the kernel for cases that do not name a kernel */
#define APPLICATION_WAIT_MS 240000 /* milliseconds that a launch waits for its twin; enough for a busy machine */

/*
 * A form of code of the application's kernels. The file is workload.ENDING, or workload.ARCHITECTURE.ENDING for machine
 * code.
 */
struct application_form {
	enum gpubpf_image_kind kind;
	const char *ending;
	bool machine;
	bool names;     /* the code contains names of parameters (none if clang compiled it) */
	bool masks;     /* branches provide the lane masks of active and taken lanes */
	bool lines;     /* the code has source lines */
	bool constants; /* the kernels have __constant__ variables */
	bool arguments; /* gpu/call and gpu/call_exit provide arguments and results of device functions */
};

#define APPLICATION_PATH (sizeof(((struct suite *)0)->folder) + 64)

/*
 * Iterate over the forms of code that the device and the run's route accept. Returns the form after `last` (NULL: the
 * first form), with its file in `path`, or NULL if no form is left. If `taken` is set, another form was already tested,
 * and machine code is skipped. So a device that also accepts other forms is tested with machine code only if --route
 * selects it.
 */
const struct application_form *application_next(const struct suite_run *run, const struct gpubpf_device_caps *caps,
						bool taken, const struct application_form *last,
						char path[APPLICATION_PATH]);
/* Write to buf why the suite has no form of code that the device accepts. */
void application_none(const struct suite_run *run, const struct gpubpf_device_caps *caps, char *buf, size_t size);

struct application {
	const struct suite_run *run;
	const struct suite_device *device;
	const char *image;
	enum gpubpf_image_kind kind;
	const char *kernel;
	struct grid_launch launch;
	uint32_t sub_group; /* sub-group size that the kernel requires; 0: none */
};

/*
 * Run the application in a loaded session: start the session, poll it until the application has ended, and stop it.
 * Returns NULL, or the reason why the run failed or the kernel was not probed. The reason may be in buf.
 */
const char *application_run(struct gpubpf_session *s, const struct application *app, char *buf, size_t size);

#endif
