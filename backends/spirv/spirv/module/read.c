/* SPDX-License-Identifier: Apache-2.0 */
#define SPV_ENABLE_UTILITY_CODE /* SpvHasResultAndType() */
#include "spv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"

/* spirv.h defines this function inline, and C requires one external declaration of it. */
extern inline void SpvHasResultAndType(SpvOp opcode, bool *hasResult, bool *hasResultType);

static int refuse(struct gpubpf_diag *diag, uint32_t at, const char *what, uint32_t value)
{
	gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the SPIR-V module is damaged at word %u: %s %u", at, what,
			value);
	return -EINVAL;
}

static int read_words(struct gpubpf_spv *m, const void *data, size_t size, struct gpubpf_pool *pool,
		      struct gpubpf_diag *diag)
{
	if (size % 4 || size < 4 * GPUBPF_SPV_HEADER || size / 4 > UINT32_MAX / 2) {
		gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "%zu bytes cannot be the size of a SPIR-V module",
				size);
		return -EINVAL;
	}
	m->nwords = size / 4;
	m->words = gpubpf_pool_alloc(pool, m->nwords, 4);
	if (!m->words)
		return -ENOMEM;
	memcpy(m->words, data, size);
	m->swapped = m->words[0] == __builtin_bswap32(SpvMagicNumber);
	for (uint32_t i = 0; m->swapped && i < m->nwords; i++)
		m->words[i] = __builtin_bswap32(m->words[i]);
	if (m->words[0] != SpvMagicNumber)
		return refuse(diag, 0, "wrong magic number", m->words[0]);
	m->version = m->words[1];
	m->bound = m->words[3];
	if (m->bound == 0 || m->bound > GPUBPF_SPV_MAX_BOUND)
		return refuse(diag, 3, "invalid bound of ids", m->bound);
	return 0;
}

/* Count the instructions. The sum of their lengths must equal the module's length. */
static int count_insns(struct gpubpf_spv *m, struct gpubpf_diag *diag)
{
	for (uint32_t at = GPUBPF_SPV_HEADER; at < m->nwords; m->ninsns++) {
		uint32_t n = m->words[at] >> SpvWordCountShift;

		if (n == 0 || n > m->nwords - at)
			return refuse(diag, at, "invalid instruction length", n);
		at += n;
	}
	return 0;
}

static int define_result(struct gpubpf_spv *m, uint32_t index, struct gpubpf_diag *diag)
{
	const struct gpubpf_spv_insn *insn = &m->insn[index];
	bool result = false, type = false;
	uint32_t id;

	SpvHasResultAndType(insn->op, &result, &type);
	if (!result)
		return 0;
	id = gpubpf_spv_word(m, insn, 1 + type);
	if (id == 0 || id >= m->bound)
		return refuse(diag, insn->at, "a result id out of bounds,", id);
	if (m->def[id])
		return refuse(diag, insn->at, "a second definition of id", id);
	m->def[id] = index + 1;
	return 0;
}

/* Check that functions do not nest, and that only line information stands between functions (section 2.4). */
static int check_nesting(struct gpubpf_spv *m, struct gpubpf_diag *diag)
{
	bool inside = false;

	for (uint32_t i = 0; i < m->ninsns; i++) {
		uint32_t op = m->insn[i].op;

		if (op == SpvOpFunction || op == SpvOpFunctionEnd) {
			if (inside == (op == SpvOpFunction))
				return refuse(diag, m->insn[i].at, "a misplaced instruction with opcode", op);
			inside = op == SpvOpFunction;
			if (m->functions > i)
				m->functions = i;
		} else if (!inside && i > m->functions && op != SpvOpLine && op != SpvOpNoLine && op != SpvOpExtInst) {
			return refuse(diag, m->insn[i].at, "an instruction outside of functions, with opcode", op);
		}
	}
	return inside ? refuse(diag, m->nwords, "no end of the last function, functions begin at instruction",
			       m->functions) :
			0;
}

