#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sycl.py BUILD DRIVER LATER PROGRAM: runs a SYCL program on the fake driver. Prints TAP; see tests/probing.py.
GPUBPF_TEST_SYCL names a Python interpreter that has dpctl or dpnp. Without it, ci/deps sycl must have installed one.
Intel's Level Zero adapter calls loader functions that exist since version 1.9. If the system's loader is older, LATER
is loaded before it (loader/later.c), unless GPUBPF_TEST_ZE_LOADER names the folder of a libze_loader.so.1."""
import ctypes
import json
import os
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
from probing import Prober, read_launches
from tap import skip_all

build, driver, later, program = (os.path.abspath(path) for path in sys.argv[1:5])
icd, loader = os.environ.get("GPUBPF_TEST_INTEL", ""), os.environ.get("GPUBPF_TEST_ZE_LOADER", "")
python = os.environ.get("GPUBPF_TEST_SYCL") or f"{build}/deps/sycl/bin/python"
if not os.path.exists(python):
    skip_all("GPUBPF_TEST_SYCL names no Python that has dpctl or dpnp, and ci/deps sycl was not run")
if not os.path.exists(icd):
    skip_all("Intel's CPU runtime: GPUBPF_TEST_INTEL names no libintelocl.so")
try:
    system = ctypes.CDLL(os.path.join(loader, "libze_loader.so.1"))
except OSError as e:
    skip_all(f"a Level Zero loader: {e}")
names = tempfile.TemporaryDirectory()
if not loader and not hasattr(system, "zeDeviceGetRootDevice"):
    with open("/proc/self/maps", encoding="utf-8") as f:
        os.symlink(next(line.split()[-1] for line in f if "libze_loader.so" in line), f"{names.name}/libze_system.so.1")
    os.symlink(later, f"{names.name}/libze_loader.so.1")
    loader = names.name
prober = Prober(build, "Level Zero", dict(os.environ, OCL_ICD_VENDORS=icd, OCL_ICD_FILENAMES=icd, ZE_ENABLE_ALT_DRIVERS=driver,
                                         ONEAPI_DEVICE_SELECTOR="level_zero:gpu",
                                         LD_LIBRARY_PATH=os.path.dirname(icd) + (loader and ":" + loader)))
log, report, command = f"{prober.cache.name}/log", f"{prober.cache.name}/report.json", [python, "-I", program]
prober.env["GPUBPF_FAKE_ZE_LOG"] = log
native = prober.run(command)
del prober.env["GPUBPF_FAKE_ZE_LOG"]
probed = prober.probe(report, [f"{build}/tests/real/count.bpf.o"], command)
prober.tap(native[:2] == probed[:2] and native[0] == 0 and b"level_zero" in native[1], "SYCL by Level Zero: output as without probes",
           native, probed)
try:
    with open(log, "rb") as launched, open(report, encoding="utf-8") as told:
        prober.compare("sycl", read_launches(launched.read()), json.load(told), probed[2])
except (OSError, ValueError) as e:
    prober.tap(False, "SYCL by Level Zero: launches and a report", e)
prober.plan()
