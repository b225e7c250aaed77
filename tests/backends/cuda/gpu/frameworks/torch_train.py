# SPDX-License-Identifier: Apache-2.0
"""A few training steps in PyTorch. Its kernels exist as machine code only. They must run unchanged, and the report must
state a reason for each."""
import hashlib
import torch

torch.manual_seed(1)
torch.use_deterministic_algorithms(True, warn_only=True)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(256, 64, device='cuda'), torch.randint(10, (256,), device='cuda')
for _ in range(5):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print('digest', hashlib.sha256(repr(loss.item()).encode()).hexdigest(), 'kernel - threads 0')
