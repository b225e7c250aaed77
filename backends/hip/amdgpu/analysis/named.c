/* SPDX-License-Identifier: Apache-2.0 */
#include "named.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTION ".gpubpf_marks"
#define IDENTIFIER "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

void hip_named_lines(const struct hip_app_kernel *app, struct gpubpf_lines *lines)
{
	if (app->insns & GPUBPF_SITE_BIT(LINE))
		gpubpf_lines_read_starts(app->elf.data, app->elf.size, lines);
	else
		gpubpf_lines_read(app->elf.data, app->elf.size, lines);
}

/*
 * Returns the number of parts of the twin. While a single kernel or function is inspected, app->parts is NULL and the
 * number is 1.
 */
static uint32_t nparts(const struct hip_app_kernel *app)
{
	return app->parts ? app->nparts : 1;
}

static struct hip_part part(const struct hip_app_kernel *app, uint32_t i)
{
	return app->parts ? app->parts[i] : (struct hip_part){ .address = app->address, .size = app->code.size };
}

static struct hip_patch *patch_at(struct hip_app_kernel *app, uint64_t address)
{
	for (uint32_t i = 0; i < nparts(app); i++) {
		const struct hip_part in = part(app, i);

		if (address >= in.address && address - in.address < in.size)
			return hip_patch_at(&app->code, in.off + (address - in.address));
	}
	return NULL;
}

static int find_starts(struct hip_app_kernel *app, const struct gpubpf_lines *lines, const struct hip_part *in)
{
	struct gpubpf_line_start *starts;
	struct hip_patch *patch;
	size_t n;
	int err = gpubpf_lines_starts(lines, in->address, in->address + in->size, &starts, &n);

	if (err < 0)
		return err;
	for (size_t i = 0; i < n; i++)
		if ((patch = patch_at(app, starts[i].address))) {
			patch->file = starts[i].file;
			patch->line = starts[i].line;
		}
	free(starts);
	return 0;
}

/* Reads a NUL-terminated string at *at and advances *at past it. Returns NULL if the section ends before the NUL. */
static const char *read_string(const uint8_t *bytes, size_t size, size_t *at)
{
	const char *begin = (const char *)bytes + *at;
	const char *end = *at < size ? memchr(begin, 0, size - *at) : NULL;

	*at = end ? (size_t)(end + 1 - (const char *)bytes) : size;
	return end ? begin : NULL;
}

static void read_marks(struct hip_app_kernel *app, const uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at + sizeof(uint64_t) < size;) {
		const char *name, *reg;
		struct hip_patch *patch;
		uint64_t address;

		memcpy(&address, bytes + at, sizeof(address));
		at += sizeof(address);
		name = read_string(bytes, size, &at);
		reg = read_string(bytes, size, &at);
		patch = patch_at(app, address);
		if (!name || !reg || !patch || name[strspn(name, IDENTIFIER)])
			continue;
		patch->mark = name;
		if (!hip_reg_read(reg, &patch->marked) || patch->marked.n != 2)
			patch->why = "the value of the mark at this instruction is not in a register pair";
	}
}

static void find_marks(struct hip_app_kernel *app)
{
	const uint8_t *bytes;
	Elf64_Shdr head;

	for (uint32_t i = 0; hip_elf_section(&app->elf, i, &head, &bytes); i++)
		if (bytes && !strcmp(hip_elf_string(&app->elf, app->elf.head.e_shstrndx, head.sh_name), SECTION))
			read_marks(app, bytes, head.sh_size);
}

int hip_named_find(struct hip_app_kernel *app, const struct gpubpf_lines *lines)
{
	int err = 0;

	if (app->insns & GPUBPF_SITE_BIT(MARK))
		find_marks(app);
	for (uint32_t i = 0; !err && app->insns & GPUBPF_SITE_BIT(LINE) && i < nparts(app); i++) {
		const struct hip_part in = part(app, i);

		err = find_starts(app, lines, &in);
	}
	return err;
}

void hip_named_write(const struct hip_patch *patch, enum gpubpf_site kind, char *name, size_t size)
{
	name[0] = 0;
	if (kind == GPUBPF_SITE_LINE)
		gpubpf_place_line_name(patch->file, patch->line, name, size);
	else if (gpubpf_place_has_name(kind))
		snprintf(name, size, "%s", kind == GPUBPF_SITE_INSN ? patch->name : patch->mark);
}
