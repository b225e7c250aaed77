/* SPDX-License-Identifier: Apache-2.0 */
/* A library that was linked with the fake NVRTC and is loaded by a program that was not. */
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

int nvrtcGetCUBIN(void *p, char *image);
EXPORT int user_get_cubin(void *p, char *image);
EXPORT int (*user_function(void))(void *p, char *image);

int user_get_cubin(void *p, char *image)
{
	int error = nvrtcGetCUBIN(p, image);

	return error ? error + 1000 : 0; /* no jump: the call comes from here */
}

int (*user_function(void))(void *p, char *image)
{
	return nvrtcGetCUBIN;
}
