#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""changed.py BUILD FILE.cl: tests twins on PoCL that share a worker, and measures the processor time for a changed
probe. Prints TAP.

FILE.cl has three small kernels. Another program in the same session calls other functions of OpenCL C. PoCL is the
installed one with its whole library, and has compiled these programs before."""
import glob
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
from tap import ok, plan, skip_all

build, case = os.path.abspath(sys.argv[1]), "case.cl"
CHANGES = 2
OTHER = """//@ run: other 64 16 buf:256
kernel void other(global float *o) { size_t i = get_global_id(0); o[i] = sin((float)i) + erf(o[i] + i) + dot((float3)(i), (float3)(2)); }
"""
icd = glob.glob("/etc/OpenCL/vendors/pocl*.icd")
if not icd:
    skip_all("PoCL is not installed")


def used():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def run(*command):
    before = used()
    got = subprocess.run(command, cwd=work, env=env, capture_output=True, text=True, timeout=600, check=False)
    return got, used() - before


def probe(number, *files):
    """Runs the cases in one session with a probe that sums `number`. Returns the outputs, the kernels of the report,
    and the processor time in seconds."""
    report = f"{work}/report.json"
    script = " && ".join(f"{build}/tests/backends/spirv/opencl/cl-case {file}" for file in files)
    got, seconds = run(f"{build}/gpubpf", "run", "-j", "--report", report, "--wait", "600", "-e", f"gpu/entry/* {{ @ = sum({number}); }}", "--", "sh", "-c", script)
    with open(report, encoding="utf-8") as f:
        return got.stdout, json.load(f)["kernels"], seconds


with tempfile.TemporaryDirectory() as work:
    env = dict(os.environ, OCL_ICD_VENDORS=icd[0], XDG_CACHE_HOME=work)
    for name in ("POCL_CACHE_DIR", "LD_LIBRARY_PATH"):
        env.pop(name, None)
    shutil.copyfile(sys.argv[2], f"{work}/{case}")
    with open(f"{work}/other.cl", "w", encoding="utf-8") as f:
        f.write(OTHER)
    native = [run(f"{build}/tests/backends/spirv/opencl/cl-case", file)[0].stdout for file in (case, "other.cl")]
    ok(all(native), "the programs run", native)
    out, kernels, _ = probe(1, case, "other.cl", case)
    ok(out == native[0] + native[1] + native[0], "outputs are the same where one worker builds both programs", out, native)
    ok(len(kernels) == 4 and all(k["probed"] == k["launches"] for k in kernels), "all four kernels are probed", kernels)
    _, unchanged = run(f"{build}/tests/backends/spirv/opencl/cl-case", case)
    times = []
    for number in range(2, 2 + CHANGES):
        out, kernels, seconds = probe(number, case)
        ok(out == native[0] and len(kernels) == 3 and all(k["probed"] == k["launches"] for k in kernels), f"change {number}: probed", kernels)
        times.append(seconds)
    print(f"# processor time of a changed probe: {', '.join(f'{t:.2f}' for t in times)} s; without probes {unchanged:.2f} s")
plan()
