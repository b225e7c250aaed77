/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event callbacks. A runtime such as PoCL may call them on the thread that runs its kernels. A launch in a callback
 * must not wait for a GPU kernel, and opening a device, for example, runs small kernels. The counter
 * gpubpf_hook_callbacks marks launches in a callback.
 */
#include "opencl.h"

#include <stdlib.h>

struct callback {
	void(CL_CALLBACK *notify)(cl_event, cl_int, void *);
	void *user;
};

static void CL_CALLBACK run_callback(cl_event event, cl_int status, void *arg)
{
	struct callback c = *(struct callback *)arg;

	free(arg);
	gpubpf_hook_callbacks++;
	c.notify(event, status, c.user);
	gpubpf_hook_callbacks--;
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clSetEventCallback(cl_event event, cl_int status,
						       void(CL_CALLBACK *notify)(cl_event, cl_int, void *), void *user)
{
	struct callback *c = notify ? malloc(sizeof(*c)) : NULL;
	cl_int error;

	if (!c)
		return ocl->clSetEventCallback(event, status, notify, user);
	*c = (struct callback){ notify, user };
	error = ocl->clSetEventCallback(event, status, run_callback, c);
	if (error)
		free(c);
	return error;
}
