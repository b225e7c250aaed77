/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: hooks/unwind/cfi.c
// LIBS:
/*
 * Passes arbitrary bytes to the unwinder as unwind tables. The unwinder must not read a byte outside the tables, and
 * must return only complete rows. The first four bytes are the code address, relative to the start of the tables.
 */
#include <stdlib.h>
#include <string.h>

#include "hooks/unwind/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct cfi_row *row)
{
	if (row->base >= CFI_RETURN && row->base != CFI_RSP)
		abort();
	for (int i = 0; i < CFI_REGISTERS; i++)
		if (row->reg[i].how > CFI_AT_REGISTER || (row->reg[i].how == CFI_AT_REGISTER && row->reg[i].base >= CFI_RETURN &&
							  row->reg[i].base != CFI_RSP))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int32_t place;
	struct cfi_row row;
	struct cfi_range range;
	uint8_t *copy;

	if (size < 4)
		return 0;
	memcpy(&place, data, 4);
	copy = malloc(size - 4 ? size - 4 : 1); /* a copy of the exact size, so that ASan detects reads past its end */
	if (!copy)
		return 0;
	memcpy(copy, data + 4, size - 4);
	range = (struct cfi_range){ (uintptr_t)copy, (uintptr_t)copy + size - 4 };
	if (cfi_find(range, range.from, range.from + place, &row))
		check(&row);
	free(copy);
	return 0;
}
