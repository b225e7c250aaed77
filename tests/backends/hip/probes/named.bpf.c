/* SPDX-License-Identifier: Apache-2.0 */
/* For each named place, sums of its context over the active lanes; tests/backends/hip/named.py checks them. */
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
#define AT_KERNELS (AT(ENTRY) | AT(EXIT) | AT(BLOCK_BEGIN) | AT(BLOCK_END)) /* kinds without place ids and lines */

/* twin.c in tests/backends/hip makes a verified copy of this program for each kind of place. */
SEC("gpu/insn/*")
int tell(struct gpubpf_ctx *ctx)
{
	struct places *p = bpf_map_lookup_elem(&places, &(__u32){ 0 });
	__u32 at = 1u << ctx->site, place = 0;
	struct told *t;

	if (!(at & AT_KERNELS))
		place = ctx->place & (PLACES - 1); /* a kernel may have more insn places than PLACES */
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
