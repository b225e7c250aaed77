# SPDX-License-Identifier: Apache-2.0
"""PyOpenCL's kernel generators: element-wise kernels, reductions and random numbers, or with an argument scans,
selections and sorting. Prints digests."""
import hashlib
import sys

import numpy as np
import pyopencl as cl
import pyopencl.array as array
from pyopencl.algorithm import RadixSort, copy_if
from pyopencl.clrandom import PhiloxGenerator
from pyopencl.elementwise import ElementwiseKernel
from pyopencl.reduction import ReductionKernel
from pyopencl.scan import GenericScanKernel

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)


def print_digest(what, values):
    print(what, hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16])


n = 20000
a = array.to_device(queue, np.arange(n, dtype=np.float32) % 97)
b = array.to_device(queue, (np.arange(n) * 7 % 1009).astype(np.int32))


def simple():
    print_digest("arithmetic", (2 * a + b.astype(np.float32) * a - 3).get())
    axpy = ElementwiseKernel(context, "float f, float *x, float *y, float *z", "z[i] = f * x[i] + y[i]", "axpy")
    z = array.empty_like(a)
    axpy(np.float32(0.5), a, a, z)
    print_digest("elementwise", z.get())
    dot = ReductionKernel(context, np.int32, neutral="0", reduce_expr="a + b", map_expr="x[i] * x[i] % 1000",
                          arguments="__global int *x")
    print_digest("reduction", dot(b, queue=queue).get())
    print_digest("random", PhiloxGenerator(context, seed=15).uniform(queue, 1000, dtype=np.float32).get())


def algorithms():
    scan = GenericScanKernel(context, np.int32, arguments="__global int *x", input_expr="x[i]", scan_expr="a + b",
                             neutral="0", output_statement="x[i] = item;")
    sums = b.copy()
    scan(sums, queue=queue)
    print_digest("scan", sums.get())
    out, count, _ = copy_if(b, "ary[i] > 500", queue=queue)
    print_digest("copy_if", out.get()[:int(count.get())])
    sort = RadixSort(context, "int *keys", key_expr="keys[i]", sort_arg_names=["keys"])
    (ordered,), _ = sort(b, key_bits=10, queue=queue)
    print_digest("sort", ordered.get())


(algorithms if sys.argv[1:] else simple)()
