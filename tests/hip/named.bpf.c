/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of the context of named places over the active lanes: tests/hip/named.py checks them. */
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

#define AT(place) (1u << GPUBPF_SITE_##place)
#define AT_KERNELS (AT(ENTRY) | AT(EXIT) | AT(BLOCK_BEGIN) | AT(BLOCK_END)) /* their places have no ids and no lines */

/* tests/hip/twin.c verifies a copy of the program for each kind of place. */
SEC("gpu/insn/*")
int tell(struct gpubpf_ctx *ctx)
{
	struct places *p = bpf_map_lookup_elem(&places, &(__u32){ 0 });
	__u32 at = 1u << ctx->site, place = 0;
	struct told *t;

	if (!(at & AT_KERNELS))
		place = ctx->place & (PLACES - 1); /* insn places outnumber the map's elements */
	if (!p || place >= PLACES)
		return 0;
	t = &p->at[place];
	gpubpf_count(&t->lanes, 1);
	gpubpf_count(&t->ids, ctx->global_linear);
	if (!(at & AT_KERNELS))
		gpubpf_count(&t->line, ctx->line);
	if (at & AT(INSN))
		for (int i = 0; i < 4; i++)
			gpubpf_count(&t->operand[i], ctx->operand[i]);
	if (at & AT(MARK))
		gpubpf_count(&t->mark, ctx->mark);
	return 0;
}
