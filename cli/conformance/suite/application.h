/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The application that the suite probes: gpubpf-workload, an ordinary program, with its kernels in each vendor's form.
 */
#ifndef GPUBPF_CLI_CONFORMANCE_APPLICATION_H
#define GPUBPF_CLI_CONFORMANCE_APPLICATION_H

#include "cli/conformance/grid/grid.h"
#include "suite.h"

struct gpubpf_session;

#define APPLICATION_KERNEL "plain" /* kernel for cases that name no kernel */
#define APPLICATION_WAIT_MS 240000 /* wait of its launches for twins, sufficient on a busy machine */

/* the application's kernels in a vendor's form: workload.ENDING, or for machine code workload.ARCHITECTURE.ENDING */
struct application_form {
	enum gpubpf_image_kind kind;
	const char *ending;
	bool machine;
	bool names;              /* it contains the names of parameters, unless clang compiled it */
	bool masks;              /* branches have the masks of active and taken lanes */
	bool lines;              /* it has source lines */
	bool constants;          /* its kernels have __constant__ variables */
};

#define APPLICATION_PATH (sizeof(((struct suite *)0)->folder) + 64)

/*
 * Iterate over the forms that the device and the run's route accept: returns the form after `last` (NULL: the first)
 * and its file in `path`. If `taken`, machine code is skipped: a device that accepts other forms is tested with machine
 * code only by --route. NULL: no further form.
 */
const struct application_form *application_next(const struct suite_run *run, const struct gpubpf_device_caps *caps, bool taken,
						const struct application_form *last, char path[APPLICATION_PATH]);
/* Why the device accepts no form. */
void application_none(const struct suite_run *run, const struct gpubpf_device_caps *caps, char *buf, size_t size);

/* one run of the application */
struct application {
	const struct suite_run *run;
	const struct suite_device *device;
	const char *image;
	enum gpubpf_image_kind kind;
	const char *kernel;
	struct grid_launch launch;
	uint32_t sub_group;      /* the sub-group size that its kernel requires; 0: none */
};

/*
 * Run the application in a loaded session: start the session, serve it until the application has ended, and stop it.
 * Returns NULL, or why the run failed or the kernel was not probed; buf may hold the text.
 */
const char *application_run(struct gpubpf_session *s, const struct application *app, char *buf, size_t size);

#endif
