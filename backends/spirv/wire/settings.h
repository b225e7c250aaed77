/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_SPIRV_WIRE_SETTINGS_H
#define GPUBPF_BACKENDS_SPIRV_WIRE_SETTINGS_H

#include <stdbool.h>

#include "core/wire/caps.h"

/*
 * Environment variables by which users make OpenCL runtimes generate other code. A binary that was made with them set
 * is valid only for programs that run with the same values. Source: Intel's and PoCL's manuals, and the names in
 * libintelocl.so 2026.2.
 */

/* Record in caps->settings the variables that are set; variable() looks one up. */
void gpubpf_cl_settings_query(struct gpubpf_device_caps *caps, const char *(*variable)(const char *name));
/* Set this process's variables as `settings` says and unset the other ones of the list. False if
 * gpubpf_cl_settings_query() cannot have written `settings`. */
bool gpubpf_cl_settings_apply(const char *settings);

#endif
