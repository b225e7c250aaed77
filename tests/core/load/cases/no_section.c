// A note names each uncalled function without SEC().
// >>> note: function forgotten has no SEC()
// >>> prog 0 ours
// !!! function called
// !!! function inner
// !!! function each
// !!! prog 1
#include <gpubpf/probe.h>

GPUBPF_ARRAY(counts, __u64, 1);

__attribute__((noinline)) int inner(int x) { gpubpf_add(&counts, 0, x); return 0; }
__attribute__((noinline)) int called(int x) { return inner(x) + inner(x + 1); }
__attribute__((noinline)) long each(__u32 i, void *arg) { gpubpf_add(&counts, 0, i); return 0; }

int forgotten(void *ctx) { gpubpf_add(&counts, 0, 3); return 0; }

SEC("gpu/entry/*") int ours(void *ctx) { return called(1) + bpf_loop(2, each, 0, 0); }
