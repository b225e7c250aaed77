// >>> program 'on' is static and not supported
#include <gpubpf/probe.h>

static SEC("gpu/entry/*") int on(void *ctx) { return 0; }
