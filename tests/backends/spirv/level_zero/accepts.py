#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""accepts.py all|some BUILD SOURCE CLANG APP OBJECT...: Intel's GPU compiler must accept the twins of corpus.py's
modules. Prints TAP. The driver compiles and launches each kernel of a valid module with the objects' programs, for
Skylake and Tiger Lake (see intel.py: nothing is executed). The test prints the kernels that gpubpf refuses for a reason
of corpus.OURS. With `some` it tests a few modules for Skylake only. The suites wrap and opencl test the results of
these modules, with OpenCL's CPU runtime."""
import ctypes
import json
import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
import corpus
from probing import Prober, read_launches

few = sys.argv[1] == "some"
build, source, clang, app = (os.path.abspath(path) for path in sys.argv[2:6])
objects = [os.path.abspath(path) for path in sys.argv[6:]]
try:
    ctypes.CDLL("libze_intel_gpu.so.1")
except OSError as e:
    print(f"1..0 # SKIP Intel's Level Zero driver: {e}")
    sys.exit(0)
where = tempfile.TemporaryDirectory()
modules = corpus.make(source, clang, where.name, few)
prober = Prober(build, "", dict(os.environ, NEOReadDebugKeys="1", SetCommandStreamReceiver="1",
                                 AUBDumpCaptureFileName="/dev/null"))
prober.tap(len(modules) > (2 if few else 30), f"a corpus: SPIR-V of {len(modules)} sources", modules)
os.chdir(where.name)
for product in ["skl"] if few else ["skl", "tgllp"]:
    prober.env["ProductFamilyOverride"] = product
    taken = kernels = refused = 0
    for module in modules:
        command = [app, where.name, module]
        native = prober.run(command)
        if native[0] or b"refused" in native[1]:
            print(f"# {product}: {module} is not taken by the driver itself")
            continue
        probed, want = prober.probe("report.json", objects, command), read_launches(native[1])
        try:
            with open("report.json", encoding="utf-8") as f:
                got = json.load(f)["kernels"]
        except (OSError, ValueError) as e:
            got = []
        good = [k for k in got if k["probed"] == k["launches"]]
        ours = [k for k in got if not k["probed"] and any(reason in k["reason"] for reason in corpus.OURS)]
        for k in ours:
            print(f"# {product}: {module}: kernel {k['name']} is refused: {k['reason']}")
        taken, kernels, refused = taken + 1, kernels + len(good), refused + len(ours)
        prober.tap(native[:2] == probed[:2] and len(good) + len(ours) == len(want),
                   f"{module} for {product}: {len(good)} twins taken", native, probed, got)
    print(f"# {product}: {taken} modules, {kernels} kernels with their twins taken, {refused} that we refuse")
prober.plan()
