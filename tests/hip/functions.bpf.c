/* SPDX-License-Identifier: Apache-2.0 */
/* What each function was given and gave, added up over the lanes: by the first letter of its name. tests/hip/functions.py knows
 * the sums. */
#include <gpubpf/probe.h>

#define FUNCTIONS 26

struct told {
	__u64 calls, ids, arg[4];  /* at calls: how many lanes, their numbers, and the arguments that were asked for */
	__u64 returns, result;
};
struct functions {
	struct told at[FUNCTIONS];
	__u64 accesses[3], bytes, others; /* loads, stores, atomics of the kernel and of all that it calls; other places there */
};
GPUBPF_ARRAY(functions, struct functions, 1);

SEC("gpu/call/*")
int tell(struct gpubpf_ctx *ctx)
{
	struct functions *f = bpf_map_lookup_elem(&functions, &(__u32){ 0 });
	__u32 letter = (__u8)ctx->function_name[0] - 'a';
	__u64 call = ctx->site == GPUBPF_SITE_CALL, result = ctx->result, arg[] = { ctx->arg[0], ctx->arg[1], ctx->arg[2], ctx->arg[3] };
	struct told *t;

	if (!f)
		return 0;
	if (ctx->site == GPUBPF_SITE_MEM) {
		gpubpf_count(&f->accesses[(ctx->mem.access - 1) % 4 % 3], 1);
		gpubpf_count(&f->bytes, ctx->mem.bytes);
	} else if (ctx->site != GPUBPF_SITE_CALL && ctx->site != GPUBPF_SITE_CALL_EXIT) {
		gpubpf_count(&f->others, 1);
	}
	if (letter >= FUNCTIONS)
		return 0;
	t = &f->at[letter];
	gpubpf_count(call ? &t->calls : &t->returns, 1);
	gpubpf_count(&t->ids, call ? ctx->global_linear : 0);
#ifndef NO_VALUES
	gpubpf_count(&t->result, result & (call - 1));
	for (int i = 0; i < 4; i++)
		gpubpf_count(&t->arg[i], arg[i] & -call);
#endif
	return 0;
}
