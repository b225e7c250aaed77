#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lines.py PLACES CLANG: checks the source line and the free registers of each place in machine code. Prints TAP."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from tap import ok, plan, skip

places, clang = sys.argv[1:]
source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lines_kernels.c")
ptxas = os.environ.get("GPUBPF_TEST_PTXAS") or shutil.which("ptxas")


def made(*command):
    p = subprocess.run(command, capture_output=True, text=True, check=False)
    if p.returncode:
        print("# " + p.stderr.replace("\n", "\n# "))
    return not p.returncode


def listed(target, arch, kind, path):
    p = subprocess.run([places, target, arch, kind, path], capture_output=True, text=True, check=False)
    # the other gpu/mem* kinds have the same places
    of = [line for line in p.stdout.splitlines() if line.split()[1] in ("entry", "exit", "mem")]
    return of or [f"{p.stderr.strip()} 0"]


def expected_lines(target, known):
    """Returns the expected places in the output format of PLACES. The line is 0 if the code has no line table."""
    lines = []
    with open(source, encoding="utf-8") as f:
        for number, text in enumerate(f, 1):
            lines += [f"{what} {number if known else 0}" for what in re.findall(target + r" (\w+ \w+ \d+)", text)]
    return lines


def check(target, arch, kind, path, known):
    want, places_ = expected_lines(target, known), [line.rsplit(" ", 1) for line in listed(target, arch, kind, path)]
    got = [where for where, _ in places_]
    ok(all(int(free) == 255 if "entry" in where else 200 < int(free) < 255 for where, free in places_),
       f"{target} {arch}, free registers", places_)
    ok(len(want) > 3 and sorted(want) == sorted(got), f"{target} {arch}, lines {'known' if known else 'not known'}",
       f"wanted {want}\ngot {got}")


with tempfile.TemporaryDirectory() as folder:
    object_, text, cubin = (os.path.join(folder, name) for name in ("object", "text", "cubin"))
    for gfx in ("gfx90a", "gfx1100"):
        for debug in ("-g", "-gdwarf-4", "-g0"):
            if made(clang, "--target=amdgcn-amd-amdhsa", "-mcpu=" + gfx, debug, "-O1", "-nogpulib", source, "-o", object_):
                check("amdgpu", gfx, "object", object_, debug != "-g0")
            else:
                ok(False, f"{gfx} {debug} compiles")
    for sm in ("sm_80", "sm_90", "sm_100"):
        for debug in ("-gline-tables-only", "-g0"):
            if not ptxas:
                skip(f"sass {sm}", "ptxas is not installed")
            elif made(clang, "--target=nvptx64-nvidia-cuda", "-march=sm_75", "-Xclang", "-target-feature", "-Xclang", "+ptx63", debug, "-O1", "-S", source, "-o", text) and \
                    made(ptxas, "-arch=" + sm, "-lineinfo", text, "-o", cubin):
                check("sass", sm, "cubin", cubin, debug != "-g0")
            else:
                ok(False, f"{sm} {debug} compiles")
plan()
