#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our HIP programs on a simulated AMD GPU, native and probed: run.py BUILD [NAME...] (TAP; see tests/probing.py)"""
import concurrent.futures
import glob
import hashlib
import json
import os
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(here, "../.."))
from probing import Prober
import hip

BY_HIPCC = ["rdc"]                            # what clang-19 links the old runtime does not run
OPTIONS = {"rdc": ["-fgpu-rdc", "-B/usr/lib/llvm-15/bin"]}
WITH = {"rdc": ["rdc_part.hip"]}
PARTS = ["rdc_part", "module_kernels"]
HIPCC_TOO = ["divergent", "lds", "symbols"]   # built by it as well, where it is not the only one

simulator = hip.simulator()
found = hip.compilers()
first = next(iter(found))
build = os.path.abspath(sys.argv[1])
names = sorted(os.path.basename(p)[:-4] for p in glob.glob(f"{here}/*.hip"))
names = [n for n in names if n not in PARTS and (n in sys.argv[2:] or not sys.argv[2:])]
folder = tempfile.TemporaryDirectory()


def make(name, compiler):
    """The program's path."""
    to = os.path.join(folder.name, f"{name}-{compiler}")
    sources = [os.path.join(here, s) for s in [f"{name}.hip"] + WITH.get(name, [])]
    hip.build(found[compiler], sources, to, OPTIONS.get(name, []))
    return to


def make_modules():
    source = [os.path.join(here, "module_kernels.hip")]
    for kind, words in (("bundle", ["--gpu-bundle-output"]), ("co", ["--no-gpu-bundle-output"])):
        options = ["--cuda-device-only"] + words if first != "hipcc" else ["--genco"] + words
        hip.build(found[first], source, os.path.join(folder.name, f"module_kernels.{kind}"), options)


jobs = [(n, "hipcc" if n in BY_HIPCC else first) for n in names if n not in BY_HIPCC or "hipcc" in found]
if first != "hipcc" and "hipcc" in found:
    jobs += [(n, "hipcc") for n in names if n in HIPCC_TOO]
prober = Prober(build, f"simulated {hip.ARCH}", dict(os.environ, GPUBPF_BACKEND="hip"), before=simulator)
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    modules = pool.submit(make_modules)
    made = [pool.submit(make, *job) for job in jobs]
    for (name, compiler), program in zip(jobs, made):
        label = f"hip-{name}" if compiler == first or name in BY_HIPCC else f"hip-{name} by {compiler}"
        try:
            modules.result()
            prober.check(label, [program.result()])
        except RuntimeError as e:
            prober.tap(False, f"{label} is built", e)


def example():
    """rocm-counter and, the same file as elsewhere, cuda-counter, on the example's workload."""
    workload, out = os.path.join(folder.name, "workload"), os.path.join(folder.name, "example.json")
    hip.build(found[first], [os.path.join(here, "../../../examples/rocm-counter/workload.hip")], workload)
    for name in ("rocm-counter", "cuda-counter"):
        path = f"{build}/examples/{name}/{name}.bpf.o"
        with open(path, "rb") as f:
            print(f"# {name}.bpf.o sha256 {hashlib.sha256(f.read()).hexdigest()}")
        code, text, log = prober.probe(out, [path], [workload])
        with open(out, encoding="utf-8") as f:
            entries = next(m for m in json.load(f)["maps"] if m["name"] == "calls_by_pid")["entries"]
        calls = entries[0]["value"] if len(entries) == 1 else {}
        prober.tap(code == 0 and b"right" in text and entries and int(entries[0]["key"]) > 1 and
                   (calls.get("entered"), calls.get("left"), calls.get("elements")) == (20480, 20480, 1000),
                   f"{name} on {prober.where}: 20480 threads by their process", entries, log)


if not sys.argv[2:] or "example" in sys.argv[2:]:
    example()
prober.plan()
