# SPDX-License-Identifier: Apache-2.0
"""load_cubins.py FOLDER: loads each cubin of the folder with the driver. Prints how many cubins the driver accepted,
and the names of the others."""
import ctypes
import glob
import sys

cuda = ctypes.CDLL("libcuda.so.1")
device, context = ctypes.c_int(), ctypes.c_void_p()
for err in cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(device), 0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), \
        cuda.cuCtxSetCurrent(context):
    if err:
        sys.exit(f"the device cannot be used: error {err}")
paths = sorted(glob.glob(sys.argv[1] + "/*.cubin"))
refused = []
for path in paths:
    module = ctypes.c_void_p()
    with open(path, "rb") as f:
        err = cuda.cuModuleLoadData(ctypes.byref(module), f.read())
    if err:
        refused.append(f"{path.rsplit('/', 1)[1]}: error {err}")
    else:
        cuda.cuModuleUnload(module)
print(f"{len(paths) - len(refused)} of {len(paths)} loaded", *refused[:3])
sys.exit(1 if refused or not paths else 0)
