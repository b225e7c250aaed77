#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py GPUBPF OBJECT APP [DRIVER-FOLDER HIP-CODE [LEVEL-ZERO-DRIVER MODULE]]: several runtimes in one process and
session. Prints TAP.

OBJECT counts threads in its first map. DRIVER-FOLDER has the CUDA driver of tests/backends/cuda/fake; without it NVIDIA's own
driver is used. HIP-CODE runs on a simulated GPU (tests/mixed/runtimes.c), next to Intel's runtime only: AMD's
runtime contains the same LLVM library as Debian's PoCL, which allows one user per process. Intel's CPU runtime, if
GPUBPF_TEST_INTEL names it, is the second OpenCL driver. The Level Zero driver of tests/backends/spirv/level_zero/fake runs MODULE on
it, next to the runtime that GPUBPF_TEST_OPENCL names (a part of its name; default PoCL)."""
import json
import os
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import simulated
from tap import ok, plan, skip

THREADS, ROUNDS = 256, 50
INTEL = "Intel(R) OpenCL"
gpubpf, obj, app = sys.argv[1:4]
fake, hip_code = sys.argv[4:6] if len(sys.argv) > 5 else (None, None)
zero, module = sys.argv[6:8] if len(sys.argv) > 7 else (None, None)
first = os.environ.get("GPUBPF_TEST_OPENCL", "Portable")
intel = os.environ.get("GPUBPF_TEST_INTEL", "")
work = tempfile.TemporaryDirectory()


def environment(vendors):
    env = dict(os.environ, XDG_CACHE_HOME=work.name, XDG_RUNTIME_DIR=work.name)
    if fake:
        env["LD_LIBRARY_PATH"] = fake
    if zero:
        env["ZE_ENABLE_ALT_DRIVERS"] = zero
    if vendors: # vendors is a folder: the OpenCL loader loads all drivers that its files name
        env["OCL_ICD_VENDORS"] = vendors
    return env


def check(name, runtimes, backends, options=(), vendors=None, probed=None):
    """Compares runs without and with probes. `probed`: the backends whose kernels must be probed; by default all."""
    env = environment(vendors)
    command = [app, str(ROUNDS)] + runtimes
    native = simulated.run(command, env=env, timeout=120)
    if native.returncode == 77:
        skip(name, native.stderr.decode().strip())
        return
    report = os.path.join(work.name, "report")
    run = simulated.run([gpubpf, "run", "-j", "-r", report, "--wait", "1200", "-o", obj, *options, "--"] + command, env=env,
                        timeout=1500)
    ok((native.returncode, native.stdout) == (run.returncode, run.stdout) and not run.returncode,
       f"{name}: output and status as without probes", native, run)
    with open(report, encoding="utf-8") as f:
        r = json.load(f)
    launches = {b: backends.count(b) * ROUNDS for b in backends}
    got = {k["backend"]: (k["launches"], k["probed"]) for k in r["kernels"]}
    want = {b: (n, n if probed is None or b in probed else 0) for b, n in launches.items()
            if probed is None or b in probed}
    ok(got == want, f"{name}: every launch is counted where it was made", want, r["kernels"], run.stderr.decode())
    counted = sum(int(e["value"]) for e in r["maps"][0]["entries"])
    ok(counted == THREADS * sum(n for _, n in want.values()), f"{name}: one map has the threads of all", counted)
    ok(sorted(d["backend"] for d in r["device_list"]) == sorted(b for b in backends if b in want) and
       r["processes"] == 1, f"{name}: one process, its devices named with their runtimes", r["device_list"])


def vendors(others):
    """Makes a folder of ICD files: one names Intel's runtime, the others are the installed ones."""
    folder = tempfile.mkdtemp(dir=work.name)
    for name in os.listdir("/etc/OpenCL/vendors") if others else ():
        with open(os.path.join("/etc/OpenCL/vendors", name), encoding="utf-8") as f:
            text = f.read()
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    with open(os.path.join(folder, "intel-cpu.icd"), "w", encoding="utf-8") as f:
        f.write(intel + "\n")
    return folder


check("CUDA and OpenCL", ["cuda", first], ["cuda", "opencl"])
check("OpenCL and CUDA", [first, "cuda"], ["opencl", "cuda"])
for only in "cuda", "opencl":
    check(f"CUDA and OpenCL, {only} alone", ["cuda", first], ["cuda", "opencl"], ["-b", only], probed=[only])
check("OpenCL and CUDA, opencl alone", [first, "cuda"], ["opencl", "cuda"], ["-b", "opencl"], probed=["opencl"])
if not fake:
    pass
elif os.path.exists(intel):
    both, alone = vendors(True), vendors(False)
    check("OpenCL on two drivers", [first, INTEL], ["opencl", "opencl"], vendors=both)
    check("OpenCL on two drivers, and CUDA", [first, "cuda", INTEL], ["opencl", "cuda", "opencl"], vendors=both)
    check("HIP and OpenCL", [f"hip:{hip_code}", INTEL], ["hip", "opencl"], vendors=alone)
    check("OpenCL, CUDA and HIP", [INTEL, "cuda", f"hip:{hip_code}"], ["opencl", "cuda", "hip"], vendors=alone)
    check("HIP and OpenCL, hip alone", [f"hip:{hip_code}", INTEL], ["hip", "opencl"], ["-b", "hip"], vendors=alone,
          probed=["hip"])
    level_zero = f"level_zero:{module}"
    if zero:
        check("OpenCL and Level Zero", [first, level_zero], ["opencl", "level_zero"])
        check("Level Zero and OpenCL, on the runtime that it has", [level_zero, INTEL], ["level_zero", "opencl"], vendors=alone)
        check("OpenCL, CUDA and Level Zero", [INTEL, "cuda", level_zero], ["opencl", "cuda", "level_zero"], vendors=both)
        for only in "opencl", "level_zero":
            check(f"OpenCL and Level Zero, {only} alone", [first, level_zero], ["opencl", "level_zero"], ["-b", only], probed=[only])
    else:
        skip("OpenCL and Level Zero", "built without Level Zero")
else:
    skip("OpenCL on two drivers, HIP and OpenCL, Level Zero and OpenCL", "GPUBPF_TEST_INTEL names no libintelocl.so")
plan()
