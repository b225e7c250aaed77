#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""changed.py BUILD DEVICE: changes the settings of the example cxlmem on a device (pocl, intel) between launches of a
kernel. Later accesses must wait as long as the new settings say. The test compares the waits that the example
requested, so that other load on the machine does not matter. The same file also runs inside the session, with only
the folder as argument, and prints its observations as JSON."""
import glob
import json
import os
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import ok, plan, skip_all

FIRST, THEN, LAST = 100000, 1000000, 1 # ns
build = sys.argv[1]
gpubpf = os.path.join(build, "gpubpf")


def waited():
    """Returns the number of accesses and the nanoseconds of their waits so far."""
    told = json.loads(subprocess.run([gpubpf, "map", "dump", "-j", "far"], check=True, capture_output=True).stdout)
    return [sum(e["value"][k] for e in told["maps"][0]["entries"]) for k in ("accesses", "waited")]


def an_access(latency, than, program):
    """Sets the latency, lets the application make at least `than` more accesses, and returns their mean wait in ns."""
    subprocess.run([gpubpf, "map", "update", "settings", "key", "0", "value", f".latency={latency}"], check=True)
    before = waited()
    while program.poll() is None and waited()[0] < before[0] + than:
        time.sleep(0.02)
    after = waited()
    return (after[1] - before[1]) / (after[0] - before[0] or 1)


def inside():
    subprocess.run([gpubpf, "map", "update", "settings", "key", "0", "value", f".latency={FIRST}"], check=True)
    with subprocess.Popen([os.path.join(build, "examples/cxlmem/workload")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
        seen = [an_access(FIRST, 1000, program), an_access(THEN, 1000, program), an_access(LAST, 20000, program)]
        program.wait()
    print(json.dumps(seen))


if len(sys.argv) < 3:
    inside()
    sys.exit()
device = sys.argv[2]
icds = [os.environ.get("GPUBPF_TEST_INTEL", "")] if device == "intel" else glob.glob("/etc/OpenCL/vendors/pocl*.icd")
if not icds or not os.path.exists(icds[0]):
    skip_all(f"no OpenCL runtime of {device} here")
run = subprocess.run([gpubpf, "run", "--wait", "240", "--report", os.devnull, "-o", f"{build}/examples/cxlmem/cxlmem.bpf.o", "--",
                      sys.executable, __file__, build], capture_output=True, text=True, check=False, env={**os.environ, "OCL_ICD_VENDORS": icds[0]})
ok(not run.returncode and run.stdout, f"cxlmem on {device} ran", run.stderr)
first, then, last = json.loads(run.stdout or "[0, 0, 0]")
ok(.9 * FIRST < first < .9 * THEN, f"an access waits {FIRST} ns or more", first)
ok(then > .9 * THEN, f"and {THEN} once the map says so, in launches of the same kernel", then)
ok(0 < last < FIRST / 10, "and no longer when it says that none does", last)
plan()
