// >>> section 'kprobe', program 'on': the section names no kernel
#include <gpubpf/probe.h>

SEC("kprobe") int on(void *ctx) { return 0; }
