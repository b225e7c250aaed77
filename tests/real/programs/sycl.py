# SPDX-License-Identifier: Apache-2.0
"""SYCL kernels from Intel's compiler, through the SYCL runtime: arithmetic, sums and selections on arrays of dpctl
or dpnp. Prints their results, which are integers, so that the order of additions does not matter."""
import warnings

import dpctl

warnings.simplefilter("ignore")
dpctl.get_devices() # oneAPI 2026 finds no default Level Zero device without this call
try:
    import dpctl.tensor as arrays
except ImportError:
    import dpnp as arrays # they moved there

a = arrays.arange(20000, dtype="i4")
b = a * 7 % 1009
print(b.sycl_device.backend, int(arrays.sum(b)), int(arrays.max(a - b)))
c = arrays.where(b > 500, a, -b)
print(int(arrays.sum(c)), int(arrays.max(c)))
