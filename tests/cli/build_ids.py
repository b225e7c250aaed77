#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""build_ids.py SOURCE-ROOT BUILD-ROOT: tests STACK_TRACE maps with BPF_F_STACK_BUILD_ID. The build ids in the stacks
must equal the build ids that readelf prints. Prints TAP."""
import glob
import os
import re
import struct
import subprocess
import sys
import tempfile

root, build = (os.path.abspath(a) for a in sys.argv[1:3])
sys.path.insert(0, os.path.join(root, "python"))
sys.path.append(os.path.join(root, "tests"))
import gpubpf  # noqa: E402
from tap import ok, plan, skip  # noqa: E402

loop = os.path.join(build, "tests/cli/loop")
icds = glob.glob("/etc/OpenCL/vendors/pocl*.icd")
if not icds or not os.path.exists(loop):
    skip("build ids", "no OpenCL device")
    plan()
os.environ["OCL_ICD_VENDORS"] = icds[0]
notes = subprocess.run(["readelf", "-n", loop], capture_output=True, text=True).stdout
build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)
if not build_id:
    skip("build ids", "the linker gave the workload none")
    plan()
scratch = tempfile.TemporaryDirectory()
with gpubpf.Session([os.path.join(build, "tests/cli/build_ids.bpf.o")], library=os.path.join(build, "libgpubpf.so"),
                    runtime_dir=os.path.join(scratch.name, "run")) as session:
    status = session.run([loop, "2", "0"], stdout=subprocess.DEVNULL)
    session.stop()
    values = [v for _, v in session.maps["stacks"].raw.items()]
    seen = len(session.maps["ids"])
frames = [f for f in struct.iter_unpack("=i20sQ", values[0])] if values else []
ok(status == 42 and len(values) == seen == 1, "a stack", (status, values, seen))
main = [offset for state, name, offset in frames if state == 1 and name.hex() == build_id[1].ljust(40, "0")]
symbols = subprocess.run(["nm", "-S", loop], capture_output=True, text=True).stdout
at, size = (int(n, 16) for n in re.search(r"^(\w+) (\w+) T main$", symbols, re.M).groups())
loads = re.findall(r"LOAD +0x(\w+) 0x(\w+) 0x\w+\s+0x(\w+)", subprocess.run(["readelf", "-lW", loop], capture_output=True, text=True).stdout)
at -= next(int(v, 16) - int(o, 16) for o, v, n in loads if int(v, 16) <= at < int(v, 16) + int(n, 16))
ok(any(at < offset <= at + size for offset in main), "in main() of the program, by its build id and the offset in its file", (main, at, size, frames))
ok(all(state in (0, 1, 2) for state, _, _ in frames) and {state for state, _, _ in frames} >= {0, 1}, "others too, and none behind them")
ok(all(not any(name) and not offset for state, name, offset in frames if not state), "which are zeros")
plan()
