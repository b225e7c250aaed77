// A function whose address the program takes becomes a subprogram.
// >>> func use at 0
// >>> func each at
// >>> = func[
#include <gpubpf/probe.h>

static int each(__u32 i, void *sum) { *(__u64 *)sum += i; return 0; }
SEC("gpu/entry/*") int use(void *ctx) { __u64 sum = 0; bpf_loop(10, each, &sum, 0); return sum; }
