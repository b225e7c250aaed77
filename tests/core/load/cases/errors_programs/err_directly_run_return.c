// >>> section 'kretprobe/__directly_run', program 'cuda__on': programs of __directly_run begin as a kprobe; use kprobe/__directly_run
#include <gpubpf/probe.h>

SEC("kretprobe/__directly_run") int cuda__on(void *ctx)
{
	return 0;
}
