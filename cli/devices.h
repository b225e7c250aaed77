/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of a backend, by what they say of themselves. */
#ifndef GPUBPF_CLI_DEVICES_H
#define GPUBPF_CLI_DEVICES_H

#include <stdint.h>

#include "core/wire/caps.h"

#define CLI_DEVICES 64

struct cli_devices {
	struct gpubpf_device_caps caps[CLI_DEVICES]; /* ordinal: the index, as struct gpubpf_device_open has it */
	uint32_t n;
	const char *missing;   /* why there are none; "" if there are */
};

/* Devices with this in their or their platform's name; NULL: all. */
void cli_devices_ask(const char *backend, const char *named, struct cli_devices *f);

#endif
