// ARGS: --attach on=x
// >>> section 'tracepoint/sched/sched_switch', program 'on': --attach names a program for the Linux kernel
#include <gpubpf/probe.h>

SEC("tracepoint/sched/sched_switch") int on(void *ctx) { return 0; }
