// >>> extern
#include <gpubpf/probe.h>

extern int nowhere __ksym;
SEC("gpu/entry/*") int on(void *ctx) { return (long)&nowhere; }
