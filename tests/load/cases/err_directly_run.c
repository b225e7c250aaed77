// >>> section 'kprobe/__directly_run', program 'cuda__on': bpftime's programs that run without a probed kernel are not supported
#include <gpubpf/probe.h>

SEC("kprobe/__directly_run") int cuda__on(void *ctx) { return 0; }
