/* SPDX-License-Identifier: Apache-2.0 */
/* The applications that the suite probes: gpubpf-workload, which knows nothing of it, with its kernels in each vendor's form. */
#ifndef GPUBPF_CLI_CONFORMANCE_APPLICATION_H
#define GPUBPF_CLI_CONFORMANCE_APPLICATION_H

#include "grid.h"
#include "suite.h"

struct gpubpf_session;

#define APPLICATION_KERNEL "plain" /* into which what names no kernel is put */
#define APPLICATION_WAIT_MS 240000 /* of its launches, for twins: they are made on a busy machine too */

/* the application in each vendor's form: workload.ENDING, or for machine code workload.ARCHITECTURE.ENDING */
struct application_form {
	enum gpubpf_image_kind kind;
	const char *ending;
	bool machine;
	bool names;              /* of parameters are in it: not where clang compiled it */
	bool masks;              /* a branch says which lanes of the warp come to it and take it */
	bool lines;              /* of the source are told */
	bool constants;          /* a kernel has some, in memory of their own */
};

#define APPLICATION_PATH (sizeof(((struct suite *)0)->folder) + 64)

/* The form after `last`, NULL: the first, in which the device takes kernels, by the run's route; `path` is its file. None is
 * machine code where one was taken: a device that takes others has that by --route. NULL: there is no other. */
const struct application_form *application_next(const struct suite_run *run, const struct gpubpf_device_caps *caps, bool taken,
						const struct application_form *last, char path[APPLICATION_PATH]);
/* Why there is none. */
void application_none(const struct suite_run *run, const struct gpubpf_device_caps *caps, char *buf, size_t size);

/* one run of it */
struct application {
	const struct suite_run *run;
	const struct suite_device *device;
	const char *image;
	enum gpubpf_image_kind kind;
	const char *kernel;
	struct grid_launch launch;
	uint32_t sub_group;      /* the size that its kernel asks for; 0: none */
};

/* Around it a session that is loaded: started, served until the application has ended, and stopped. NULL, or why nothing came of
 * it, or the kernel was not probed; buf may hold that. */
const char *application_run(struct gpubpf_session *s, const struct application *app, char *buf, size_t size);

#endif
