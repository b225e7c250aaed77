/* SPDX-License-Identifier: Apache-2.0 */
#include "core/wire/fields.h"
#include "insn.h"

static bool insn_op_ok(const struct gpubpf_insn *insn)
{
	switch ((enum gpubpf_insn_kind)insn->kind) {
	case GPUBPF_INSN_ALU:
		return insn->op < GPUBPF_NALU;
	case GPUBPF_INSN_JCOND:
		return insn->op < GPUBPF_NJMP && insn->op != GPUBPF_JA && insn->op != GPUBPF_CALL &&
		       insn->op != GPUBPF_EXIT;
	case GPUBPF_INSN_ATOMIC:
		return insn->op < GPUBPF_NATOMIC && insn->width >= 4;
	case GPUBPF_INSN_IMM64:
		return insn->op == GPUBPF_IMM_CONST || insn->op == GPUBPF_IMM_MAP || insn->op == GPUBPF_IMM_MAP_VALUE ||
		       insn->op == GPUBPF_IMM_FUNC || insn->op == GPUBPF_IMM_STACK;
	default:
		return true;
	}
}

static bool insn_width_ok(const struct gpubpf_insn *insn)
{
	switch ((enum gpubpf_insn_kind)insn->kind) {
	case GPUBPF_INSN_ALU:
		if (insn->op == GPUBPF_END)
			return insn->width == 2 || insn->width == 4 || insn->width == 8;
		return insn->width == 4 || insn->width == 8;
	case GPUBPF_INSN_JCOND:
		return insn->width == 4 || insn->width == 8;
	case GPUBPF_INSN_LOAD:
	case GPUBPF_INSN_STORE:
	case GPUBPF_INSN_ATOMIC:
		return insn->width == 1 || insn->width == 2 || insn->width == 4 || insn->width == 8;
	default:
		return true;
	}
}

static bool insn_ok(const struct gpubpf_insn *insn, uint32_t ninsns, uint32_t nmaps)
{
	bool map = insn->kind == GPUBPF_INSN_IMM64 && (insn->op == GPUBPF_IMM_MAP || insn->op == GPUBPF_IMM_MAP_VALUE);

	if (insn->kind > GPUBPF_INSN_HI || insn->dst >= GPUBPF_NREGS || insn->src > 15)
		return false;
	if (insn->src >= GPUBPF_NREGS && insn->kind != GPUBPF_INSN_IMM64)
		return false;
	if (map && (insn->imm < 0 || (uint32_t)insn->imm >= nmaps))
		return false;
	return insn->target < ninsns && insn_op_ok(insn) && insn_width_ok(insn);
}

void gpubpf_codec_insn(struct gpubpf_codec *c, struct gpubpf_insn *insn, uint32_t ninsns, uint32_t nmaps)
{
	gpubpf_codec_u8(c, &insn->kind);
	gpubpf_codec_u8(c, &insn->op);
	gpubpf_codec_u8(c, &insn->width);
	gpubpf_codec_u8(c, &insn->dst);
	gpubpf_codec_u8(c, &insn->src);
	gpubpf_codec_bool(c, &insn->reg);
	gpubpf_codec_bool(c, &insn->sext);
	gpubpf_codec_u8(c, &insn->ext);
	gpubpf_codec_s16(c, &insn->off);
	gpubpf_codec_bool(c, &insn->ordered);
	gpubpf_codec_s32(c, &insn->imm);
	gpubpf_codec_u32(c, &insn->target);
	gpubpf_codec_u64(c, (uint64_t *)&insn->imm64);
	gpubpf_codec_check(c, insn_ok(insn, ninsns, nmaps));
}
