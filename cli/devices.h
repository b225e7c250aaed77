/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the devices of a backend, with their capabilities. */
#ifndef GPUBPF_CLI_DEVICES_H
#define GPUBPF_CLI_DEVICES_H

#include <stdint.h>

#include "core/wire/caps.h"

#define CLI_DEVICES 64

struct cli_devices {
	/* capabilities of each device; the array index is the device's index in struct gpubpf_device_open */
	struct gpubpf_device_caps caps[CLI_DEVICES];
	uint32_t n;
	const char *missing; /* why there are no devices; "" if there are devices */
};

/* List the devices whose name, or whose platform's name, contains `named`. NULL: list all devices. */
void cli_devices_query(const char *backend, const char *named, struct cli_devices *f);

#endif
