// >>> section 'kprobe/__memcapture', program 'cuda__on': bpftime's special probes are not provided
#include <gpubpf/probe.h>

SEC("kprobe/__memcapture") int cuda__on(void *ctx) { return 0; }
