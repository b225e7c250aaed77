/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves the beginning of a function (relocate.h). Addresses relative to the instruction pointer are adapted, and short
 * jumps become near jumps. Calls are refused, because a thread in the callee would return into moved code, which no
 * unwinder knows. Loop instructions and jrcxz are refused, because they have no near form. The function is also refused
 * if one of its branches leads into the bytes that the patch overwrites.
 */
#include "relocate.h"

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <string.h>

#define MAX_SWEPT 65536 /* bytes of the function that are searched for branches into its beginning */
#define JUMP_SIZE 5

struct move {
	ZydisDecoder decoder;
	const uint8_t *code;
	size_t size; /* bytes of `code` that belong to the function */
	uint64_t at, to;
	struct relocated *out;
};

static bool decode(const struct move *m, size_t offset, ZydisDecodedInstruction *insn)
{
	return offset < m->size &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&m->decoder, NULL, m->code + offset, m->size - offset, insn));
}

static bool has_branch_target(const ZydisDecodedInstruction *insn)
{
	return insn->raw.imm[0].is_relative;
}

static uint64_t branch_target(const struct move *m, size_t offset, const ZydisDecodedInstruction *insn)
{
	return m->at + offset + insn->length + insn->raw.imm[0].value.s;
}

/* Returns true if control never continues at the next instruction. */
static bool ends_block(const ZydisDecodedInstruction *insn)
{
	return insn->meta.category == ZYDIS_CATEGORY_RET || insn->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
	       insn->meta.category == ZYDIS_CATEGORY_INTERRUPT || insn->mnemonic == ZYDIS_MNEMONIC_UD2 ||
	       insn->mnemonic == ZYDIS_MNEMONIC_HLT;
}

/* Append an instruction of `head` bytes and the 32-bit distance to `target`. Returns false if that is too far. */
static bool append_relative(struct move *m, const uint8_t *head, size_t n, uint64_t target)
{
	struct relocated *out = m->out;
	int64_t distance = target - (m->to + out->size + n + 4);
	int32_t word = distance;

	if (word != distance)
		return false;
	memcpy(out->code + out->size, head, n);
	memcpy(out->code + out->size + n, &word, sizeof(word));
	out->size += n + sizeof(word);
	return true;
}

/* Move a jump with an 8-bit distance as a jump with a 32-bit distance. */
static const char *move_short_branch(struct move *m, size_t offset, const ZydisDecodedInstruction *insn)
{
	const uint8_t near_jump[] = { 0xe9 }, near_condition[] = { 0x0f, insn->opcode + 0x10 };
	uint64_t target = branch_target(m, offset, insn);
	bool reached;

	if (insn->opcode == 0xeb)
		reached = append_relative(m, near_jump, sizeof(near_jump), target);
	else if (insn->opcode >= 0x70 && insn->opcode <= 0x7f)
		reached = append_relative(m, near_condition, sizeof(near_condition), target);
	else
		return "it begins with a loop or jrcxz instruction";
	return reached ? NULL : "a branch at its beginning cannot reach its target from the moved code";
}

/* Copy an instruction. Adapt its 32-bit distance, which is at byte `field`. */
static const char *move_relative(struct move *m, size_t offset, const ZydisDecodedInstruction *insn, size_t field)
{
	struct relocated *out = m->out;
	int64_t distance;
	int32_t word;

	memcpy(&word, m->code + offset + field, sizeof(word));
	distance = word + (int64_t)(m->at + offset - (m->to + out->size));
	word = distance;
	if (word != distance)
		return "an address at its beginning is out of reach of the moved code";
	memcpy(out->code + out->size, m->code + offset, insn->length);
	memcpy(out->code + out->size + field, &word, sizeof(word));
	out->size += insn->length;
	return NULL;
}

static const char *move_insn(struct move *m, size_t offset, const ZydisDecodedInstruction *insn)
{
	if (insn->meta.category == ZYDIS_CATEGORY_CALL)
		return "it begins with a call";
	if (insn->mnemonic == ZYDIS_MNEMONIC_XBEGIN || insn->mnemonic == ZYDIS_MNEMONIC_SYSCALL)
		return "it begins with a system call or a transaction";
	if (!(insn->attributes & ZYDIS_ATTRIB_IS_RELATIVE)) {
		memcpy(m->out->code + m->out->size, m->code + offset, insn->length);
		m->out->size += insn->length;
		return NULL;
	}
	if (has_branch_target(insn) && insn->raw.imm[0].size == 8)
		return move_short_branch(m, offset, insn);
	if (has_branch_target(insn) && insn->raw.imm[0].size == 32)
		return move_relative(m, offset, insn, insn->raw.imm[0].offset);
	if (insn->raw.disp.size == 32)
		return move_relative(m, offset, insn, insn->raw.disp.offset);
	return "it begins with an instruction whose address cannot be adapted";
}

/*
 * Returns true if a branch of the function leads into the bytes that the patch overwrites. A branch to the first byte
 * is a call of the function, and needs no care. Bytes that are not code are skipped.
 */
static bool is_entered_inside(const struct move *m, size_t need)
{
	ZydisDecodedInstruction insn;

	for (size_t offset = 0; offset < m->size;) {
		uint64_t target;

		if (!decode(m, offset, &insn)) {
			offset++;
			continue;
		}
		target = has_branch_target(&insn) ? branch_target(m, offset, &insn) : 0;
		if (target > m->at && target < m->at + need)
			return true;
		offset += insn.length;
	}
	return false;
}

static const char *move_all(struct move *m, size_t need)
{
	const uint8_t jump[] = { 0xe9 };
	struct relocated *out = m->out;
	ZydisDecodedInstruction insn;

	while (out->taken < need) {
		const char *why;

		if (!decode(m, out->taken, &insn))
			return "its first bytes are no code that gpubpf can decode";
		if (out->size + ZYDIS_MAX_INSTRUCTION_LENGTH + JUMP_SIZE > sizeof(out->code))
			return "its beginning is too long";
		why = move_insn(m, out->taken, &insn);
		if (why)
			return why;
		out->taken += insn.length;
		if (out->taken < need && ends_block(&insn))
			return "it is shorter than the jump of 5 bytes";
	}
	return append_relative(m, jump, sizeof(jump), m->at + out->taken) ? NULL :
									    "the moved code is too far from the function";
}

const char *relocate_beginning(const uint8_t *code, size_t size, size_t length, size_t need, uint64_t at, uint64_t to,
			       struct relocated *out)
{
	struct move m = { .code = code, .size = size, .at = at, .to = to, .out = out };
	const char *why;

	*out = (struct relocated){ 0 };
	if (length && length < m.size)
		m.size = length;
	if (m.size > MAX_SWEPT)
		m.size = MAX_SWEPT;
	if (m.size < need)
		return "it is shorter than the jump of 5 bytes";
	if (ZYAN_FAILED(ZydisDecoderInit(&m.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return "the decoder does not start";
	why = move_all(&m, need);
	if (!why && is_entered_inside(&m, need))
		why = "a branch of the function leads into its first 5 bytes";
	return why;
}
