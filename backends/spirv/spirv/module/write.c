/* SPDX-License-Identifier: Apache-2.0 */
#include "write.h"

#include <stdlib.h>
#include <string.h>

#define MAX_OPERANDS 0xffffu /* maximum length of an instruction in words: the length field has 16 bits */

void spv_append(struct spv_words *w, const uint32_t *words, size_t n)
{
	if (w->failed || n == 0)
		return;
	if (w->n + n > w->room) {
		size_t room = 2 * (w->n + n) + 64;
		uint32_t *data = realloc(w->data, room * 4);

		w->failed = !data;
		if (!data)
			return;
		w->data = data;
		w->room = room;
	}
	memcpy(w->data + w->n, words, n * 4);
	w->n += n;
}

void spv_op(struct spv_words *w, uint32_t op, const uint32_t *operands, uint32_t n)
{
	uint32_t first = (n + 1) << SpvWordCountShift | op;

	w->failed |= n >= MAX_OPERANDS;
	spv_append(w, &first, 1);
	spv_append(w, operands, n);
}

void spv_op_string(struct spv_words *w, uint32_t op, const uint32_t *before, uint32_t n, const char *text,
		   const uint32_t *after, uint32_t m)
{
	uint32_t words[128] = { 0 }, len = strlen(text) / 4 + 1;
	uint32_t first;

	if (len > 128 || n + len + m >= MAX_OPERANDS) {
		w->failed = true;
		return;
	}
	memcpy(words, text, strlen(text));
	first = (1 + n + len + m) << SpvWordCountShift | op;
	spv_append(w, &first, 1);
	spv_append(w, before, n);
	spv_append(w, words, len);
	spv_append(w, after, m);
}

uint32_t spv_id(struct spv_build *b)
{
	return b->bound++;
}

/* Returns true if the words are an instruction with this opcode and these operands. The result id is not compared. */
static bool is_type(const uint32_t *words, uint32_t op, const uint32_t *operands, uint32_t n)
{
	return words[0] == ((n + 2) << SpvWordCountShift | op) &&
	       (n == 0 || memcmp(words + 2, operands, 4 * (size_t)n) == 0);
}

uint32_t spv_type(struct spv_build *b, uint32_t op, const uint32_t *operands, uint32_t n)
{
	const struct gpubpf_spv *m = b->m;
	uint32_t id;

	for (uint32_t i = 0; i < m->functions; i++)
		if (m->insn[i].op == op && is_type(m->words + m->insn[i].at, op, operands, n))
			return m->words[m->insn[i].at + 1];
	for (size_t at = 0; !b->types.failed && at < b->types.n; at += b->types.data[at] >> SpvWordCountShift)
		if (is_type(b->types.data + at, op, operands, n))
			return b->types.data[at + 1];
	id = spv_id(b);
	spv_append(&b->types, &(uint32_t){ (n + 2) << SpvWordCountShift | op }, 1);
	spv_append(&b->types, &id, 1);
	spv_append(&b->types, operands, n);
	return id;
}

uint32_t spv_void(struct spv_build *b)
{
	return spv_type(b, SpvOpTypeVoid, NULL, 0);
}

uint32_t spv_u64(struct spv_build *b, uint64_t value)
{
	uint32_t type = SPV_TYPE(b, SpvOpTypeInt, 64, 0), id = spv_id(b);

	SPV_OP(&b->types, SpvOpConstant, type, id, value, value >> 32);
	return id;
}

uint32_t spv_u32(struct spv_build *b, uint32_t value)
{
	uint32_t type = SPV_TYPE(b, SpvOpTypeInt, 32, 0), id = spv_id(b);

	SPV_OP(&b->types, SpvOpConstant, type, id, value);
	return id;
}

void spv_capability(struct spv_build *b, uint32_t capability)
{
	for (uint32_t i = 0; i < b->m->functions; i++)
		if (b->m->insn[i].op == SpvOpCapability && gpubpf_spv_word(b->m, &b->m->insn[i], 1) == capability)
			return;
	SPV_OP(&b->capabilities, SpvOpCapability, capability);
}
