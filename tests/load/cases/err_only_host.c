// >>> error NO_PROGRAM: 
#include <gpubpf/probe.h>

SEC("uprobe/x:y") int on(void *ctx) { return 0; }
