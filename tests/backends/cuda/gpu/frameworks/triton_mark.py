# SPDX-License-Identifier: Apache-2.0
"""A mark of gpubpf/mark.h in a Triton kernel. Prints "marks TIMES SUM": the number of elements and the sum of their
values."""
import torch
import triton
import triton.language as tl

N, BLOCK = 96 * 1024, 1024


@triton.jit
def marked(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.inline_asm_elementwise("{ .reg .b32 gpubpf_mark_step; mov.b32 gpubpf_mark_step, $1; mov.b32 $0, $1; }", "=r,r",
                                  [tl.load(x + i)], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(out + i, v * 3)


x = torch.arange(N, dtype=torch.int32, device="cuda")
out = torch.empty_like(x)
marked[(N // BLOCK,)](x, out, BLOCK)
print("marks", N, N * (N - 1) // 2)
print("sum", int(out.sum()))
