// ARGS: --attach on=x
// >>> section 'uprobe/x:y', program 'on': --attach names a program of the host
#include <gpubpf/probe.h>

SEC("uprobe/x:y") int on(void *ctx) { return 0; }
