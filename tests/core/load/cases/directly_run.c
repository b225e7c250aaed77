// Sections of direct runs.
// >>> prog 0 a section gpu/run/first pattern gpubpf_direct_run site entry
// >>> prog 1 b section gpu/run pattern gpubpf_direct_run site entry
// >>> prog 2 c section kprobe/__directly_run pattern gpubpf_direct_run site entry
// >>> prog 3 d section kprobe/__directly_run/x pattern gpubpf_direct_run site entry
#include <gpubpf/probe.h>

SEC("gpu/run/first") int a(void *ctx)
{
	return 0;
}
SEC("gpu/run") int b(void *ctx)
{
	return 0;
}
SEC("kprobe/__directly_run") int c(void *ctx)
{
	return 0;
}
SEC("kprobe/__directly_run/x") int d(void *ctx)
{
	return 0;
}
