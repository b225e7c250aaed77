# SPDX-License-Identifier: Apache-2.0
"""A tutorial of Triton without its measurements: triton_tutorial.py FILE [CALL]...

Runs FILE as a module, then each CALL, a Python expression, in its namespace. Benchmarks measure nothing: perf_report runs
the function for its first x-value and each line, and do_bench calls its function once. Autotuning selects the first
configuration that is valid, so that each run launches the same kernels. triton.profiler does nothing. At the end, prints
the digest of each tensor, or list of tensors, that the module holds: "NAME DIGEST".
"""
import contextlib
import hashlib
import importlib.util
import os
import sys
import types

import torch
import triton

BENCHMARKS = ('do_bench', 'do_bench_cudagraph')


def bench_once(function, *_, quantiles=None, **_options):
    function()
    return [1.0] * len(quantiles) if quantiles else 1.0


class OneMeasurement:
    """Stands in for triton.testing.Mark: run() calls the function for the first x-value only."""

    def __init__(self, function, benchmarks):
        self.function = function
        self.benchmarks = benchmarks if isinstance(benchmarks, list) else [benchmarks]

    def run(self, *_, **_options):
        for b in self.benchmarks:
            x = b.x_vals[0]
            values = x if isinstance(x, (list, tuple)) else [x] * len(b.x_names)
            for line in b.line_vals:
                self.function(**dict(zip(b.x_names, values)), **{b.line_arg: line}, **b.args)


def prune_to_first(prune):
    return lambda self, *args, **kwargs: list(prune(self, *args, **kwargs))[:1]


def stub_profiler():
    """Replaces triton.profiler by a module that does nothing, since two observers of the driver would disturb each
    other."""
    module = types.ModuleType('triton.profiler')
    for name in ('start', 'activate', 'deactivate', 'finalize'):
        setattr(module, name, lambda *_args, **_options: 0)
    module.scope = lambda *_args, **_options: contextlib.nullcontext()
    sys.modules['triton.profiler'] = triton.profiler = module


def digest(value):
    tensors = value if isinstance(value, (list, tuple)) else [value]
    if not tensors or not all(isinstance(t, torch.Tensor) for t in tensors):
        return None
    total = hashlib.sha256()
    for t in tensors:
        total.update(t.detach().contiguous().reshape(-1).view(torch.uint8).cpu().numpy().tobytes())
    return total.hexdigest()[:16]


def load(path):
    """Loads the file as a module, whatever its name, and returns the module's variables."""
    spec = importlib.util.spec_from_file_location('tutorial', path)
    module = sys.modules['tutorial'] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


def main():
    path, calls = sys.argv[1], sys.argv[2:]
    for name in BENCHMARKS:
        setattr(triton.testing, name, bench_once)
    triton.testing.perf_report = lambda benchmarks: lambda function: OneMeasurement(function, benchmarks)
    autotuner = triton.runtime.autotuner.Autotuner
    autotuner.prune_configs = prune_to_first(autotuner.prune_configs)
    stub_profiler()
    sys.argv = [path]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    torch.manual_seed(0)
    module = load(path)
    for call in calls:
        result = eval(call, module)  # pylint: disable=eval-used # CALL is an expression from the list of programs
        print(call, 'returns', digest(result) or type(result).__name__)
    torch.cuda.synchronize()
    for name in sorted(module):
        if digest(module[name]):
            print(name, digest(module[name]))


main()
