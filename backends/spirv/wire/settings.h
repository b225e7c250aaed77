/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_SPIRV_WIRE_SETTINGS_H
#define GPUBPF_BACKENDS_SPIRV_WIRE_SETTINGS_H

#include <stdbool.h>

#include "core/wire/caps.h"

/*
 * Variables of the environment by which users tell OpenCL runtimes to make other code: what is made with them set is for
 * programs that run so. Source: Intel's and PoCL's manuals, and the names in libintelocl.so 2026.2.
 */

/* Those that are set, into caps->settings. */
void gpubpf_cl_settings_ask(struct gpubpf_device_caps *caps, const char *(*variable)(const char *name));
/* This process's environment as they say, and the others of these unset. False: it is not what gpubpf_cl_settings_ask() makes. */
bool gpubpf_cl_settings_take(const char *settings);

#endif
