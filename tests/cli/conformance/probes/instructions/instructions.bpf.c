/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An instruction selected by its name, and its first source register, in PTX, SPIR-V, and NVIDIA and AMD machine code.
 */
#include "../../case.h"

EXPECT("workload named");
EXPECT("needs gpu/insn");
EXPECT("launch 5,1,1 64,1,1");
EXPECT("checks 320");

SEC("gpu/insn/lop3.b32")
int lop3(struct gpubpf_ctx *ctx)
{
	CHECK(ctx->operand[1] & 0xffffffff, ctx->global_linear);
	return 0;
}

SEC("gpu/insn/LOP3")
int lop3_machine(struct gpubpf_ctx *ctx)
{
	CHECK(ctx->operand[1] & 0xffffffff, ctx->global_linear);
	return 0;
}

SEC("gpu/insn/v_xad_u32*")
int xad(struct gpubpf_ctx *ctx)
{
	CHECK(ctx->operand[1] & 0xffffffff, ctx->global_linear);
	return 0;
}

SEC("gpu/insn/OpExtInst.u_abs_diff")
int difference(struct gpubpf_ctx *ctx)
{
	CHECK(ctx->operand[0] & 0xffffffff, ctx->global_linear);
	return 0;
}
