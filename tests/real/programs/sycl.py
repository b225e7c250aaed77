# SPDX-License-Identifier: Apache-2.0
"""Kernels of SYCL, as Intel's compiler makes them, through the SYCL runtime: arithmetic, sums and choices of dpctl's or dpnp's
arrays; prints what they computed. Whole numbers, so that no order of additions shows."""
import warnings

import dpctl

warnings.simplefilter("ignore")
dpctl.get_devices() # oneAPI 2026's finds no default device of Level Zero before that
try:
    import dpctl.tensor as arrays
except ImportError:
    import dpnp as arrays # which took them over

a = arrays.arange(20000, dtype="i4")
b = a * 7 % 1009
print(b.sycl_device.backend, int(arrays.sum(b)), int(arrays.max(a - b)))
c = arrays.where(b > 500, a, -b)
print(int(arrays.sum(c)), int(arrays.max(c)))
