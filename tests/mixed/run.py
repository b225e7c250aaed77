#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One process, several runtimes, one session: run.py GPUBPF OBJECT APP [DRIVER-FOLDER] (TAP)

OBJECT counts threads in its first map. DRIVER-FOLDER holds the CUDA driver of tests/cuda/fake; without it NVIDIA's own
is meant. Intel's CPU runtime is the second OpenCL driver, where GPUBPF_TEST_INTEL names it, beside what
GPUBPF_TEST_OPENCL names (a part of its name; PoCL's)."""
import json
import os
import subprocess
import sys
import tempfile

THREADS, ROUNDS = 256, 50
gpubpf, obj, app = sys.argv[1:4]
fake = sys.argv[4] if len(sys.argv) > 4 else None
first = os.environ.get("GPUBPF_TEST_OPENCL", "Portable")
intel = os.environ.get("GPUBPF_TEST_INTEL", "")
work = tempfile.TemporaryDirectory()
count = failed = 0


def tap(good, text, *why):
    global count, failed
    count += 1
    failed |= not good
    print(f"{'ok' if good else 'not ok'} {count} - {text}", flush=True)
    for line in why if not good else ():
        print("# " + str(line).strip().replace("\n", "\n# "))


def skip(text, why):
    global count
    count += 1
    print(f"ok {count} - {text} # SKIP {why}", flush=True)


def environment(vendors):
    env = dict(os.environ, XDG_CACHE_HOME=work.name, XDG_RUNTIME_DIR=work.name)
    if fake:
        env["LD_LIBRARY_PATH"] = fake
    if vendors: # a folder: the loader takes all that are named there
        env["OCL_ICD_VENDORS"] = vendors
    return env


def check(name, runtimes, backends, options=(), vendors=None, probed=None):
    """`probed`: those of the backends whose kernels are; all without it."""
    env = environment(vendors)
    command = [app, str(ROUNDS)] + runtimes
    native = subprocess.run(command, env=env, capture_output=True, timeout=120)
    if native.returncode == 77:
        skip(name, native.stderr.decode().strip())
        return
    report = os.path.join(work.name, "report")
    run = subprocess.run([gpubpf, "run", "-j", "-r", report, "--wait", "1200", "-o", obj, *options, "--"] + command, env=env,
                         capture_output=True, timeout=1500)
    tap((native.returncode, native.stdout) == (run.returncode, run.stdout) and not run.returncode,
        f"{name}: output and status as without probes", native, run)
    with open(report, encoding="utf-8") as f:
        r = json.load(f)
    launches = {b: backends.count(b) * ROUNDS for b in backends}
    got = {k["backend"]: (k["launches"], k["probed"]) for k in r["kernels"]}
    want = {b: (n, n if probed is None or b in probed else 0) for b, n in launches.items()
            if probed is None or b in probed}
    tap(got == want, f"{name}: every launch is counted where it was made", want, r["kernels"], run.stderr.decode())
    counted = sum(int(e["value"]) for e in r["maps"][0]["entries"])
    tap(counted == THREADS * sum(n for _, n in want.values()), f"{name}: one map has the threads of all", counted)
    tap(sorted(d["backend"] for d in r["device_list"]) == sorted(b for b in backends if b in want) and
        r["processes"] == 1, f"{name}: one process, its devices named with their runtimes", r["device_list"])


def both_vendors():
    """A folder that names PoCL and Intel's runtime."""
    folder = os.path.join(work.name, "vendors")
    os.mkdir(folder)
    for name in os.listdir("/etc/OpenCL/vendors"):
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
if not fake:
    pass
elif os.path.exists(intel):
    vendors = both_vendors()
    check("OpenCL on two drivers", [first, "Intel(R) OpenCL"], ["opencl", "opencl"], vendors=vendors)
    check("OpenCL on two drivers, and CUDA", [first, "cuda", "Intel(R) OpenCL"], ["opencl", "cuda", "opencl"], vendors=vendors)
else:
    skip("OpenCL on two drivers", "GPUBPF_TEST_INTEL names no libintelocl.so")
print(f"1..{count}")
sys.exit(failed)
