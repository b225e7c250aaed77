/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OpenCL devices for which the worker builds. The worker identifies a device by its name and driver version, and
 * creates one context per device.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/model/diag.h"
#include "backends/spirv/wire/driver.h"
#include "backends/spirv/wire/settings.h"
#include "job.h"

#define MAX_DEVICES 64

static struct builder builders[MAX_DEVICES];
static unsigned nbuilders;

/*
 * Returns true if the device's name equals caps->name, which may be truncated. *exact is true if vendor and driver
 * version are equal too.
 */
static bool same_device(const struct gpubpf_clapi *cl, cl_device_id device, const struct gpubpf_device_caps *caps,
			bool *exact)
{
	char name[256] = "", vendor[GPUBPF_CL_VENDOR_SIZE] = "", version[GPUBPF_CL_VERSION_SIZE] = "";
	char driver[sizeof(caps->driver)];

	cl->clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL);
	cl->clGetDeviceInfo(device, CL_DEVICE_VENDOR, sizeof(vendor) - 1, vendor, NULL);
	cl->clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof(version) - 1, version, NULL);
	gpubpf_cl_driver_format(driver, vendor, version);
	*exact = strcmp(driver, caps->driver) == 0;
	return strncmp(name, caps->name, sizeof(caps->name) - 1) == 0;
}

/*
 * Returns the device whose name is caps->name, or NULL. If several devices have this name, the first with the same
 * vendor and driver version is preferred.
 */
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

/*
 * Set the environment variables that configure the OpenCL runtime as in the application. The runtime reads them only
 * once per process.
 */
static int apply_settings(const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag)
{
	static char applied[sizeof(caps->settings)];
	static bool is_applied;
	const char *refused = NULL;
	int err = is_applied ? 0 : gpubpf_cl_settings_apply(caps->settings, &refused);

	if (err == -EPERM)
		return gpubpf_diag_set(diag, GPUBPF_E_BACKEND, GPUBPF_NOPC,
				       "the application sets %s to options that could load code into gpubpf-build; set the "
				       "same value in the environment of gpubpf, or unset the variable",
				       refused);
	if (err < 0)
		return gpubpf_diag_set(diag, GPUBPF_E_BACKEND, GPUBPF_NOPC,
				       "the application sets more environment variables of its OpenCL runtime (CL_CONFIG_*, "
				       "POCL_*) than gpubpf-build supports; unset some of them");
	if (is_applied && strcmp(applied, caps->settings))
		return gpubpf_diag_set(diag, GPUBPF_E_BACKEND, GPUBPF_NOPC,
				       "environment variables of the OpenCL runtime (CL_CONFIG_*, POCL_*) differ between "
				       "applications of this session; run the application in a separate session");
	snprintf(applied, sizeof(applied), "%s", caps->settings);
	is_applied = true;
	return 0;
}

static bool is_pocl(const struct builder *b)
{
	cl_platform_id platform = NULL;
	char name[64] = "";

	return b->cl->clGetDeviceInfo(b->device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) == CL_SUCCESS &&
	       b->cl->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL) == CL_SUCCESS &&
	       strcmp(name, "Portable Computing Language") == 0;
}

void cl_builder_close_pocl(void)
{
	for (struct builder *b = builders; b < builders + nbuilders; b++)
		if (b->pocl && b->context) {
			b->cl->clReleaseContext(b->context);
			b->context = NULL;
		}
}

cl_int cl_builder_open(struct builder *b)
{
	cl_int err = CL_SUCCESS;

	if (!b->context)
		b->context = b->cl->clCreateContext(NULL, 1, &b->device, NULL, NULL, &err);
	return err;
}

static int open_builder(struct builder *b, const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag)
{
	cl_int err = cl_builder_open(b);

	if (err != CL_SUCCESS)
		return gpubpf_diag_set(diag, GPUBPF_E_BACKEND, GPUBPF_NOPC, "clCreateContext for \"%s\" failed with %d",
				       caps->name, err);
	return 0;
}

int cl_builder_get(const struct gpubpf_device_caps *caps, struct builder **out, struct gpubpf_diag *diag)
{
	struct builder *b = builders;
	const char *why;
	int err;

	err = apply_settings(caps, diag);
	if (err < 0)
		return err;
	for (; b < builders + nbuilders; b++) {
		*out = b;
		if (strcmp(b->name, caps->name) == 0 && strcmp(b->driver, caps->driver) == 0)
			return open_builder(b, caps, diag);
	}
	if (nbuilders == MAX_DEVICES)
		return gpubpf_diag_set(diag, GPUBPF_E_BACKEND, GPUBPF_NOPC,
				       "the application uses more devices than gpubpf-build supports");
	b->cl = gpubpf_clapi(&why);
	if (!b->cl)
		return gpubpf_diag_set(diag, GPUBPF_E_BACKEND, GPUBPF_NOPC, "gpubpf-build cannot load OpenCL: %s", why);
	b->device = find_device(b->cl, caps);
	if (!b->device)
		return gpubpf_diag_set(diag, GPUBPF_E_BACKEND, GPUBPF_NOPC,
				       "gpubpf-build finds no OpenCL device named \"%s\"", caps->name);
	err = open_builder(b, caps, diag);
	if (err < 0)
		return err;
	b->pocl = is_pocl(b);
	snprintf(b->name, sizeof(b->name), "%.95s", caps->name);
	snprintf(b->driver, sizeof(b->driver), "%.95s", caps->driver);
	nbuilders++;
	*out = b;
	return 0;
}
