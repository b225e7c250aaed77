// ARGS: --attach nobody=x
// >>> error USAGE: --attach nobody=x: no object has a program 'nobody'
#include <gpubpf/probe.h>

SEC("gpu/entry/*") int on(void *ctx) { return 0; }
