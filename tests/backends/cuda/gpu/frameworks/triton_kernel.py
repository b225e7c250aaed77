# SPDX-License-Identifier: Apache-2.0
"""A Triton kernel; Triton passes a cubin to the driver."""
import hashlib
import torch
import triton
import triton.language as tl


@triton.jit
def add_one(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


x = torch.arange(8192, device='cuda', dtype=torch.float32)
out = torch.zeros_like(x)
for _ in range(3):
    add_one[(64,)](x, out, 8192, BLOCK=128, num_warps=4)
torch.cuda.synchronize()
print('digest', hashlib.sha256(out.cpu().numpy().tobytes()).hexdigest(), 'kernel add_one threads', 3 * 64 * 128)
