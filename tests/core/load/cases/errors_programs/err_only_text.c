// >>> section '.text', program 'forgotten': the function has no SEC()
#include <gpubpf/probe.h>

GPUBPF_ARRAY(counts, __u64, 1);

int forgotten(void *ctx) { gpubpf_add(&counts, 0, 3); return 0; }
