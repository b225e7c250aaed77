#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""session.py BUILD DRIVER BASIC LATE NEWER POINTERS FLAGS REACHES: tests the tool with Level Zero programs on the fake
driver. Prints TAP. Tests the lists that the tool prints, what the driver sees if nothing is attached, a command list
that was recorded before an attach, functions of newer loaders, memory that twins may reach, and flags that relax
arithmetic."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
from tap import ok, plan, skip_all

build, driver, basic, late, newer, pointers, flags, reaches = (os.path.abspath(path) for path in sys.argv[1:9])
icd = os.environ.get("GPUBPF_TEST_INTEL", "")
if not os.path.exists(icd):
    skip_all("Intel's CPU runtime: GPUBPF_TEST_INTEL names no libintelocl.so")
where = tempfile.TemporaryDirectory()
env = dict(os.environ, OCL_ICD_VENDORS=icd, ZE_ENABLE_ALT_DRIVERS=driver, XDG_CACHE_HOME=where.name)
tool, modules, report = f"{build}/gpubpf", f"{build}/tests/backends/spirv/level_zero", f"{where.name}/report.json"
run = [tool, "run", "-j", "-b", "level_zero", "-r", report, "-o", f"{build}/tests/real/count.bpf.o"]
unattached = ["-a", "entered=none", "-a", "left=none"]


def start(command, **more):
    p = subprocess.run(command, env=dict(env, **more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def kernels():
    with open(report, encoding="utf-8") as f:
        return {k["name"]: k for k in json.load(f)["kernels"]}


def seen(command, name):
    """Returns the text that the driver logged."""
    log = f"{where.name}/{name}"
    status = start(command, GPUBPF_FAKE_ZE_LOG=log)
    with open(log, encoding="utf-8") as f:
        return status[:2], f.read(), status


devices = start([tool, "device", "list", "-j"])
ok("a CPU as a Level Zero device 1" in devices[1], "device list has both devices of the driver", devices)
listed = start([tool, "kernel", "list", "-j", "-r", report, "--", basic, modules], GPUBPF_BACKEND="level_zero")
ok(listed[0] == 0 and {n: k["reason"] for n, k in kernels().items()} == {"scale": "", "add": ""},
   "kernel list has both kernels of a command list, which could be probed", listed, kernels())
native, probed = seen([basic, modules], "native"), seen(run + unattached + ["--", basic, modules], "unattached")
ok(native[:2] == probed[:2] and native[1], "nothing attached: the driver is given what the program gives", native, probed)
k = kernels()
ok(k["scale"]["launches"] == 20 and not k["scale"]["probed"], "nothing attached: launches are counted", k)
twin = f"{where.name}/twin-is-made"
attach = (f"{tool} session attach 'entered=scale' 'left=scale' && {{ (until {tool} session report -j | "
          f"grep -Eq '\"probed\": *[1-9]'; do sleep 0.1; done; touch {twin}) </dev/null >/dev/null 2>&1 & }}")
status = start(run + unattached + ["--", late, modules, attach, twin])
k = kernels().get("scale", {})
missed = k.get("missed_by", {})
ok(status[0] == 0 and k.get("probed", 0) >= 5 and k.get("launches") == k.get("probed") + k.get("missed") and
   missed.keys() == {"not_attached", "unsupported"} and missed["not_attached"] == 2 and missed["unsupported"] >= 3,
   "attached to later: probed from a recording after the twin is made", k, status)
ok("recorded in a command list" in (k.get("reason") or ""), "and the report says so", k)

native, probed = start([basic, modules]), start(run + ["--", basic, modules], GPUBPF_FAKE_ZE="device", GPUBPF_FAKE_ZE_MEMORY=str(1 << 17))
k = kernels()["scale"]
ok(native[0] == 0 and native[:2] == probed[:2] and not k["probed"] and "more than half of the 0.1 MiB that the device has" in k["reason"],
   "a device that has little memory: maps are refused, with both figures, and the program runs as it was", native, probed, k)

native, probed = start([newer, modules, "mixed"]), start(run + ["--", newer, modules, "mixed"])
k = kernels()["scale"]
ok(native[0] == 0 and native[:2] == probed[:2], "launches that bring arguments, and plain ones: as without probes", native, probed)
ok(k["launches"] == 4 and k["probed"] == 2 and "its twin cannot get these argument values" in probed[2],
   "a plain launch with the last one's arguments is the original's, and said so", k, probed)
native, probed = (start(before + [newer, modules, "direct"], GPUBPF_FAKE_ZE_HANDLES="1") for before in ([], run + ["--"]))
ok(native[0] == 0 and native[:2] == probed[:2] and kernels().get("scale", {}).get("probed") == 1,
   "a loader that calls by the tables of handles", native, probed, kernels())

native, probed = ([line for line in seen(before + [pointers, modules], name)[1].splitlines() if line.startswith("indirect")]
                  for before, name in (([], "reach"), (run + ["--"], "reached")))
ok(native == ["indirect 7"] * 3 == probed, "zeKernelSetIndirectAccess: twins may reach what the kernel may when it is launched", native, probed)
reading = [reaches if word.endswith(".o") else word for word in run]
status = start(reading + ["--", pointers, modules])
with open(report, encoding="utf-8") as f:
    read = [e["value"] for m in json.load(f)["maps"] if m["name"] == "reached" for e in m["entries"]]
ok(status[0] == 0 and read == [777], "what probes read of the application's memory, their twin may reach", read, status)
inside = [f"{build}/tests/backends/spirv/opencl/places-some.bpf.o" if word.endswith(".o") else word for word in run]
native, probed = start([flags, modules, "relaxed"]), start(inside + ["--", flags, modules, "relaxed"])
k = kernels()["halves"]
ok(native[0] == 0 and native[:2] == probed[:2] and not k["probed"] and "relaxed arithmetic" in k["reason"],
   "flags that relax arithmetic: places of instructions are refused by name", native, probed, k)
plan()
