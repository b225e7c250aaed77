# SPDX-License-Identifier: Apache-2.0
"""cuBLAS, cuSOLVER, cuFFT, cuSPARSE and sorts through CuPy. Prints a digest of the results, which must not depend on
probes."""
import hashlib

import cupy as cp
from cupyx.scipy import sparse

x = cp.random.default_rng(1).standard_normal((96, 96))
results = [x @ x, cp.linalg.eigvalsh(x + x.T), cp.linalg.svd(x, compute_uv=False), cp.linalg.solve(x, x[:, :4]),
           cp.abs(cp.linalg.qr(x)[1]), cp.abs(cp.fft.fft2(x)), cp.fft.irfft(cp.fft.rfft(x, 210), 210),
           cp.sort(x, None), cp.argsort(x[0]), cp.cumsum(x), x.sum(0), x.std(1), cp.unique(cp.floor(x)),
           sparse.csr_matrix(x * (x > 1)) @ x, cp.histogram(x, 16)[0], cp.einsum('ij,kj->ik', x, x)]
h = hashlib.sha256()
for r in results:
    h.update(cp.asnumpy(r).tobytes())
print('digest', h.hexdigest()[:16])
