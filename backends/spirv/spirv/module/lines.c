/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where source lines begin: for each function and line, the first instruction before which a call may be
 * inserted.
 */
#include <errno.h>

#include "spv.h"

/* the lines found in one function: a hash table of OpLine instructions with file and line as the key */
struct line_set {
	const struct gpubpf_spv *m;
	uint32_t *slot;  /* [nslots]: index + 1 of an OpLine, or 0 */
	uint32_t nslots; /* a power of two, more than twice the number of OpLines */
	/* index of the current OpFunction; table entries with a lower index belong to earlier functions */
	uint32_t function;
};

static uint32_t line_word(const struct line_set *line_set, uint32_t line, uint32_t i)
{
	return gpubpf_spv_word(line_set->m, &line_set->m->insn[line], i);
}

/* Returns true and records the OpLine if it is the first OpLine with its file and line in the function. */
static bool is_new(struct line_set *line_set, uint32_t line)
{
	uint32_t file = line_word(line_set, line, 1), number = line_word(line_set, line, 2);
	uint32_t at = (file * 2654435761u ^ number * 2246822519u ^ line_set->function) & (line_set->nslots - 1);

	for (; line_set->slot[at]; at = (at + 1) & (line_set->nslots - 1)) {
		uint32_t other = line_set->slot[at] - 1;

		if (other > line_set->function && line_word(line_set, other, 1) == file &&
		    line_word(line_set, other, 2) == number)
			return false;
	}
	line_set->slot[at] = line + 1;
	return true;
}

/*
 * Returns false for instructions at the start of a function or basic block, before which no call may be inserted
 * (sections 2.4 and 2.16.1).
 */
static bool can_insert_call(const struct gpubpf_spv *m, uint32_t i)
{
	switch (m->insn[i].op) {
	case SpvOpFunction:
	case SpvOpFunctionParameter:
	case SpvOpLabel:
	case SpvOpVariable:
	case SpvOpPhi:
	case SpvOpFunctionEnd:
		return false;
	default:
		return true;
	}
}

/*
 * Store in starts[i] the index + 1 of the OpLine whose line begins at instruction i. An OpLine is valid up to the end
 * of its basic block (section 3.52.2).
 */
static void find_line_starts(struct line_set *line_set, uint32_t *starts)
{
	const struct gpubpf_spv *m = line_set->m;
	uint32_t line = 0;

	for (uint32_t i = m->functions; i < m->ninsns; i++) {
		if (m->insn[i].op == SpvOpFunction)
			line_set->function = i;
		if (m->insn[i].op == SpvOpLine)
			line = i;
		else if (m->insn[i].op == SpvOpNoLine || m->insn[i].op == SpvOpLabel || m->insn[i].op == SpvOpFunctionEnd)
			line = 0;
		else if (line && can_insert_call(m, i) && line_word(line_set, line, 2) && is_new(line_set, line))
			starts[i] = line + 1;
	}
}

int gpubpf_spv_lines(struct gpubpf_spv *m, struct gpubpf_pool *pool)
{
	struct line_set line_set = { .m = m, .nslots = 2 };
	uint32_t n = 0;

	for (uint32_t i = m->functions; i < m->ninsns; i++)
		n += m->insn[i].op == SpvOpLine;
	while (line_set.nslots <= 2 * n)
		line_set.nslots *= 2;
	line_set.slot = gpubpf_pool_alloc(pool, line_set.nslots, sizeof(*line_set.slot));
	m->line = gpubpf_pool_alloc(pool, m->ninsns, sizeof(*m->line));
	if (!line_set.slot || !m->line)
		return -ENOMEM;
	find_line_starts(&line_set, m->line);
	return 0;
}

void gpubpf_spv_line_name(const struct gpubpf_spv *m, uint32_t insn, char *name, size_t size)
{
	const struct gpubpf_spv_insn *line = &m->insn[m->line[insn] - 1],
				     *file = gpubpf_spv_def(m, gpubpf_spv_word(m, line, 1));
	uint32_t end;

	gpubpf_place_line_name(file && file->op == SpvOpString ? gpubpf_spv_string(m, file, 2, &end) : "",
			       gpubpf_spv_word(m, line, 2), name, size);
}
