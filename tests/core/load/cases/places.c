// A section for each kind of place, as the rows of core/model/places.def define them.
// >>> prog 0 a section gpu/call_exit/twist pattern twist site call_exit
// >>> prog 1 b section gpu/mem/* pattern * site mem
// >>> prog 2 c section gpu/block_begin/* pattern * site block_begin
// >>> prog 3 d section gpu/insn/ld.global.* pattern ld.global.* site insn
// >>> prog 4 e section gpu/mark/loop pattern loop site mark
// >>> prog 5 f section gpu/line/a.cu:7 pattern a.cu:7 site line
// >>> prog 6 g section kprobe/__memcapture pattern * site mem.capture
#include <gpubpf/probe.h>

SEC("gpu/call_exit/twist") int a(struct gpubpf_ctx *ctx) { return ctx->result; }
SEC("gpu/mem/*") int b(struct gpubpf_ctx *ctx) { return ctx->mem.addr; }
SEC("gpu/block_begin/*") int c(void *ctx) { return 0; }
SEC("gpu/insn/ld.global.*") int d(struct gpubpf_ctx *ctx) { return ctx->operand[7]; }
SEC("gpu/mark/loop") int e(struct gpubpf_ctx *ctx) { return ctx->mark; }
SEC("gpu/line/a.cu:7") int f(struct gpubpf_ctx *ctx) { return ctx->line; }
SEC("kprobe/__memcapture") int g(struct pt_regs *ctx) { return PT_REGS_PARM1(ctx); }
