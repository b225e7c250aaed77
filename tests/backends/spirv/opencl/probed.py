#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""probed.py BUILD pocl|intel APP...: runs the OpenCL applications of the tests, native and probed. Prints TAP; see
tests/probing.py."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
from probing import Prober

MAY_REFUSE = ["cl-globals", "cl-queries", "cl-specialization-again"] # by design: it has a program-scope variable
build, device, apps = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
names = {"pocl": "Portable", "intel": "Intel"}
env = dict(os.environ, GPUBPF_TEST_DEVICE=names[device], GPUBPF_TEST_IL=f"{build}/tests/backends/spirv/opencl/il_kernels.spv",
           GPUBPF_TEST_SPECIALIZATION=f"{build}/tests/backends/spirv/opencl/specialization.spv")
if device == "intel":
    icd = os.environ.get("GPUBPF_TEST_INTEL", "")
    if not os.path.exists(icd):
        print("1..0 # SKIP Intel's CPU runtime: GPUBPF_TEST_INTEL names no libintelocl.so")
        sys.exit(0)
    env["OCL_ICD_VENDORS"] = icd
prober = Prober(build, device, env, MAY_REFUSE)
for app in apps:
    prober.check(os.path.basename(app), [app])
if device == "pocl":
    prober.before, prober.where = ["env", f"OPENCL_LAYERS={build}/tests/hooks/libproperties-layer.so"], "a newer loader"
    prober.check(os.path.basename(apps[0]), apps[:1])
prober.plan()
