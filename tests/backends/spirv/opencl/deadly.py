#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deadly.py BUILD CASE: a vendor's compiler crashes on the twin of one kernel. Only this kernel may stay unprobed.
The session caches the refusal; the disk does not. Prints TAP."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
from tap import ok, plan, skip, skip_all

build, case = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
app = [f"{build}/tests/backends/spirv/opencl/cl-case", os.path.basename(case)]
env = dict(os.environ)


def run(*command):
    return subprocess.run(command, cwd=os.path.dirname(case), env=env, capture_output=True, text=True, timeout=600, check=False)


with tempfile.TemporaryDirectory() as folder:
    env["XDG_CACHE_HOME"], report = folder, f"{folder}/report"
    native = run(*app)
    if native.returncode:
        skip_all(f"the case does not run here: {native.stderr}")
    command = ["run", "--wait", "600", "-j", "-r", report, "-e", "gpu/block_end/* { @[kernel] = count(); }", "--", "sh", "-c", '"$@"; "$@"', "sh", *app]
    for session in ("first", "second"):
        tool = run(f"{build}/gpubpf", *command)
        ok(tool.returncode == 0 and tool.stdout == 2 * native.stdout, f"{session} session: the output is the program's own", native.stdout, tool.stdout,
           tool.stderr)
        with open(report, encoding="utf-8") as f:
            document = json.load(f)
        kernels = {k["name"]: k for k in document["kernels"]}
        if not kernels["deadly"]["missed"]:
            skip("a deadly twin", "this compiler does not die of it")
            plan()
            sys.exit(0)
        built = document["cost"]["twins"], document["cost"]["cached"]
        ok(built == (1, 1), f"{session} session: the twins are built for the first of two processes", document["cost"])
    ok("the vendor's compiler crashed on its twin: " in kernels["deadly"]["reason"], "the deadly kernel is refused", kernels["deadly"])
    ok(kernels["deadly"]["missed_by"] == {"refused": 2}, "and its launches are missed for that reason", kernels["deadly"])
    ok(kernels["harmless"]["probed"] == 2 and not kernels["harmless"]["reason"], "the other one is probed", kernels["harmless"])
    values = {e["key"]: e["value"] for m in document["maps"] for e in m["entries"]}
    ok(values == {"harmless": 16}, "and counts its blocks", values)
plan()
