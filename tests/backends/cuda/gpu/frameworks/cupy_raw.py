# SPDX-License-Identifier: Apache-2.0
"""A CuPy RawKernel. CuPy compiles it to machine code with NVRTC and caches the code in files."""
import hashlib
import cupy

scale = cupy.RawKernel(r'''
extern "C" __global__ void scale(float *out, float by)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = i * by;
}''', 'scale')
out = cupy.zeros(64 * 128, dtype=cupy.float32)
for step in range(5):
    scale((64,), (128,), (out, cupy.float32(step)))
cupy.cuda.Device().synchronize()
print('digest', hashlib.sha256(out.get().tobytes()).hexdigest(), 'kernel scale threads', 5 * 64 * 128)
