/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where source lines begin: for each function and line, the first instruction before which a call may stand. */
#include <errno.h>

#include "spv.h"

/* the lines seen in one function: a hash table of OpLines keyed by file and line */
struct met {
	const struct gpubpf_spv *m;
	uint32_t *slot;            /* index + 1 of an OpLine */
	uint32_t nslots;           /* a power of two, more than twice the number of OpLines */
	uint32_t function;         /* index of its OpFunction; entries of earlier OpLines belong to other functions */
};

static uint32_t word(const struct met *met, uint32_t line, uint32_t i)
{
	return gpubpf_spv_word(met->m, &met->m->insn[line], i);
}

/* Is this the first OpLine with its file and line in the function? */
static bool is_new(struct met *met, uint32_t line)
{
	uint32_t file = word(met, line, 1), number = word(met, line, 2);
	uint32_t at = (file * 2654435761u ^ number * 2246822519u ^ met->function) & (met->nslots - 1);

	for (; met->slot[at]; at = (at + 1) & (met->nslots - 1)) {
		uint32_t other = met->slot[at] - 1;

		if (other > met->function && word(met, other, 1) == file && word(met, other, 2) == number)
			return false;
	}
	met->slot[at] = line + 1;
	return true;
}

/* A call may not stand among the instructions with which a function or block begins (sections 2.4 and 2.16.1). */
static bool may_be_called_at(const struct gpubpf_spv *m, uint32_t i)
{
	switch (m->insn[i].op) {
	case SpvOpFunction: case SpvOpFunctionParameter: case SpvOpLabel: case SpvOpVariable: case SpvOpPhi: case SpvOpFunctionEnd:
		return false;
	default:
		return true;
	}
}

/* OpLine is valid up to the end of its block (section 3.52.2). */
static void find(struct met *met, uint32_t *starts)
{
	const struct gpubpf_spv *m = met->m;
	uint32_t line = 0;

	for (uint32_t i = m->functions; i < m->ninsns; i++) {
		if (m->insn[i].op == SpvOpFunction)
			met->function = i;
		if (m->insn[i].op == SpvOpLine)
			line = i;
		else if (m->insn[i].op == SpvOpNoLine || m->insn[i].op == SpvOpLabel || m->insn[i].op == SpvOpFunctionEnd)
			line = 0;
		else if (line && may_be_called_at(m, i) && word(met, line, 2) && is_new(met, line))
			starts[i] = line + 1;
	}
}

int gpubpf_spv_lines(struct gpubpf_spv *m, struct gpubpf_pool *pool)
{
	struct met met = { .m = m, .nslots = 2 };
	uint32_t n = 0;

	for (uint32_t i = m->functions; i < m->ninsns; i++)
		n += m->insn[i].op == SpvOpLine;
	while (met.nslots <= 2 * n)
		met.nslots *= 2;
	met.slot = gpubpf_pool_alloc(pool, met.nslots, sizeof(*met.slot));
	m->line = gpubpf_pool_alloc(pool, m->ninsns, sizeof(*m->line));
	if (!met.slot || !m->line)
		return -ENOMEM;
	find(&met, m->line);
	return 0;
}

void gpubpf_spv_line_name(const struct gpubpf_spv *m, uint32_t insn, char *name, size_t size)
{
	const struct gpubpf_spv_insn *line = &m->insn[m->line[insn] - 1], *file = gpubpf_spv_def(m, gpubpf_spv_word(m, line, 1));
	uint32_t end;

	gpubpf_place_line_name(file && file->op == SpvOpString ? gpubpf_spv_string(m, file, 2, &end) : "",
			       gpubpf_spv_word(m, line, 2), name, size);
}
