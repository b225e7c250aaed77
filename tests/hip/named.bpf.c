/* SPDX-License-Identifier: Apache-2.0 */
/* What places with names gave, added up over the lanes that came: tests/hip/named.py knows the sums. */
#include <gpubpf/probe.h>

#define PLACES 32

struct told {
	__u64 lanes, ids, line;
	__u64 operand[4], mark;
};
struct places {
	struct told at[PLACES];
};
GPUBPF_ARRAY(places, struct places, 1);

SEC("gpu/insn/*")
int tell(struct gpubpf_ctx *ctx)
{
	struct places *p = bpf_map_lookup_elem(&places, &(__u32){ 0 });
	__u32 place = ctx->place & (PLACES - 1); /* of all instructions there are more */
	struct told *t;

	if (!p || place >= PLACES)
		return 0;
	t = &p->at[place];
	gpubpf_count(&t->lanes, 1);
	gpubpf_count(&t->ids, ctx->global_linear);
	gpubpf_count(&t->line, ctx->line);
	gpubpf_count(&t->operand[0], ctx->operand[0]);
	gpubpf_count(&t->operand[1], ctx->operand[1]);
	gpubpf_count(&t->operand[2], ctx->operand[2]);
	gpubpf_count(&t->operand[3], ctx->operand[3]);
	gpubpf_count(&t->mark, ctx->mark);
	return 0;
}
