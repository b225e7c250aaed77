/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The application that the suite probes: gpubpf-workload, an ordinary program, with its kernels in each vendor's form.
 */
#ifndef GPUBPF_CLI_CONFORMANCE_APPLICATION_H
#define GPUBPF_CLI_CONFORMANCE_APPLICATION_H

#include "cli/conformance/grid/grid.h"
#include "suite.h"

struct gpubpf_session;

#define APPLICATION_KERNEL "plain" /* the kernel for cases that name none */
#define APPLICATION_WAIT_MS 240000 /* milliseconds that a launch waits for its twin; long enough on a busy machine */

/* A form of the application's kernels: the file workload.ENDING, or for machine code workload.ARCHITECTURE.ENDING. */
struct application_form {
	enum gpubpf_image_kind kind;
	const char *ending;
	bool machine;
	bool names;     /* it contains the names of parameters, except if clang compiled it */
	bool masks;     /* its branches provide the masks of active and taken lanes */
	bool lines;     /* it has source lines */
	bool constants; /* its kernels have __constant__ variables */
};

#define APPLICATION_PATH (sizeof(((struct suite *)0)->folder) + 64)

/*
 * Iterate over the forms that the device and the run's route accept: returns the form after `last` (NULL: the first)
 * and its file in `path`. `taken` skips machine code: a device that accepts other forms too is tested with machine code
 * only by --route. NULL: there is no further form.
 */
const struct application_form *application_next(const struct suite_run *run, const struct gpubpf_device_caps *caps,
						bool taken, const struct application_form *last,
						char path[APPLICATION_PATH]);
/* Write the reason why the device accepts no form to buf. */
void application_none(const struct suite_run *run, const struct gpubpf_device_caps *caps, char *buf, size_t size);

/* one run of the application */
struct application {
	const struct suite_run *run;
	const struct suite_device *device;
	const char *image;
	enum gpubpf_image_kind kind;
	const char *kernel;
	struct grid_launch launch;
	uint32_t sub_group; /* the sub-group size that its kernel requires; 0: none */
};

/*
 * Run the application in a loaded session: start the session, serve it until the application has ended, and stop it.
 * Returns NULL, or why the run failed or the kernel was not probed; buf may hold the text.
 */
const char *application_run(struct gpubpf_session *s, const struct application *app, char *buf, size_t size);

#endif
