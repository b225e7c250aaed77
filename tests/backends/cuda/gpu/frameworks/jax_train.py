# SPDX-License-Identifier: Apache-2.0
"""Trains a small transformer in JAX. Prints a digest of its weights, which must not depend on probes."""
import hashlib
import os

os.environ['XLA_PYTHON_CLIENT_PREALLOCATE'] = 'false'
os.environ['XLA_FLAGS'] = '--xla_gpu_deterministic_ops=true --xla_gpu_autotune_level=0'
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

WIDTH, HEADS, TOKENS = 128, 4, 64


def normed(x):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def block(weights, x):
    q, k, v = jnp.split(normed(x) @ weights['qkv'], 3, -1)
    heads = [y.reshape(*y.shape[:2], HEADS, -1) for y in (q, k, v)]
    x += jax.nn.dot_product_attention(*heads, is_causal=True).reshape(x.shape) @ weights['out']
    return x + jax.nn.gelu(normed(x) @ weights['up']) @ weights['down']


def loss(weights, x, y):
    h = weights['embedding'][x]
    for w in weights['blocks']:
        h = block(w, h)
    return -jnp.take_along_axis(jax.nn.log_softmax(h @ weights['embedding'].T), y[..., None], -1).mean()


@jax.jit
def step(weights, x, y):
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, jax.grad(loss)(weights, x, y))


def matrix(seed, *shape):
    return jax.random.normal(jax.random.key(seed), shape) * 0.05


weights = {'embedding': matrix(0, 500, WIDTH), 'blocks': [
    {'qkv': matrix(4 * i + 1, WIDTH, 3 * WIDTH), 'out': matrix(4 * i + 2, WIDTH, WIDTH),
     'up': matrix(4 * i + 3, WIDTH, 4 * WIDTH), 'down': matrix(4 * i + 4, 4 * WIDTH, WIDTH)} for i in range(2)]}
tokens = jax.random.randint(jax.random.key(9), (8, TOKENS), 0, 500)
for _ in range(5):
    weights = step(weights, tokens, jnp.roll(tokens, -1, 1))
h = hashlib.sha256()
for leaf in jax.tree.leaves(weights):
    h.update(jax.device_get(leaf).tobytes())
print('digest', h.hexdigest()[:16])
