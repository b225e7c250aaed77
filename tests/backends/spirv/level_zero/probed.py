#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""probed.py BUILD DRIVER APP...: runs the Level Zero programs of the tests, native and probed, on the fake driver.
Prints TAP; see tests/probing.py. GPUBPF_TEST_INTEL names the OpenCL runtime with which the driver runs kernels."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
from probing import Prober

build, driver, apps = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
icd = os.environ.get("GPUBPF_TEST_INTEL", "")
if not os.path.exists(icd):
    print("1..0 # SKIP Intel's CPU runtime: GPUBPF_TEST_INTEL names no libintelocl.so")
    sys.exit(0)
modules = f"{build}/tests/backends/spirv/level_zero"
for memory in ("host", "shared", "device"):
    env = dict(os.environ, OCL_ICD_VENDORS=icd, ZE_ENABLE_ALT_DRIVERS=driver, GPUBPF_FAKE_ZE=memory)
    prober = Prober(build, f"a device with {memory} memory", env) if memory == "host" else prober
    prober.env, prober.where = dict(env, XDG_CACHE_HOME=prober.cache.name), f"a device with {memory} memory"
    for app in apps if memory == "host" else apps[:3]:
        prober.check(os.path.basename(app), [app, modules])
prober.plan()
