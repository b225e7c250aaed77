/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records all calls of the runtime, and the times of all kernels. Where the runtime measures kernels, the programs in
 * kernels do not run, and host/kernel_exit gets the times. With -DSTACKS, a record of a launch has the stack of its thread.
 */
#include <gpubpf/probe.h>

#include "records.h"

GPUBPF_RINGBUF(timeline_calls, struct timeline_call, 1 << 19);
/* the tag: if the runtime measures launches, kernels run without programs, and host/kernel_exit gets the times */
GPUBPF_LAUNCHES(timeline_rows, TIMELINE_ROWS) GPUBPF_LAUNCH_TIMES;

#ifdef STACKS
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 16384);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 127 * sizeof(__u64));
} timeline_stacks SEC(".maps");
#define STACK(ctx) bpf_get_stackid(ctx, &timeline_stacks, BPF_F_USER_STACK)
#else
#define STACK(ctx) -1
#endif

static __always_inline struct timeline_call *begin_record(struct gpubpf_ctx *ctx)
{
	struct timeline_call *r = bpf_ringbuf_reserve(&timeline_calls, sizeof(*r), 0);

	if (!r)
		return 0;
	r->event = ctx->host.event;
	r->direction = ctx->host.direction;
	r->pid = ctx->host.pid;
	r->tid = ctx->host.tid;
	r->start = ctx->mark;
	r->duration = ctx->done.duration;
	r->function = ctx->host.function;
	r->stream = ctx->host.stream;
	r->bytes = ctx->host.bytes;
	r->device_ns = ctx->done.device_ns;
	r->result = ctx->done.result;
	r->kernel = r->launch = r->blocks = 0;
	r->stack = -1;
	return r;
}

#define CALL(name)                                      \
	SEC("host/" #name "_exit")                      \
	int name##_ends(struct gpubpf_ctx *ctx)         \
	{                                               \
		struct timeline_call *r = begin_record(ctx); \
                                                        \
		if (r)                                  \
			bpf_ringbuf_submit(r, 0);       \
		return 0;                               \
	}

CALL(copy)
CALL(alloc)
CALL(free)
CALL(sync)
CALL(event)
CALL(stream)
CALL(module)
CALL(graph)

static __always_inline int record_kernel(struct gpubpf_ctx *ctx, __u64 stack)
{
	struct timeline_call *r = begin_record(ctx);

	if (!r)
		return 0;
	r->kernel = ctx->kernel;
	r->launch = ctx->launch;
	r->blocks = ctx->grid_dim[0] * ctx->grid_dim[1] * ctx->grid_dim[2];
	r->stack = stack;
	bpf_ringbuf_submit(r, 0);
	return 0;
}

SEC("host/launch_exit")
int launch_call_ends(struct gpubpf_ctx *ctx)
{
	return record_kernel(ctx, STACK(ctx));
}

SEC("host/kernel_exit")
int kernel_ends(struct gpubpf_ctx *ctx)
{
	return record_kernel(ctx, -1);
}

SEC("gpu/entry/*")
int launch_begins(struct gpubpf_ctx *ctx)
{
	gpubpf_launch_begin(ctx, &timeline_rows);
	return 0;
}

SEC("gpu/exit/*")
int launch_ends(struct gpubpf_ctx *ctx)
{
	gpubpf_launch_end(ctx, &timeline_rows);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
