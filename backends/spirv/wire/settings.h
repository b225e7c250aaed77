/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_SPIRV_WIRE_SETTINGS_H
#define GPUBPF_BACKENDS_SPIRV_WIRE_SETTINGS_H

#include <stdbool.h>

#include "core/wire/caps.h"

/*
 * Environment variables that change the code that OpenCL runtimes generate. A binary is valid only for applications
 * that run with the same values of these variables. Sources: the manuals of Intel's runtime and PoCL, and the names in
 * libintelocl.so 2026.2.
 */

/* Record in caps->settings the variables that are set. variable() returns the value of a variable, or NULL. */
void gpubpf_cl_settings_query(struct gpubpf_device_caps *caps, const char *(*variable)(const char *name));
/*
 * Set the environment variables of this process to the values in `settings`, and unset the list's variables that
 * `settings` does not name. Returns false if `settings` is not a complete result of gpubpf_cl_settings_query().
 */
bool gpubpf_cl_settings_apply(const char *settings);

#endif
