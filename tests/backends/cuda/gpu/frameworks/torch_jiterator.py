# SPDX-License-Identifier: Apache-2.0
"""An operation that PyTorch compiles with NVRTC at its first use."""
import hashlib
import torch

double_up = torch.cuda.jiterator._create_jit_fn('template <typename T> T double_up(T x) { return x + x; }')
x = torch.arange(1 << 16, device='cuda', dtype=torch.float32)
for _ in range(3):
    x = double_up(x) - x
torch.cuda.synchronize()
print('digest', hashlib.sha256(x.cpu().numpy().tobytes()).hexdigest(), 'kernel *double_up* threads ?')
