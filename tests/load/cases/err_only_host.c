// >>> no program for a GPU in this object: on (uprobe/x:y) is not for a GPU
#include <gpubpf/probe.h>

SEC("uprobe/x:y") int on(void *ctx) { return 0; }
