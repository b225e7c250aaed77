# SPDX-License-Identifier: Apache-2.0
"""torch_decode.py [STEPS]: a language model with random weights that decodes with a cache of keys and values.

Each step appends to the cache with torch.cat, as eager PyTorch programs do. Prints whether the cache holds every
appended key and value, and a digest of the first step's output, which must not depend on probes. Later tokens differ
between runs even without probes.
"""
import hashlib
import sys

import torch
import torch.nn.functional as F

LAYERS, HEADS, WIDTH, HIDDEN, TOKENS, BATCH, PROMPT = 8, 16, 2048, 5632, 8192, 8, 128
HEAD = WIDTH // HEADS


class Layer:
    def __init__(self):
        def weight(*shape):
            return torch.randn(*shape, device='cuda', dtype=torch.bfloat16) / shape[0] ** 0.5

        self.qkv, self.out = weight(WIDTH, 3 * WIDTH), weight(WIDTH, WIDTH)
        self.gate, self.up, self.down = weight(WIDTH, HIDDEN), weight(WIDTH, HIDDEN), weight(HIDDEN, WIDTH)
        self.norms = torch.ones(2, WIDTH, device='cuda', dtype=torch.bfloat16)
        self.keys = self.values = None

    def attend(self, x, angles):
        q, k, v = (y.view(*x.shape[:2], HEADS, HEAD).transpose(1, 2) for y in (x @ self.qkv).split(WIDTH, -1))
        q, k = rotate(q, angles), rotate(k, angles)
        self.new = k, v
        if self.keys is None:
            self.keys, self.values = k, v
        else:
            self.keys, self.values = torch.cat([self.keys, k], 2), torch.cat([self.values, v], 2)
        y = F.scaled_dot_product_attention(q, self.keys, self.values, is_causal=q.shape[2] > 1)
        return y.transpose(1, 2).reshape(x.shape) @ self.out

    def step(self, x, angles):
        x = x + self.attend(F.rms_norm(x, (WIDTH,), self.norms[0]), angles)
        y = F.rms_norm(x, (WIDTH,), self.norms[1])
        return x + (F.silu(y @ self.gate) * (y @ self.up)) @ self.down


def rotate(x, angles):
    a, b = x.chunk(2, -1)
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1).to(x.dtype)


def angles_of(first, n):
    speed = 10000 ** (-torch.arange(HEAD // 2, device='cuda') / (HEAD // 2))
    return (torch.arange(first, first + n, device='cuda')[:, None] * speed)[None, None]


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    embed = torch.randn(TOKENS, WIDTH, device='cuda', dtype=torch.bfloat16)
    layers = [Layer() for _ in range(LAYERS)]
    tokens, kept, first = torch.randint(TOKENS, (BATCH, PROMPT), device='cuda'), True, None
    with torch.inference_mode():
        for step in range(steps):
            n = layers[0].keys.shape[2] if step else 0
            x = embed[tokens]
            for layer in layers:
                before = layer.keys
                x = layer.step(x, angles_of(n, tokens.shape[1]))
                kept &= before is None or bool(torch.equal(layer.keys[:, :, :n], before) & torch.equal(layer.keys[:, :, n:], layer.new[0]))
                kept &= bool(torch.equal(layer.values[:, :, n:], layer.new[1]))
            if first is None:
                first = hashlib.sha256(x.float().cpu().numpy().tobytes()).hexdigest()[:16]
            tokens = (x[:, -1:] @ embed.T).argmax(-1)
    print('cache', 'kept' if kept else 'WRONG', 'first', first, 'steps', steps)


if __name__ == '__main__':
    main()
