/* SPDX-License-Identifier: Apache-2.0 */
#include "place_values.h"

enum lanes { EACH, ALL, ANY };

static const struct {
	const char *field;
	enum lanes lanes;
} rows[SASS_NGIVEN] = {
#define SASS_GIVEN(field, name, lanes) [SASS_GIVEN_##name] = { field, lanes },
#include "place_values.def"
};

enum sass_given sass_given_of(const char *field, unsigned i)
{
	unsigned g = 0;

	while (g < SASS_NGIVEN && (strcmp(rows[g].field, field) || i--))
		g++;
	return g;
}

bool sass_given_each(enum sass_given given)
{
	return rows[given].lanes == EACH;
}

bool sass_given_apart(enum sass_given given)
{
	return rows[given].lanes != ALL;
}

bool sass_reads_given(struct sass_insn insn, enum sass_given *given, unsigned *half)
{
	uint32_t off = sass_field(insn, 40, 24) - SASS_GIVEN_AT;

	if ((sass_opcode(insn) & 0x1ff) != 0x183 || off >= SASS_NGIVEN * SASS_GIVEN_STEP || off % SASS_GIVEN_STEP > 4)
		return false;
	*given = off / SASS_GIVEN_STEP;
	*half = off % SASS_GIVEN_STEP / 4;
	return true;
}
