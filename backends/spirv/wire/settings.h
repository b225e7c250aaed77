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
 * `settings` does not name. The application chose the values, so none of them may load code into this process. A value
 * with other compiler options is allowed only if this process already has it from the tool's environment.
 *
 * Returns 0 or -ENOMEM. Returns -EINVAL if `settings` is not a complete result of gpubpf_cl_settings_query(). Returns
 * -EPERM if the value of the variable *refused is not allowed. After -EINVAL and -EPERM the environment is unchanged.
 */
int gpubpf_cl_settings_apply(const char *settings, const char **refused);

#endif
