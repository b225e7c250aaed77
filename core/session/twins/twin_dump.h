/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the twin of one kernel for `kernel dump`. */
#ifndef GPUBPF_CORE_SESSION_TWIN_DUMP_H
#define GPUBPF_CORE_SESSION_TWIN_DUMP_H

#include "core/target.h"
#include "maps/maps.h"

#define GPUBPF_DUMP_REASON_SIZE 640 /* bytes of a reason, with its NUL */

struct gpubpf_twin_dump_opts {
	const struct gpubpf_unit *unit; /* verified programs; those whose pattern matches the kernel are inserted */
	const struct gpubpf_layout *layout;
	const struct gpubpf_image *image;
	const struct gpubpf_device_caps *caps;
	const char *kernel; /* the kernel's whole name */
	const char *after;  /* name of a stage (core/model/stages.def) or pass (core/model/passes.def) */
};

/*
 * Run the stages of the kernel's route up to opts->after. Stores the code after that stage or pass in *code, malloc'd;
 * it is text or binary. Stores the target's name in *route. Returns 0, or -errno with the reason in why[].
 *
 * The session is never started. It only supplies options: the route, the assembler, and whether closed libraries are
 * changed.
 */
int gpubpf_twin_dump(const struct gpubpf_session *s, const struct gpubpf_twin_dump_opts *opts, struct gpubpf_blob *code,
		     const char **route, char why[GPUBPF_DUMP_REASON_SIZE]);

#endif
