# SPDX-License-Identifier: Apache-2.0
"""Functions that JAX compiles with XLA. They must run unchanged. XLA keeps the kernels' PTX to itself, so no
kernel has a twin, and the report states a reason for each."""
import hashlib
import os

os.environ.setdefault('XLA_PYTHON_CLIENT_PREALLOCATE', 'false')
import jax
import jax.numpy as jnp
import numpy

blend = jax.jit(lambda x, y: jnp.maximum(x, 0) * 3 + y)
x, y = (jnp.arange(1 << 16, dtype=jnp.float32) - by for by in (100, 7))
for _ in range(3):
    y = blend(x, y)
print('digest', hashlib.sha256(numpy.asarray(y).tobytes()).hexdigest(), 'kernel - threads 0')
