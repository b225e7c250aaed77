/* SPDX-License-Identifier: Apache-2.0 */
/* A library linked with the fake NVRTC, loaded by a program that does not link it. */
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

int nvrtcGetCUBIN(void *p, char *image);
EXPORT int user_get_cubin(void *p, char *image);
EXPORT int (*user_function(void))(void *p, char *image);

int user_get_cubin(void *p, char *image)
{
	int error = nvrtcGetCUBIN(p, image);

	return error ? error + 1000 : 0; /* prevents a tail call, so that the caller is this library */
}

int (*user_function(void))(void *p, char *image)
{
	return nvrtcGetCUBIN;
}
