# SPDX-License-Identifier: Apache-2.0
"""tinygrad: trains a small network on XOR, with DEV=CL TRAINING=1; prints a digest of its weights."""
import hashlib

import numpy as np
from tinygrad import Tensor, nn

Tensor.manual_seed(7)
x = Tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
y = Tensor([[0.0], [1.0], [1.0], [0.0]])
first, second = nn.Linear(2, 16), nn.Linear(16, 1)
optimiser = nn.optim.SGD([first.weight, first.bias, second.weight, second.bias], lr=0.5)
for _ in range(20):
    optimiser.zero_grad()
    loss = (second(first(x).tanh()).sigmoid() - y).square().mean()
    loss.backward()
    optimiser.step()
weights = [t.numpy() for t in (first.weight, first.bias, second.weight, second.bias)]
print(loss.item(), hashlib.sha256(b"".join(np.ascontiguousarray(w).tobytes() for w in weights)).hexdigest()[:16])
