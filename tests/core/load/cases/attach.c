// --attach replaces the pattern of the section; two --attach options for one program make two programs.
// ARGS: --attach on=add_* --attach on=sub_* --attach bare=mul
// >>> prog 0 on section kprobe/do_exit pattern add_* site entry
// >>> prog 1 on section kprobe/do_exit pattern sub_* site entry
// >>> prog 2 bare section kretprobe pattern mul site exit
// !!! note:
#include <gpubpf/probe.h>

SEC("kprobe/do_exit") int on(void *ctx) { return 0; }
SEC("kretprobe") int bare(void *ctx) { return 0; }
