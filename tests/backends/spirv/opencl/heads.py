#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""heads.py BUILD pocl|intel CASE: tests BPF programs with loops at places in the headers of a kernel's loops. Prints TAP.
The case runs natively and with each of the programs below. Its kernels must write the same output, and each program
must count the number that the case states in its lines
    //@ counted: @NAME[KERNEL, ...]: N
A kernel without places for a program is no failure; if no kernel has a place, a line says so."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
from tap import ok, plan, skip_all

build, device, case = os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])
PROGRAMS = {
    "branch": "gpu/branch/* { @branch[kernel, line] = count(); }",
    "mem": "gpu/mem/* { @mem[kernel, line] = count(); }",
    "shared": "gpu/mem.shared/* { @shared[kernel, line] = count(); }",
    "end": "gpu/block_end/* { @end[kernel, gdim] = count(); }",
}


def run(command):
    return subprocess.run(command, cwd=os.path.dirname(case), env=env, capture_output=True, text=True, timeout=600, check=False)


env = dict(os.environ)
if device == "intel":
    env["OCL_ICD_VENDORS"] = os.environ.get("GPUBPF_TEST_INTEL", "")
    if not os.path.exists(env["OCL_ICD_VENDORS"]):
        skip_all("Intel's CPU runtime: GPUBPF_TEST_INTEL names no libintelocl.so")
with open(case, encoding="utf-8") as f:
    wanted = re.findall(r"^//@ counted: (@(\w+)\[.*)$", f.read(), re.M)
app = [f"{build}/tests/backends/spirv/opencl/cl-case", os.path.basename(case)]
with tempfile.TemporaryDirectory() as folder:
    env["XDG_CACHE_HOME"] = folder
    native = run(app)
    ok(native.returncode == 0 and native.stdout, "it runs", native.stderr)
    for name, program in PROGRAMS.items():
        tool = run([f"{build}/gpubpf", "run", "--wait", "600", "-e", program, "--", *app])
        ok(tool.stdout == native.stdout, f"{program}: the output is the same", native.stdout, tool.stdout, tool.stderr)
        ok("not probed" not in tool.stderr, "kernels without such a place are as they were", tool.stderr)
        for line in (line for line, of in wanted if of == name):
            ok(line in tool.stderr.splitlines(), line, tool.stderr)
    tool = run([f"{build}/gpubpf", "run", "--wait", "600", "-e", "gpu/mem.const/* { @ = count(); }", "--", *app])
    ok("none of its kernels has a place gpu/mem.const/" in tool.stderr and tool.stdout == native.stdout,
       "a program that has a place in none is told of", tool.stderr)
plan()
