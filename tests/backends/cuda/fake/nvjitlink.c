/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake linker with nvJitLink's function names. Only the fake driver can read its machine code. As in the real
 * library, "-ptx" returns PTX, and only for LTO-IR inputs. Here LTO-IR is the text "LTO-IR" followed by PTX.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { CUBIN = 1, PTX, LTOIR, ANY = 10 };

struct fake_linker {
	char text[1 << 16];
	int ptx, lto, other;
};

/* Defines each function also under its versioned name. */
#define CALL(function, parameters, arguments) \
	EXPORT int nvJitLink##function parameters; \
	EXPORT int __nvJitLink##function##_13_0 parameters; \
	int __nvJitLink##function##_13_0 parameters \
	{ \
		return nvJitLink##function arguments; \
	} \
	int nvJitLink##function parameters

CALL(Create, (struct fake_linker * *l, uint32_t n, const char **options), (l, n, options))
{
	struct fake_linker *made = calloc(1, sizeof(*made));

	for (uint32_t i = 0; i < n; i++) {
		made->ptx |= !strcmp(options[i], "-ptx");
		made->lto |= !strcmp(options[i], "-lto");
	}
	if (!made->ptx)
		strcpy(made->text, "//machine code\n)))\n");
	*l = made;
	return 0;
}

CALL(AddData, (struct fake_linker * l, int type, const void *data, size_t size, const char *name),
     (l, type, data, size, name))
{
	size_t at = strlen(l->text), head = strlen("LTO-IR");

	if (type == LTOIR && (!l->lto || strncmp(data, "LTO-IR", head)))
		return 2; /* NVJITLINK_ERROR_MISSING_ARCH or a similar error */
	head = type == LTOIR ? head : 0;
	l->other |= type != LTOIR;
	snprintf(l->text + at, sizeof(l->text) - at, "%.*s", (int)(strnlen(data, size) - head), (const char *)data + head);
	return 0;
}

CALL(AddFile, (struct fake_linker * l, int type, const char *path), (l, type, path))
{
	static char text[1 << 14];
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (!f)
		return 8;
	fclose(f);
	return nvJitLinkAddData(l, type, text, n, path);
}

CALL(Complete, (struct fake_linker * l), (l))
{
	return l->ptx && (l->other || !l->lto) ? 12 : 0;
}

CALL(GetLinkedCubinSize, (struct fake_linker * l, size_t *size), (l, size))
{
	*size = strlen(l->text) + 1;
	return l->ptx ? 6 : 0;
}

CALL(GetLinkedCubin, (struct fake_linker * l, void *image), (l, image))
{
	memcpy(image, l->text, strlen(l->text) + 1);
	return l->ptx ? 6 : 0;
}

CALL(GetLinkedPtxSize, (struct fake_linker * l, size_t *size), (l, size))
{
	*size = strlen(l->text) + 1;
	return l->ptx ? 0 : 6;
}

CALL(GetLinkedPtx, (struct fake_linker * l, char *text), (l, text))
{
	memcpy(text, l->text, strlen(l->text) + 1);
	return l->ptx ? 0 : 6;
}

CALL(Destroy, (struct fake_linker * *l), (l))
{
	free(*l);
	*l = NULL;
	return 0;
}
