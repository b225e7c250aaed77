/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake compiler with NVRTC's function names. The source that it accepts is PTX, and it returns the machine code of
 * the fake driver.
 */
#include "fake.h"

struct fake_program {
	char *text;
};

#define EXPORT __attribute__((visibility("default")))

EXPORT int nvrtcCreateProgram(struct fake_program **p, const char *source, const char *name, int n,
			      const char *const *headers, const char *const *names);
EXPORT int nvrtcGetCUBINSize(struct fake_program *p, size_t *size);
EXPORT int nvrtcGetCUBIN(struct fake_program *p, char *image);
EXPORT int nvrtcGetPTXSize(struct fake_program *p, size_t *size);
EXPORT int nvrtcGetPTX(struct fake_program *p, char *text);
EXPORT int nvrtcDestroyProgram(struct fake_program **p);

int nvrtcCreateProgram(struct fake_program **p, const char *source, const char *name, int n, const char *const *headers,
		       const char *const *names)
{
	*p = malloc(sizeof(**p));
	(*p)->text = strdup(source);
	return 0;
}

static size_t cubin(struct fake_program *p, char *to)
{
	size_t size;
	char *image = fake_cubin("made", p->text, &size);

	if (to)
		memcpy(to, image, size);
	free(image);
	return size;
}

int nvrtcGetCUBINSize(struct fake_program *p, size_t *size)
{
	*size = cubin(p, NULL);
	return 0;
}

int nvrtcGetCUBIN(struct fake_program *p, char *image)
{
	cubin(p, image);
	return 0;
}

int nvrtcGetPTXSize(struct fake_program *p, size_t *size)
{
	*size = strlen(p->text) + 1;
	return 0;
}

int nvrtcGetPTX(struct fake_program *p, char *text)
{
	strcpy(text, p->text);
	return 0;
}

int nvrtcDestroyProgram(struct fake_program **p)
{
	free((*p)->text);
	free(*p);
	*p = NULL;
	return 0;
}
