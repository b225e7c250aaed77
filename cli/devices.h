/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of a backend, with the capabilities that they report. */
#ifndef GPUBPF_CLI_DEVICES_H
#define GPUBPF_CLI_DEVICES_H

#include <stdint.h>

#include "core/wire/caps.h"

#define CLI_DEVICES 64

struct cli_devices {
	struct gpubpf_device_caps caps[CLI_DEVICES]; /* capabilities of each device; ordinal is its index for struct
						      * gpubpf_device_open */
	uint32_t n;
	const char *missing; /* why the list is empty; "" if it is not */
};

/* List the devices whose own name or platform's name contains `named`; NULL: all devices. */
void cli_devices_query(const char *backend, const char *named, struct cli_devices *f);

#endif
