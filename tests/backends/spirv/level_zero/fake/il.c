/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

#include <spirv/unified1/spirv.h>
#include <string.h>

/* Moves *at to the next instruction with the opcode. Returns its number of words, or 0 if there is none. */
static uint32_t find(const struct part *part, uint32_t *at, uint32_t op)
{
	const uint32_t *w = part->il, end = part->size / 4;

	for (uint32_t n; *at < end; *at += n) {
		n = w[*at] >> 16;
		if (!n || n > end - *at)
			return 0;
		if ((w[*at] & 0xffff) == op)
			return n;
	}
	return 0;
}

/* Returns the name in a linkage decoration of this type, or NULL for another decoration. */
static const char *linked(const uint32_t *w, uint32_t n, uint32_t type)
{
	return n > 4 && w[2] == SpvDecorationLinkageAttributes && w[n - 1] == type ? (const char *)&w[3] : NULL;
}

static bool exports(const struct part *part, const char *name)
{
	const uint32_t *w = part->il;
	uint32_t at = 5, n;

	for (; (n = find(part, &at, SpvOpDecorate)); at += n) {
		const char *has = linked(&w[at], n, SpvLinkageTypeExport);

		if (has && !strcmp(has, name))
			return true;
	}
	return false;
}

static bool imports(const struct part *part, const char *name)
{
	const uint32_t *w = part->il;
	uint32_t at = 5, n;

	for (; (n = find(part, &at, SpvOpDecorate)); at += n) {
		const char *wants = linked(&w[at], n, SpvLinkageTypeImport);

		if (wants && !strcmp(wants, name))
			return true;
	}
	return false;
}

bool fake_il_reads_clock(const struct part *part)
{
	return imports(part, FAKE_CLOCK);
}

bool fake_il_lacks(const struct part *parts, uint32_t nparts, uint32_t of)
{
	const uint32_t *w = parts[of].il;
	uint32_t at = 5, n, i;

	for (; (n = find(&parts[of], &at, SpvOpDecorate)); at += n) {
		const char *name = linked(&w[at], n, SpvLinkageTypeImport);

		/* functions of the compiler's own library, which no module defines */
		if (!name || !strncmp(name, "__spirv_", 8) || !strncmp(name, "_Z", 2) || !strcmp(name, FAKE_CLOCK))
			continue;
		for (i = 0; i < nparts && !exports(&parts[i], name); i++)
			;
		if (i == nparts)
			return true;
	}
	return false;
}

static bool points_to_memory(const struct part *part, uint32_t type)
{
	const uint32_t *w = part->il;
	uint32_t at = 5, n;

	for (; (n = find(part, &at, SpvOpTypePointer)); at += n)
		if (w[at + 1] == type)
			return w[at + 2] == SpvStorageClassCrossWorkgroup || w[at + 2] == SpvStorageClassUniformConstant;
	return false;
}

static uint32_t function_of(const struct part *part, const char *kernel)
{
	const uint32_t *w = part->il;
	uint32_t at = 5, n;

	for (; (n = find(part, &at, SpvOpEntryPoint)); at += n)
		if (!strcmp((const char *)&w[at + 3], kernel))
			return w[at + 2];
	return 0;
}

bool fake_il_pointers(const struct part *part, const char *kernel, bool *pointer)
{
	const uint32_t *w = part->il;
	uint32_t function = function_of(part, kernel), at = 5, n, i = 0;

	if (!function)
		return false;
	while ((n = find(part, &at, SpvOpFunction)) && w[at + 2] != function)
		at += n;
	for (at += n; (w[at] & 0xffff) == SpvOpFunctionParameter && i < FAKE_MAX_ARGS; at += w[at] >> 16)
		pointer[i++] = points_to_memory(part, w[at + 1]);
	return true;
}
