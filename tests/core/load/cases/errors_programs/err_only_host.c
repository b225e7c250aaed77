// >>> no program for a GPU in this object
#include <gpubpf/probe.h>

SEC("uprobe/x:y") int on(void *ctx) { return 0; }
