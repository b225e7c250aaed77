/* SPDX-License-Identifier: Apache-2.0 */
#include "place_values.h"

enum lanes { EACH, ALL, ANY };

static const struct {
	const char *field;
	enum lanes lanes;
} rows[SASS_NINPUTS] = {
#define SASS_INPUT(field, name, lanes) [SASS_INPUT_##name] = { field, lanes },
#include "place_values.def"
};

enum sass_input sass_find_input(const char *field, unsigned i)
{
	unsigned g = 0;

	while (g < SASS_NINPUTS && (strcmp(rows[g].field, field) || i--))
		g++;
	return g;
}

bool sass_input_is_per_lane(enum sass_input value)
{
	return rows[value].lanes == EACH;
}

bool sass_input_looks_per_lane(enum sass_input value)
{
	return rows[value].lanes != ALL;
}

bool sass_is_input_load(struct sass_insn insn, enum sass_input *value, unsigned *half)
{
	uint32_t off = insn.high - SASS_INPUT_BASE;

	if (!sass_is(insn, SASS_OPERATION_LDL) || off >= SASS_NINPUTS * SASS_INPUT_STRIDE || off % SASS_INPUT_STRIDE > 4)
		return false;
	*value = off / SASS_INPUT_STRIDE;
	*half = off % SASS_INPUT_STRIDE / 4;
	return true;
}
