// >>> section 'kprobe/__directly_run', program 'cuda__on': bpftime's programs that run by themselves are not provided
#include <gpubpf/probe.h>

SEC("kprobe/__directly_run") int cuda__on(void *ctx) { return 0; }
