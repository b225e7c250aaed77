// >>> section 'xdp', program 'filter': the section is unknown; sections for a GPU are gpu/entry/KERNEL,
// >>> try: use gpu/entry/KERNEL
#include <gpubpf/probe.h>

SEC("xdp") int filter(void *ctx) { return 0; }
