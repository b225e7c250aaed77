#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""loaded.py BUILD LIBRARY: an application must not choose a library that gpubpf-build loads. Prints TAP.

The library (loaded.c) records the processes that load it. The application names it as an OpenCL driver and as a plugin
of the runtime's compiler. The tool's own environment does not name it, except in the first run, which shows that a driver in
the tool's environment is loaded."""
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
from tap import ok, plan, skip_all

build, library = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
icd = (glob.glob("/etc/OpenCL/vendors/pocl*.icd") or [""])[0]
if not icd:
    skip_all("PoCL is not installed")
with tempfile.TemporaryDirectory() as work:
    both, loaded, report = f"{work}/vendors", f"{work}/loaded", f"{work}/report"
    os.mkdir(both)
    os.symlink(icd, f"{both}/pocl.icd")
    with open(f"{both}/other.icd", "w", encoding="utf-8") as file:
        file.write(f"{library}\n")

    def probe(*variables, tool=icd):
        """Runs an application with these variables. Returns its kernel's row of the report, and who loaded the library."""
        open(loaded, "w", encoding="utf-8").close()
        env = dict(os.environ, OCL_ICD_VENDORS=tool, XDG_CACHE_HOME=work, XDG_RUNTIME_DIR=work, GPUBPF_TEST_LOADED=loaded, POCL_KERNEL_CACHE="0")
        command = [f"{build}/gpubpf", "run", "--no-cache", "-j", "-r", report, "-o", f"{build}/tests/cli/probe.bpf.o", "--", "env", *variables,
                   f"{build}/tests/cli/loop", "1", "0"]
        run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
        with open(report, encoding="utf-8") as file:
            kernels = json.load(file)["kernels"]
        with open(loaded, encoding="utf-8") as file:
            return kernels[0] if kernels else {"probed": 0, "reason": run.stderr}, set(file.read().split())

    kernel, who = probe(tool=both)
    ok(kernel["probed"] == 1 and "gpubpf-build" in who, "gpubpf-build loads a driver that the tool's environment names", kernel, who)
    kernel, who = probe(f"OCL_ICD_VENDORS={both}")
    ok(kernel["probed"] == 1, "an application with another OCL_ICD_VENDORS is probed", kernel)
    ok("loop" in who and "gpubpf-build" not in who, "only the application loads its driver", who)
    kernel, who = probe(f"CL_CONFIG_LLVM_OPTIONS=-load={library}") # PoCL ignores the variable of Intel's runtime
    ok(kernel["probed"] == 0 and "CL_CONFIG_LLVM_OPTIONS to options that could load code" in kernel["reason"], "gpubpf-build refuses a plugin", kernel)
    ok("gpubpf-build" not in who, "and does not load it", who)
plan()
