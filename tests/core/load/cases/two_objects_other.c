// The second object of the case two_objects.
// >>> prog 0 count section gpu/entry/b
#include <gpubpf/probe.h>

GPUBPF_ARRAY(counts, __u32, 2);
SEC("gpu/entry/b") int count(void *ctx)
{
	__u32 *n = bpf_map_lookup_elem(&counts, &(__u32){ 1 });

	if (n)
		++*n;
	return 0;
}