static void record_decorations(struct gpubpf_spv *m)
{
	for (uint32_t i = 0; i < m->functions; i++) {
		uint32_t id = gpubpf_spv_word(m, &m->insn[i], 1);

		if (m->insn[i].op == SpvOpName && id < m->bound)
			m->name[id] = i + 1;
		if (m->insn[i].op == SpvOpDecorate && id < m->bound) {
			m->packed[id] |= gpubpf_spv_word(m, &m->insn[i], 2) == SpvDecorationCPacked;
			m->built_in[id] |= gpubpf_spv_word(m, &m->insn[i], 2) == SpvDecorationBuiltIn;
			m->constant[id] |= gpubpf_spv_word(m, &m->insn[i], 2) == SpvDecorationConstant;
			m->by_value[id] |= gpubpf_spv_word(m, &m->insn[i], 2) == SpvDecorationFuncParamAttr &&
					   gpubpf_spv_word(m, &m->insn[i], 3) == SpvFunctionParameterAttributeByVal;
		}
	}
}

int gpubpf_spv_read(const void *data, size_t size, struct gpubpf_pool *pool, struct gpubpf_spv *m, struct gpubpf_diag *diag)
{
	uint32_t at = GPUBPF_SPV_HEADER;
	int err;

	memset(m, 0, sizeof(*m));
	err = read_words(m, data, size, pool, diag);
	if (err == 0)
		err = count_insns(m, diag);
	if (err < 0)
		return err;
	m->insn = gpubpf_pool_alloc(pool, m->ninsns, sizeof(*m->insn));
	m->def = gpubpf_pool_alloc(pool, m->bound, sizeof(*m->def));
	m->packed = gpubpf_pool_alloc(pool, m->bound, 1);
	m->built_in = gpubpf_pool_alloc(pool, m->bound, 1);
	m->constant = gpubpf_pool_alloc(pool, m->bound, 1);
	m->by_value = gpubpf_pool_alloc(pool, m->bound, 1);
	m->name = gpubpf_pool_alloc(pool, m->bound, sizeof(*m->name));
	if (!m->insn || !m->def || !m->packed || !m->built_in || !m->constant || !m->by_value || !m->name)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->ninsns && err == 0; i++) {
		uint32_t first = m->words[at];

		m->insn[i] = (struct gpubpf_spv_insn){ at, first & SpvOpCodeMask, first >> SpvWordCountShift };
		at += m->insn[i].n;
		err = define_result(m, i, diag);
	}
	m->functions = m->ninsns;
	if (err == 0)
		err = check_nesting(m, diag);
	if (err == 0)
		record_decorations(m);
	return err;
}

int gpubpf_spv_write(const struct gpubpf_spv *m, struct gpubpf_blob *out)
{
	uint32_t *words = malloc(4 * (size_t)m->nwords);

	if (!words)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->nwords; i++)
		words[i] = m->swapped ? __builtin_bswap32(m->words[i]) : m->words[i];
	out->data = words;
	out->size = 4 * (size_t)m->nwords;
	return 0;
}

uint32_t gpubpf_spv_word(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn, uint32_t i)
{
	return i < insn->n ? m->words[insn->at + i] : 0;
}

const struct gpubpf_spv_insn *gpubpf_spv_def(const struct gpubpf_spv *m, uint32_t id)
{
	return id < m->bound && m->def[id] ? &m->insn[m->def[id] - 1] : NULL;
}

uint32_t gpubpf_spv_type_of(const struct gpubpf_spv *m, uint32_t id)
{
	const struct gpubpf_spv_insn *def = gpubpf_spv_def(m, id);
	bool result = false, type = false;

	if (def)
		SpvHasResultAndType(def->op, &result, &type);
	return type ? gpubpf_spv_word(m, def, 1) : 0;
}

/*
 * A literal string is UTF-8, packed from the lowest byte of each word and NUL-terminated (section 2.2.1). This code
 * works only on little-endian hosts.
 */
const char *gpubpf_spv_string(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn, uint32_t i, uint32_t *end)
{
	const char *text = (const char *)(m->words + insn->at + i);
	size_t room = i < insn->n ? 4 * (size_t)(insn->n - i) : 0;
	size_t len = room ? strnlen(text, room) : 0;

	if (len == room) {
		*end = insn->n;
		return "";
	}
	*end = i + len / 4 + 1;
	return text;
}
