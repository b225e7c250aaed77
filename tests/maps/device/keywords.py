#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""keywords.py EXPAND DEVLIB: the script that writes the device library as one text must refuse names that are keywords
of OpenCL C. clang-22 crashes for some of them. Prints TAP."""
import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from tap import ok, plan

expand, devlib = sys.argv[1:3]
WRONG = {
    "kernel": ["u64 f(const u64 kernel[4], u32 n)\n{\n\treturn kernel[n];\n}", "u64 f(u64 kernel, u32 n);", "u64 f(u32 n, u64 kernel)\n{\n\treturn n;\n}",
               "u64 f(__global u64 *kernel);", "struct x { u64 kernel; };", "u64 g(struct x *a)\n{\n\treturn a->kernel->n;\n}"],
    "global": ["u64 f(u64 global);"], "local": ["void f(void) { u32 local = 1; }"], "pipe": ["u64 f(u64 pipe, u64 n);"],
}
RIGHT = ["u64 f(u64 kernel_id, u32 n);", "u64 f(global u64 *to, local const u64 *of);", "/* a kernel, */ u64 f(u64 the_kernel);",
         "kernel void f(global u64 *to);"]


def expanded(text, folder):
    """Returns the script's exit status and messages for this text."""
    with open(f"{folder}/in.cl", "w", encoding="ascii") as file:
        file.write(text + "\n")
    run = subprocess.run([expand, f"{folder}/in.cl", f"{folder}/out.cl", f"{folder}/out.c"], capture_output=True, text=True, check=False)
    return run.returncode, run.stderr


with tempfile.TemporaryDirectory() as work:
    for name, texts in WRONG.items():
        for text in texts:
            status, said = expanded(text, work)
            ok(status == 1 and f"in.cl: the name `{name}` is a keyword of OpenCL C" in said, f"refused: {text!r}", status, said)
    for text in RIGHT:
        status, said = expanded(text, work)
        ok(status == 0 and not said, f"allowed: {text!r}", status, said)
    status = subprocess.run([expand, devlib, f"{work}/out.cl", f"{work}/out.c"], check=False).returncode
    ok(status == 0, "the device library has no such name")
plan()
