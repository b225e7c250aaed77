// >>> section 'gpu/line/add.cu', program 'on': a line is named FILE:NUMBER, as in gpu/line/add.cu:12, or by a pattern
#include <gpubpf/probe.h>

SEC("gpu/line/add.cu") int on(struct gpubpf_ctx *ctx) { return ctx->line; }
