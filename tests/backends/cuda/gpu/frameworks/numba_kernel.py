# SPDX-License-Identifier: Apache-2.0
"""Numba kernels that nvJitLink links, one from LTO-IR and one from PTX."""
import hashlib
import numpy
from numba import cuda


@cuda.jit
def squares(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = i * i


@cuda.jit(lto=False)
def more_squares(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] += i * i


out = cuda.to_device(numpy.zeros(64 * 128, dtype=numpy.int64))
for _ in range(3):
    squares[64, 128](out)
    more_squares[64, 128](out)
cuda.synchronize()
print('digest', hashlib.sha256(out.copy_to_host().tobytes()).hexdigest(), 'kernel *squares* threads', 6 * 64 * 128)
