# SPDX-License-Identifier: Apache-2.0
"""torch_models.py [PART]...: training and inference in PyTorch, whose kernels exist as machine code only.

Prints a digest of each part's results, which must not depend on probes. TIMES=FILE: writes the time of each kernel to
FILE as JSON (microseconds by name, measured with CUPTI).
"""
import ctypes
import hashlib
import json
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

torch.manual_seed(1)
torch.use_deterministic_algorithms(True, warn_only=True)
torch.backends.cudnn.benchmark = False


def digest(*tensors):
    h = hashlib.sha256()
    for t in tensors:
        h.update(t.detach().cpu().reshape(-1).clone().view(torch.uint8).numpy().tobytes())
    return h.hexdigest()[:16]


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = (y.view(b, t, self.heads, w // self.heads).transpose(1, 2)
                   for y in self.qkv(self.norms[0](x)).split(w, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, w))
        return x + self.mlp(self.norms[1](x))


def train(model, x, y, steps=4):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(steps):
        loss = F.cross_entropy(model(x).flatten(0, -2).float(), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return digest(loss, *model.parameters())


def transformer(dtype):
    model = nn.Sequential(nn.Embedding(1000, 256), *(Block(256, 4) for _ in range(3)), nn.Linear(256, 1000))
    tokens = torch.randint(1000, (8, 128), device='cuda')
    return train(model.to('cuda', dtype), tokens, tokens.roll(-1, 1))


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
                                  nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width))

    def forward(self, x):
        return F.relu(x + self.body(x))


def resnet(dtype, layout):
    model = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2), Residual(64),
                          Residual(64), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    model = model.to('cuda', dtype, memory_format=layout)
    x = torch.randn(16, 3, 64, 64, device='cuda', dtype=dtype).contiguous(memory_format=layout)
    return train(model, x, torch.randint(10, (16,), device='cuda'))


def tf32():
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return transformer(torch.float32)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False


def graph():
    model = nn.Sequential(*(Block(128, 2) for _ in range(2))).cuda().half().eval()
    x = torch.randn(4, 64, 128, device='cuda', dtype=torch.half)
    with torch.no_grad():
        for _ in range(3):
            y = model(x)
        torch.cuda.synchronize()
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            y = model(x)
        for _ in range(5):
            g.replay()
    return digest(y)


def pointwise():
    x = torch.randn(1 << 20, device='cuda')
    i = torch.randint(1 << 20, (1 << 16,), device='cuda')
    return digest(x.sort()[0], x.cumsum(0), x.topk(100)[0], x[i], x.softmax(0), x.view(1024, 1024).t().contiguous(),
                  torch.where(x > 0, x, -x), x.nonzero(), x.sum(), x.view(1024, 1024).std(1),
                  torch.bincount(i, minlength=8), torch.cat([x, x]), x.half(), torch.linalg.cholesky(
                      torch.eye(64, device='cuda') + x[:4096].view(64, 64) @ x[:4096].view(64, 64).t()),
                  torch.fft.rfft(x[:4096]).real.contiguous(), F.max_pool2d(x.view(1, 1, 1024, 1024), 2),
                  F.conv2d(x.view(1, 4, 512, 512), x[:144].view(4, 4, 3, 3)))


def attention():
    """Decodes tokens one at a time; each attends to pages of keys and values in random order."""
    heads, width, page, pages, batch = 8, 64, 16, 32, 4
    cache = torch.randn(2, batch * pages, page, heads, width, device='cuda', dtype=torch.half)
    table = torch.randperm(batch * pages, device='cuda').view(batch, pages)
    out = []
    with torch.no_grad(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        prompt = torch.randn(batch, heads, 256, width, device='cuda', dtype=torch.half)
        out.append(F.scaled_dot_product_attention(prompt, prompt, prompt, is_causal=True))
        for token in range(8):
            k, v = (kept[table].view(batch, pages * page, heads, width)[:, :256 + token].transpose(1, 2) for kept in cache)
            q = torch.randn(batch, heads, 1, width, device='cuda', dtype=torch.half)
            out.append(F.scaled_dot_product_attention(q, k, v))
            cache[:, table[:, (256 + token) // page], (256 + token) % page] += out[-1][:, :, 0].half()
    return digest(*out, cache)


def compiled():
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 10)).cuda()
    return train(torch.compile(model), torch.randn(32, 8, 64, device='cuda'), torch.randint(10, (32, 8), device='cuda'))


def linalg():
    x = torch.randn(96, 96, device='cuda', dtype=torch.double)
    return digest(torch.linalg.eigvalsh(x + x.t()), torch.linalg.svdvals(x), torch.linalg.solve(x, x[:, :4]),
                  torch.linalg.qr(x)[1].abs(), torch.fft.fft2(x).abs(), torch.fft.irfft(torch.fft.rfft(x, 210), 210),
                  torch.linalg.det(x), (x * (x > 1)).to_sparse_csr() @ x)


PARTS = {
    'transformer-fp32': lambda: transformer(torch.float32),
    'transformer-tf32': tf32,
    'transformer-bf16': lambda: transformer(torch.bfloat16),
    'transformer-fp16': lambda: transformer(torch.float16),
    'resnet-fp32': lambda: resnet(torch.float32, torch.contiguous_format),
    'resnet-fp16-last': lambda: resnet(torch.float16, torch.channels_last),
    'graph': graph,
    'pointwise': pointwise,
    'attention': attention,
    'compiled': compiled,
    'linalg': linalg,
}


def demangled(name):
    cxx = ctypes.CDLL('libstdc++.so.6').__cxa_demangle
    cxx.restype = ctypes.c_char_p
    return (cxx(name.encode(), None, None, None) or name.encode()).decode()


def run(parts):
    for part in parts:
        print(part, PARTS[part]())


if 'TIMES' in os.environ:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        run(sys.argv[1:])
        torch.cuda.synchronize()
    times = {}
    for event in profile.events():
        if event.device_type == torch.autograd.DeviceType.CUDA and not event.name.startswith(('Memcpy', 'Memset')):
            times[demangled(event.name)] = times.get(demangled(event.name), 0) + event.device_time
    with open(os.environ['TIMES'], 'w', encoding='utf-8') as out:
        json.dump(times, out)
else:
    run(sys.argv[1:] or PARTS)
