/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is linked with the fake NVRTC; the application that loads the library is not. */
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

int nvrtcGetCUBIN(void *p, char *image);
EXPORT int user_get_cubin(void *p, char *image);
EXPORT int (*user_function(void))(void *p, char *image);

int user_get_cubin(void *p, char *image)
{
	int error = nvrtcGetCUBIN(p, image);

	/* the addition prevents a tail call, so that the return address lies in this library */
	return error ? error + 1000 : 0;
}

int (*user_function(void))(void *p, char *image)
{
	return nvrtcGetCUBIN;
}
