/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL devices for which the worker builds. The worker finds each by its name and driver version, and creates one
 * context for it. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/model/diag.h"
#include "backends/spirv/wire/settings.h"
#include "job.h"

#define MAX_DEVICES 64

/* Does the device's name match the caps, up to the length that they store? *exact: the driver's version matches too. */
static bool same_device(const struct gpubpf_clapi *cl, cl_device_id device, const struct gpubpf_device_caps *caps,
			bool *exact)
{
	char name[256] = "", version[256] = "";

	cl->clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL);
	cl->clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof(version), version, NULL);
	*exact = strstr(caps->driver, version) != NULL;
	return strncmp(name, caps->name, sizeof(caps->name) - 1) == 0;
}

/* Returns the device with the name in caps; of several, the one with the same driver version, else the first. NULL:
 * there is none. */
static cl_device_id find_device(const struct gpubpf_clapi *cl, const struct gpubpf_device_caps *caps)
{
	cl_platform_id platforms[16];
	cl_device_id devices[MAX_DEVICES], found = NULL;
	cl_uint np = 0, nd;
	bool exact;

	if (cl->clGetPlatformIDs(16, platforms, &np) != CL_SUCCESS)
		return NULL;
	for (cl_uint p = 0; p < np && p < 16; p++) {
		if (cl->clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &nd) != CL_SUCCESS)
			continue;
		for (cl_uint d = 0; d < nd && d < MAX_DEVICES; d++) {
			if (!same_device(cl, devices[d], caps, &exact))
				continue;
			if (exact)
				return devices[d];
			if (!found)
				found = devices[d];
		}
	}
	return found;
}

/* Set the environment variables of the program whose twins are built. The runtime reads them only once in a process. */
static int apply_settings(const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag)
{
	static char applied[sizeof(caps->settings)];
	static bool is_applied;

	if (!is_applied && !gpubpf_cl_settings_apply(caps->settings))
		return gpubpf_diag_set(diag, GPUBPF_E_BACKEND, GPUBPF_NOPC,
				       "the program sets too many variables of its OpenCL runtime (CL_CONFIG_*, POCL_*) for the "
				       "builder; unset some of them");
	if (is_applied && strcmp(applied, caps->settings))
		return gpubpf_diag_set(diag, GPUBPF_E_BACKEND, GPUBPF_NOPC,
				       "the program's variables of its OpenCL runtime (CL_CONFIG_*, POCL_*) differ from those of an "
				       "earlier program of this session; run it in a separate session");
	snprintf(applied, sizeof(applied), "%s", caps->settings);
	is_applied = true;
	return 0;
}

int cl_builder_get(const struct gpubpf_device_caps *caps, struct builder **out, struct gpubpf_diag *diag)
{
	static struct builder builders[MAX_DEVICES];
	static unsigned n;
	struct builder *b = builders;
	const char *why;
	cl_int err;

	err = apply_settings(caps, diag);
	if (err < 0)
		return err;
	for (; b < builders + n; b++) {
		*out = b;
		if (strcmp(b->name, caps->name) == 0 && strcmp(b->driver, caps->driver) == 0)
			return 0;
	}
	if (n == MAX_DEVICES)
		return gpubpf_diag_set(diag, GPUBPF_E_BACKEND, GPUBPF_NOPC, "too many devices for one builder");
	b->cl = gpubpf_clapi(&why);
	if (!b->cl)
		return gpubpf_diag_set(diag, GPUBPF_E_BACKEND, GPUBPF_NOPC, "the builder cannot load OpenCL: %s", why);
	b->device = find_device(b->cl, caps);
	if (!b->device)
		return gpubpf_diag_set(diag, GPUBPF_E_BACKEND, GPUBPF_NOPC,
				       "the builder finds no OpenCL device named \"%s\"", caps->name);
	b->context = b->cl->clCreateContext(NULL, 1, &b->device, NULL, NULL, &err);
	if (!b->context)
		return gpubpf_diag_set(diag, GPUBPF_E_BACKEND, GPUBPF_NOPC, "clCreateContext for \"%s\" failed with %d",
				       caps->name, err);
	snprintf(b->name, sizeof(b->name), "%.95s", caps->name);
	snprintf(b->driver, sizeof(b->driver), "%.95s", caps->driver);
	n++;
	*out = b;
	return 0;
}
