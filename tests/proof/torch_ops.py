# SPDX-License-Identifier: Apache-2.0
"""PyTorch's operators: torch_ops.py [SHARD/SHARDS [NAME]...]

Runs the first SAMPLES samples of each operator of op_db (torch.testing._internal) in each type that the GPU supports,
forward, and backward where the type has gradients. Prints a line per operator and type: "NAME TYPE DIGEST", where the
digest covers the bytes of all outputs and gradients, or "NAME TYPE raises EXCEPTION". SHARD/SHARDS, from 0/1: each
SHARDS-th operator. NAME: only these operators. Needs PyTorch with CUDA, and expecttest (PyPI).
"""
import gc
import hashlib
import itertools
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db

SAMPLES = 8
SEED = 1
# Operators whose outputs are uninitialised memory.
UNINITIALISED = ('empty', 'new_empty', 'empty_like', 'empty_strided', 'new_empty_strided', 'empty_permuted', 'resize_', 'resize_as_')


def tensors(value):
    """Yields the tensors in nested tuples, lists and dicts, and the text of all other values."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from tensors(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from tensors(part)
    else:
        yield repr(type(value)) if callable(value) else repr(value)


def add_tensor(digest, tensor):
    digest.update(f'{tensor.dtype} {tuple(tensor.shape)} {tensor.layout}'.encode())
    if tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    tensor = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    digest.update(tensor.reshape(-1).clone().view(torch.uint8).numpy().tobytes())


def add_value(digest, value):
    for part in tensors(value):
        if isinstance(part, str):
            digest.update(part.encode())
        else:
            add_tensor(digest, part)


def run_sample(op, sample, digest):
    torch.manual_seed(SEED)
    output = op(sample.input, *sample.args, **sample.kwargs)
    add_value(digest, output)
    outputs = [t for t in tensors(sample.output_process_fn_grad(output)) if isinstance(t, torch.Tensor) and t.requires_grad]
    inputs = [t for t in tensors([sample.input, sample.args, sample.kwargs]) if isinstance(t, torch.Tensor) and t.requires_grad]
    if outputs and inputs:
        grads = torch.autograd.grad(outputs, inputs, [torch.ones_like(t) for t in outputs], allow_unused=True)
        add_value(digest, [g for g in grads if g is not None])


def digest_op(op, dtype):
    """Returns the digest of all samples of the operator in this type; passes on the operator's exception."""
    torch.manual_seed(SEED)
    grads = op.supports_autograd and dtype in op.supported_backward_dtypes('cuda')
    digest = hashlib.sha256()
    for sample in itertools.islice(op.sample_inputs('cuda', dtype, requires_grad=grads), SAMPLES):
        run_sample(op, sample, digest)
    torch.cuda.synchronize()
    return digest.hexdigest()[:16]


def run_op(op):
    """Prints a line for each type of the operator; returns for how many types there was a digest."""
    good = 0
    name = op.name + ('.' + op.variant_test_name if op.variant_test_name else '')
    for dtype in sorted(op.supported_dtypes('cuda'), key=str):
        label = f'{name} {str(dtype).removeprefix("torch.")}'
        try:
            print(label, digest_op(op, dtype), flush=True)
            good += 1
        # the exception is a result too, as a line that runs compare
        except Exception as error:  # pylint: disable=broad-except
            print(label, 'raises', type(error).__name__, str(error).split('\n', maxsplit=1)[0][:80], flush=True)
    return good


def main():
    warnings.filterwarnings('ignore')
    shard, shards = map(int, (sys.argv[1] if len(sys.argv) > 1 else '0/1').split('/'))
    names = sys.argv[2:]
    ops = [op for op in op_db if op.name not in UNINITIALISED and (not names or op.name in names)]
    good = 0
    for op in ops[shard::shards]:
        good += run_op(op)
        gc.collect()
    sys.exit(None if good else 'torch_ops.py: no operator ran')


main()
