/* SPDX-License-Identifier: Apache-2.0 */
/* Types of the context, against whose BTF libbpf relocates CO-RE accesses. Compiled with -target bpf -g. */
#include "gpubpf/ctx.h"

/* The Linux kernel's struct for x86-64. The first part of struct gpubpf_ctx has the same layout. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

_Static_assert(sizeof(struct pt_regs) == 168, "21 registers");
_Static_assert(__builtin_offsetof(struct gpubpf_ctx, di) == __builtin_offsetof(struct pt_regs, di), "di");
_Static_assert(__builtin_offsetof(struct gpubpf_ctx, launch) == sizeof(struct pt_regs), "regs come first");

struct gpubpf_ctx gpubpf_keep_ctx;
struct pt_regs gpubpf_keep_regs;
enum gpubpf_site gpubpf_keep_site;
