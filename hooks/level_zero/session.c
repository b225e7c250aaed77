/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the table of loaded drivers, joins the session, and numbers the devices of all drivers. */
#include "level_zero.h"

#include <errno.h>

struct lz_driver lz_drivers[LZ_DRIVERS];

static bool is_other_backend; /* $GPUBPF_BACKEND names another runtime */

static void join_session(void)
{
	lz_device_init();
	is_other_backend = gpubpf_hook_init(&lz_hook_ops) == -EBUSY;
}

bool lz_active(void)
{
	static pthread_once_t joined = PTHREAD_ONCE_INIT;

	pthread_once(&joined, join_session);
	return !is_other_backend && gpubpf_hook_active();
}

#define MAX_DEVICES 64

/*
 * Get the driver's devices. Returns their number. First query that number, since some drivers write as many handles as
 * requested, even if they have fewer devices.
 */
static uint32_t devices_of(const struct lz_driver *d, ze_driver_handle_t driver, ze_device_handle_t devices[MAX_DEVICES])
{
	uint32_t n = 0;

	if (d->api.DeviceGet(driver, &n, NULL) || !n)
		return 0;
	n = n < MAX_DEVICES ? n : MAX_DEVICES;
	return d->api.DeviceGet(driver, &n, devices) ? 0 : n;
}

static bool has_part(const struct lz_driver *d, ze_device_handle_t whole, ze_device_handle_t part)
{
	ze_device_handle_t parts[MAX_DEVICES];
	uint32_t n = 0;

	if (d->api.DeviceGetSubDevices(whole, &n, NULL) || !n)
		return false;
	n = n < MAX_DEVICES ? n : MAX_DEVICES;
	if (d->api.DeviceGetSubDevices(whole, &n, parts))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (parts[i] == part || has_part(d, parts[i], part))
			return true;
	return false;
}

/* Returns the number of devices of a driver. If `device` is one of them, stores its index in *at. */
static uint32_t count_devices(const struct lz_driver *d, ze_device_handle_t device, uint32_t *at)
{
	ze_device_handle_t devices[MAX_DEVICES];
	ze_driver_handle_t drivers[16];
	uint32_t ndrivers = 0, n, count = 0;

	if (!d->api.DriverGet || d->api.DriverGet(&ndrivers, NULL) || !ndrivers)
		return 0;
	ndrivers = ndrivers < 16 ? ndrivers : 16;
	if (d->api.DriverGet(&ndrivers, drivers))
		return 0;
	for (uint32_t i = 0; i < ndrivers; i++) {
		n = devices_of(d, drivers[i], devices);
		for (uint32_t k = 0; at && k < n; k++)
			if (devices[k] == device || has_part(d, devices[k], device))
				*at = count + k;
		count += n;
	}
	return count;
}

uint32_t lz_device_ordinal(const struct lz_driver *d, ze_device_handle_t device)
{
	uint32_t base = 0, at = 0;

	for (const struct lz_driver *before = lz_drivers; before < d; before++)
		base += count_devices(before, NULL, NULL);
	count_devices(d, device, &at);
	return base + at;
}
