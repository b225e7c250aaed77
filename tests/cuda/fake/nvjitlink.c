/* SPDX-License-Identifier: Apache-2.0 */
/* A linker that is not NVIDIA's, by the names of nvJitLink: what it makes, only the fake driver can read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct fake_linker {
	char *text;
	size_t size;
};

EXPORT int nvJitLinkCreate(struct fake_linker **l, uint32_t n, const char **options);
EXPORT int nvJitLinkAddData(struct fake_linker *l, int type, const void *data, size_t size, const char *name);
EXPORT int nvJitLinkComplete(struct fake_linker *l);
EXPORT int nvJitLinkGetLinkedCubinSize(struct fake_linker *l, size_t *size);
EXPORT int nvJitLinkGetLinkedCubin(struct fake_linker *l, void *image);
EXPORT int nvJitLinkDestroy(struct fake_linker **l);

int nvJitLinkCreate(struct fake_linker **l, uint32_t n, const char **options)
{
	*l = calloc(1, sizeof(**l));
	(*l)->text = strdup("//machine code\n)))\n");
	(*l)->size = strlen((*l)->text);
	return 0;
}

int nvJitLinkAddData(struct fake_linker *l, int type, const void *data, size_t size, const char *name)
{
	size = strnlen(data, size);
	l->text = realloc(l->text, l->size + size + 1);
	memcpy(l->text + l->size, data, size);
	l->size += size;
	l->text[l->size] = 0;
	return 0;
}

int nvJitLinkComplete(struct fake_linker *l)
{
	return 0;
}

int nvJitLinkGetLinkedCubinSize(struct fake_linker *l, size_t *size)
{
	*size = l->size + 1;
	return 0;
}

int nvJitLinkGetLinkedCubin(struct fake_linker *l, void *image)
{
	memcpy(image, l->text, l->size + 1);
	return 0;
}

int nvJitLinkDestroy(struct fake_linker **l)
{
	free((*l)->text);
	free(*l);
	*l = NULL;
	return 0;
}
