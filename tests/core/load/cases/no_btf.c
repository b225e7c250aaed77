// An object built without -g has no types, source lines and subprogram names, but its programs and global data load.
// CFLAGS: -g0
// >>> object 0
// >>> map 0 no_btf.bss ARRAY key 4 value 8
// >>> func use at 0
// >>> func sub_
// !!! line
#include <gpubpf/probe.h>

__u64 total;
static __noinline int helper(__u64 x) { return x + total; }
SEC("gpu/entry/*") int use(struct gpubpf_ctx *ctx) { total = 1; return helper(7); }
