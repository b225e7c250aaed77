// >>> error NO_PROGRAM: 
#include <gpubpf/probe.h>

GPUBPF_ARRAY(counts, __u64, 1);
