// struct pt_regs of another vmlinux.h: CO-RE relocates its accesses to the first part of struct gpubpf_ctx.
// CFLAGS: -D__TARGET_ARCH_x86
// >>> *(u64 *)(r1 +72)
// >>> *(u64 *)(r1 +88)
// >>> *(u64 *)(r1 +96)
// >>> *(u64 *)(r1 +104)
// >>> *(u64 *)(r1 +112)
#define __VMLINUX_H__
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
struct pt_regs {
	unsigned long something_new, r8, cx, dx, si, di;
} __attribute__((preserve_access_index));
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

SEC("kprobe/no_such_function_in_linux")
int BPF_KPROBE(use, unsigned long a, unsigned long b, unsigned long c, unsigned long d, unsigned long e)
{
	bpf_printk("%lx %lx", a, b);
	bpf_printk("%lx %lx %lx", c, d, e);
	return 0;
}
