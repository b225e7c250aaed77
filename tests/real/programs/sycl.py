# SPDX-License-Identifier: Apache-2.0
"""Kernels of SYCL, as Intel's compiler makes them, through the SYCL runtime: dpnp's arithmetic, sums and choices; prints
what they computed. Whole numbers, so that no order of additions shows."""
import dpnp

a = dpnp.arange(20000, dtype="i4")
b = a * 7 % 1009
print(b.sycl_device.backend, int(dpnp.sum(b)), int(dpnp.max(a - b)))
c = dpnp.where(b > 500, a, -b)
print(int(dpnp.sum(c)), int(dpnp.max(c)))
