#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Intel's compiler for GPUs takes what we make of a corpus of SPIR-V: accepts.py all|some BUILD SOURCE CLANG APP OBJECT...
(TAP). The corpus is all OpenCL C of our tests and examples that clang makes SPIR-V of. Each kernel that the driver compiles
by itself is compiled and launched with the objects' programs for Skylake and Tiger Lake (see intel.py: nothing is executed);
where we refuse one, for one of OURS, that is printed. some: a few modules for Skylake. What these modules compute, OpenCL's CPU
runtime tells in suites wrap and opencl."""
import ctypes
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from probing import Prober, wanted

FOLDERS = ["tests/wrap/cases", "tests/opencl", "tests/opencl/places", "tests/levelzero", "tests/conformance", "tests/maps",
           "tests/hip/kernels", "examples/*"]
FEW = ["atomics.cl", "cl2.cl", "inside.cl", "special.cl"]
OURS = ["writable program-scope variables", "sub-groups or inexact functions"]
few = sys.argv[1] == "some"
build, source, clang, app = (os.path.abspath(path) for path in sys.argv[2:6])
objects = [os.path.abspath(path) for path in sys.argv[6:]]
try:
    ctypes.CDLL("libze_intel_gpu.so.1")
except OSError as e:
    print(f"1..0 # SKIP Intel's Level Zero driver: {e}")
    sys.exit(0)
where = tempfile.TemporaryDirectory()


def spirv(path):
    """Its module, by the first standard that clang takes it with; None."""
    with open(path, encoding="utf-8") as f:
        options = " ".join(re.findall(r"^//@ options: *(.*)", f.read(), re.M)).split()
    out = f"{where.name}/{os.path.relpath(path, source).replace('/', '-')[:-3]}.spv"
    for standard in ("CL1.2", "CL2.0"):
        if not subprocess.run([clang, "--target=spirv64v1.2", "-x", "cl", f"-cl-std={standard}", "-O1", "-w", "-Xclang",
                               "-finclude-default-header", *options, "-c", path, "-o", out], stderr=subprocess.DEVNULL,
                              check=False).returncode:
            return out
    return None


sources = sorted(f for folder in FOLDERS for f in glob.glob(f"{source}/{folder}/*.cl"))
sources = [s for s in sources if os.path.basename(s) in FEW] if few else sources
with ThreadPoolExecutor(2) as pool:
    modules = [m for m in pool.map(spirv, sources) if m]
prober = Prober(build, "", dict(os.environ, NEOReadDebugKeys="1", SetCommandStreamReceiver="1",
                                 AUBDumpCaptureFileName="/dev/null"))
prober.tap(len(modules) > (2 if few else 30), f"a corpus: SPIR-V of {len(modules)} sources", sources)
os.chdir(where.name)
for product in ["skl"] if few else ["skl", "tgllp"]:
    prober.env["ProductFamilyOverride"] = product
    taken = kernels = refused = 0
    for module in modules:
        name, command = os.path.basename(module), [app, where.name, os.path.basename(module)]
        native = prober.run(command)
        if native[0] or b"refused" in native[1]:
            print(f"# {product}: {name} is not taken by the driver itself")
            continue
        probed, want = prober.probe("report.json", objects, command), wanted(native[1])
        try:
            with open("report.json", encoding="utf-8") as f:
                got = json.load(f)["kernels"]
        except (OSError, ValueError) as e:
            got = []
        good = [k for k in got if k["probed"] == k["launches"]]
        ours = [k for k in got if not k["probed"] and any(reason in k["reason"] for reason in OURS)]
        for k in ours:
            print(f"# {product}: {name}: kernel {k['name']} is refused: {k['reason']}")
        taken, kernels, refused = taken + 1, kernels + len(good), refused + len(ours)
        prober.tap(native[:2] == probed[:2] and len(good) + len(ours) == len(want),
                   f"{name} for {product}: {len(good)} twins taken", native, probed, got)
    print(f"# {product}: {taken} modules, {kernels} kernels with their twins taken, {refused} that we refuse")
prober.plan()
