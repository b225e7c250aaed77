// >>> takes the address of byte 16 of
#include <gpubpf/probe.h>

char few[8];

SEC("gpu/entry/*") int on(void *ctx)
{
	char *at;

	asm volatile("%0 = %1 + 16 ll" : "=r"(at) : "i"(few));
	return *at;
}
