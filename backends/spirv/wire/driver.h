/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_SPIRV_WIRE_DRIVER_H
#define GPUBPF_BACKENDS_SPIRV_WIRE_DRIVER_H

#include <stdio.h>

#include "core/wire/caps.h"

/* buffer sizes for CL_DEVICE_VENDOR and CL_DRIVER_VERSION, including the terminating zero */
#define GPUBPF_CL_VENDOR_SIZE 128
#define GPUBPF_CL_VERSION_SIZE 96

/*
 * Write caps->driver of an OpenCL device: at most 60 bytes of the vendor's name, then at most 30 bytes of the driver
 * version. The agent and the builder identify devices by this text.
 */
static inline void gpubpf_cl_driver_format(char driver[sizeof(((struct gpubpf_device_caps *)0)->driver)],
					   const char *vendor, const char *version)
{
	snprintf(driver, sizeof(((struct gpubpf_device_caps *)0)->driver), "%.60s %.30s", vendor, version);
}

#endif
