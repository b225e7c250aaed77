#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""intel.py BUILD APP...: runs the Level Zero programs of the tests, native and probed, on Intel's own driver and
compiler without a GPU. Prints TAP. The driver's debug keys SetCommandStreamReceiver and ProductFamilyOverride make it
write its launches to a file instead. The file is /dev/null, because it would contain all memory. Nothing is executed,
so the maps stay empty and the test ignores results. Every call must succeed, and the twin of every kernel must be
compiled and launched instead of the kernel. All programs run for one product. For a second product only those programs
run that depend on the product: simple launches, launches whose size is in memory, and native code that is exported and
loaded."""
import ctypes
import json
import os
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
from probing import Prober, read_launches

SECOND = ["ze-basic", "ze-indirect", "ze-native"]
build, apps = os.path.abspath(sys.argv[1]), [os.path.abspath(app) for app in sys.argv[2:]]
try:
    ctypes.CDLL("libze_intel_gpu.so.1")
except OSError as e:
    print(f"1..0 # SKIP Intel's Level Zero driver: {e}")
    sys.exit(0)
objects = [f"{build}/tests/real/count.bpf.o"]
prober = Prober(build, "", dict(os.environ, NEOReadDebugKeys="1", SetCommandStreamReceiver="1",
                                 AUBDumpCaptureFileName="/dev/null"))
natives = {}
with tempfile.TemporaryDirectory() as where:
    os.chdir(where)
    for product, some in ("skl", apps), ("tgllp", [app for app in apps if os.path.basename(app) in SECOND]):
        prober.env["ProductFamilyOverride"] = product
        for app in some:
            name, command = os.path.basename(app), [app, f"{build}/tests/backends/spirv/level_zero", "compiles"]
            if product == "skl":
                natives[name] = prober.run(command)
            native, probed = natives[name], prober.probe("report.json", objects, command)
            prober.tap(native[:2] == probed[:2] and native[0] == 0, f"{name} for {product}: every call succeeds", native, probed)
            try:
                with open("report.json", encoding="utf-8") as f:
                    kernels = json.load(f)["kernels"]
                os.unlink("report.json")
            except (OSError, ValueError) as e:
                prober.tap(False, f"{name} for {product}: a report", e, probed[2])
                continue
            want, got = {k: v[0] for k, v in read_launches(native[1]).items()}, {}
            for k in kernels:
                got[k["name"]] = got.get(k["name"], 0) + k["probed"]
            prober.tap(want == got and want, f"{name} for {product}: every launch is a twin's", want, kernels, probed[2])
prober.plan()
