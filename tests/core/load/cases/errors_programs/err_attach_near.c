// ARGS: --attach entre=x
// >>> error USAGE: --attach entre=x: no object has a program 'entre', did you mean enter?
#include <gpubpf/probe.h>

SEC("gpu/entry/*") int enter(void *ctx) { return 0; }
SEC("gpu/exit/*") int leave(void *ctx) { return 0; }
