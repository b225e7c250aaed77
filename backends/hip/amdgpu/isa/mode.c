/* SPDX-License-Identifier: Apache-2.0 */
#include "mode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns true if the instruction sets bits of MODE, and stores the range: bits *first to *end - 1. */
static bool sets_mode(const char *name, const char *operands, uint32_t *first, uint32_t *end)
{
	const char *mode = strstr(operands, "HW_REG_MODE");
	uint32_t n = 32;

	mode = mode ? mode : strstr(operands, "HW_REG_WAVE_MODE"); /* name of MODE on gfx12 */
	if (!mode || strncmp(name, "s_setreg_", 9))
		return false;
	*first = 0;
	sscanf(strstr(mode, "MODE"), "MODE, %u, %u", first, &n);
	*end = *first + n;
	return true;
}

/* Source: CDNA2 ISA guide, "Hardware register MODE". */
bool hip_changes_vectors(const struct hip_isa *isa, const char *name, const char *operands)
{
	uint32_t first, end;

	return !strcmp(name, "s_setvskip") || (isa->accum && sets_mode(name, operands, &first, &end) && end > 27);
}

/* Source: CDNA2 and RDNA4 ISA guides. */
bool hip_enables_exceptions(const char *name, const char *operands)
{
	const char *value = strrchr(operands, ',');
	uint32_t first, end;

	if (!sets_mode(name, operands, &first, &end))
		return !strncmp(name, "s_setreg_", 9) && strstr(operands, "_TRAP_CTRL");
	if (!strncmp(name, "s_setreg_imm32_", 15) && value && (strtoull(value + 1, NULL, 0) << first & 0x1ff000) == 0)
		return false;
	return first < 21 && end > 12;
}
