#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cost.py BUILD DRIVER APP: measures the nanoseconds that the agent adds to a launch, with the fake driver, whose
launches do nothing. Prints TAP. The test takes the median of paired runs. The limit is 200 ns if nothing is attached to
the kernel."""
import os
import statistics
import subprocess
import sys

build, driver, app = (os.path.abspath(path) for path in sys.argv[1:])
icd = os.environ.get("GPUBPF_TEST_INTEL", "")
if not os.path.exists(icd):
    print("1..0 # SKIP Intel's CPU runtime: GPUBPF_TEST_INTEL names no libintelocl.so")
    sys.exit(0)
env = dict(os.environ, OCL_ICD_VENDORS=icd, ZE_ENABLE_ALT_DRIVERS=driver, GPUBPF_FAKE_ZE_LAUNCHES="none")
command = [app, f"{build}/tests/backends/spirv/level_zero"]
run = [f"{build}/gpubpf", "run", "-q", "-o", f"{build}/tests/real/count.bpf.o"]
ways = {"bare": [], "idle": run + ["-a", "entered=none", "-a", "left=none", "--"], "probed": run + ["--"]}
took = {way: [] for way in ways}
for _ in range(5):
    for way, before in ways.items():
        out = subprocess.run(before + command, env=env, stdout=subprocess.PIPE, timeout=300, check=True).stdout.split()
        took[way].append([float(out[0]), float(out[1])])
added = {way: [statistics.median(t[i] - b[i] for t, b in zip(took[way], took["bare"])) for i in (0, 1)] for way in ways}
print("# the driver's own: %.0f ns a launch, %.0f with an argument" % tuple(statistics.median(t) for t in zip(*took["bare"])))
print("# nothing attached: %.0f ns more, %.0f with an argument" % tuple(added["idle"]))
print("# a twin: %.0f ns more, %.0f with an argument" % tuple(added["probed"]))
print(("ok" if added["idle"][0] <= 200 else "not ok") + " 1 - nothing attached: at most 200 ns a launch")
print("1..1")
sys.exit(added["idle"][0] > 200)
