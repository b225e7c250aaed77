// With --gpu a kprobe program is for the GPU even if the Linux kernel has a function of that name.
// ARGS: --gpu
// >>> prog 0 on_exit section kprobe/do_exit pattern do_exit site entry
// !!! note:
#include <gpubpf/probe.h>

SEC("kprobe/do_exit") int on_exit(void *ctx) { return 0; }
