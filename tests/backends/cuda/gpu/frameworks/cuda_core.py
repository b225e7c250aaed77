# SPDX-License-Identifier: Apache-2.0
"""Runs one kernel through cuda.core in three ways: NVRTC's machine code, its PTX, and LTO-IR linked by nvJitLink."""
import hashlib
import numpy

try:
    from cuda.core import Device, LaunchConfig, Linker, LinkerOptions, Program, ProgramOptions, launch
except ImportError:
    from cuda.core.experimental import Device, LaunchConfig, Linker, LinkerOptions, Program, ProgramOptions, launch

SOURCE = r'''
extern "C" __global__ void add(unsigned *out, unsigned by)
{
	out[blockIdx.x * blockDim.x + threadIdx.x] += by * threadIdx.x;
}'''

device = Device(0)
device.set_current()
stream = device.create_stream()
arch = 'sm_' + ''.join(map(str, device.compute_capability))
lto = ProgramOptions(arch=arch, link_time_optimization=True)
codes = [
    Program(SOURCE, 'c++', ProgramOptions(arch=arch)).compile('cubin'),
    Program(SOURCE, 'c++', ProgramOptions(arch=arch)).compile('ptx'),
    Linker(Program(SOURCE, 'c++', lto).compile('ltoir'),
           options=LinkerOptions(arch=arch, link_time_optimization=True)).link('cubin'),
]
out = device.allocate(4 * 32 * 64, stream=stream)
host = numpy.zeros(32 * 64, dtype=numpy.uint32)
from cuda.bindings import driver
assert driver.cuMemcpyHtoD(int(out.handle), host.ctypes.data, host.nbytes)[0] == 0
for by, code in enumerate(codes, 1):
    launch(stream, LaunchConfig(grid=32, block=64), code.get_kernel('add'), int(out.handle), numpy.uint32(by))
stream.sync()
assert driver.cuMemcpyDtoH(host.ctypes.data, int(out.handle), host.nbytes)[0] == 0
print('digest', hashlib.sha256(host.tobytes()).hexdigest(), 'kernel add threads', len(codes) * 32 * 64)
