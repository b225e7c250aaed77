# SPDX-License-Identifier: Apache-2.0
"""torch_nccl.py together|alone DEVICES: training in PyTorch on several GPUs.

With `together` one process uses all GPUs, and NCCL adds the gradients. With `alone` each GPU has a process. Prints a
digest of the results, which must not depend on probes.
"""
import hashlib
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn


def digest(*tensors):
    h = hashlib.sha256()
    for t in tensors:
        h.update(t.detach().cpu().reshape(-1).clone().view(torch.uint8).numpy().tobytes())
    return h.hexdigest()[:16]


def model_of(device):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)


def loss_of(model, device, rank):
    make = torch.Generator().manual_seed(2 + rank)
    x, y = torch.randn(128, 64, generator=make), torch.randint(10, (128,), generator=make)
    return nn.functional.cross_entropy(model(x.to(device)), y.to(device))


def together(devices):
    models = [model_of(f'cuda:{d}') for d in range(devices)]
    for _ in range(5):
        for rank, model in enumerate(models):
            model.zero_grad()
            loss_of(model, f'cuda:{rank}', rank).backward()
        for grads in zip(*([p.grad for p in model.parameters()] for model in models)):
            torch.cuda.nccl.all_reduce(list(grads))
        for model in models:
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.1 / devices * p.grad
    print('digest', *(digest(*model.parameters()) for model in models))


def one(rank, devices):
    dist.init_process_group('nccl', rank=rank, world_size=devices, device_id=torch.device(f'cuda:{rank}'))
    torch.cuda.set_device(rank)
    model = nn.parallel.DistributedDataParallel(model_of(f'cuda:{rank}'))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        loss_of(model, f'cuda:{rank}', rank).backward()
        optimizer.step()
    digests = [None] * devices
    dist.all_gather_object(digests, digest(*model.parameters()))
    if rank == 0:
        print('digest', *digests)
    dist.destroy_process_group()


if __name__ == '__main__':
    os.environ.update(MASTER_ADDR='127.0.0.1', MASTER_PORT=os.environ.get('MASTER_PORT', '29517'))
    if sys.argv[1] == 'together':
        together(int(sys.argv[2]))
    else:
        mp.spawn(one, (int(sys.argv[2]),), nprocs=int(sys.argv[2]))
