// >>> unknown, did you mean gpu/entry/sca*?; sections for a GPU are gpu/entry/KERNEL, gpu/exit/KERNEL, gpu/call/FUNCTION, gpu/mem/KERNEL, gpu/block_begin/KERNEL, gpu/block_end/KERNEL, gpu/barrier/KERNEL, gpu/atomic/KERNEL, ...
// >>> gpubpf-prog(8) lists all
#include <gpubpf/probe.h>

SEC("gpu/enter/sca*") int on(void *ctx) { return 0; }
