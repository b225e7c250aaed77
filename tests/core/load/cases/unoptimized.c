// Without optimization the object has external symbols of the header's functions, even if the program calls none.
// CFLAGS: -O0
// >>> pattern scale site exit
#include <gpubpf/probe.h>

extern int never_called(void) __weak __ksym;
static inline int calls_it(void) { return never_called(); }

SEC("gpu/exit/scale")
int on(struct gpubpf_ctx *ctx) { return ctx->global_linear == 3; }
