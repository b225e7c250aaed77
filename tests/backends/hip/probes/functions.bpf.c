/* SPDX-License-Identifier: Apache-2.0 */
/* For each function, sums of its arguments and results over all lanes. The index is the
 * first letter of the function's name. tests/backends/hip/functions.py checks the sums. */
#include <gpubpf/probe.h>

#define FUNCTIONS 26

struct told {
	__u64 calls, ids, arg[4];  /* calls by lanes, sum of their ids, sums of the arguments that the program reads */
	__u64 returns, result;
};
struct functions {
	struct told at[FUNCTIONS];
	__u64 accesses[3], bytes, others; /* loads, stores, atomics; others: other kinds of places than accesses */
};
GPUBPF_ARRAY(functions, struct functions, 1);

static __always_inline int tell_call(struct gpubpf_ctx *ctx, struct told *t)
{
	gpubpf_count(&t->calls, 1);
	gpubpf_count(&t->ids, ctx->global_linear);
#ifndef NO_VALUES
	for (int i = 0; i < 4; i++)
		gpubpf_count(&t->arg[i], ctx->arg[i]);
#endif
	return 0;
}

static __always_inline int tell_return(struct gpubpf_ctx *ctx, struct told *t)
{
	gpubpf_count(&t->returns, 1);
#ifndef NO_VALUES
	gpubpf_count(&t->result, ctx->result);
#endif
	return 0;
}

static __always_inline int tell_function(struct gpubpf_ctx *ctx, struct functions *f)
{
	__u32 letter = (__u8)ctx->function_name[0] - 'a';

	if (letter >= FUNCTIONS)
		return 0;
	return ctx->site == GPUBPF_SITE_CALL ? tell_call(ctx, &f->at[letter]) : tell_return(ctx, &f->at[letter]);
}

/* twin.c in tests/backends/hip makes a verified copy of this program for each kind of place. */
SEC("gpu/call/*")
int tell(struct gpubpf_ctx *ctx)
{
	struct functions *f = bpf_map_lookup_elem(&functions, &(__u32){ 0 });

	if (!f)
		return 0;
	if (ctx->site == GPUBPF_SITE_CALL || ctx->site == GPUBPF_SITE_CALL_EXIT)
		return tell_function(ctx, f);
	if (ctx->site == GPUBPF_SITE_MEM) {
		gpubpf_count(&f->accesses[(ctx->mem.access - 1) % 4 % 3], 1);
		gpubpf_count(&f->bytes, ctx->mem.bytes);
	} else {
		gpubpf_count(&f->others, 1);
	}
	return 0;
}
