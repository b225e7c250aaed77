#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples.py BUILD DRIVER OBJECT...: runs all examples, and probes places within kernels, on Level Zero. Prints TAP.
The probes of the examples run together in each kernel. The output must stay the same, every launch must be probed, and
the clock must count. The programs of each tests/backends/spirv/opencl/OBJECT must count as many accesses and barriers
as the kernel's source has."""
import glob
import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
from probing import Prober

OTHERS = ["cuda-counter", "rocm-counter"] # examples for kernels in another language
LACKS = ["divergence", # this example probes branches, which are refused here with a reason
         "balance", "occupancy", # these examples read the number of the multiprocessor, which CPUs do not have
         "overlimit"] # this example arms a program: launches before the twin without that program are unprobed
OWN = ["early"]        # this example runs alone, because it ends threads of its kernel
KINDS = ["mem", "mem_before", "mem.shared", "mem.local", "mem.const", "mem.all", "mem_before.all", "atomic",
         "barrier", "barrier_exit", "block_begin"]
build, driver = (os.path.abspath(path) for path in sys.argv[1:3])
icd = os.environ.get("GPUBPF_TEST_INTEL", "")
if not os.path.exists(icd):
    print("1..0 # SKIP Intel's CPU runtime: GPUBPF_TEST_INTEL names no libintelocl.so")
    sys.exit(0)
# with many probes, Intel's CPU compiler takes minutes to vectorise; the results are the same without vectorisation
prober = Prober(build, "", dict(os.environ, OCL_ICD_VENDORS=icd, ZE_ENABLE_ALT_DRIVERS=driver, GPUBPF_FAKE_ZE="device",
                                CL_CONFIG_CPU_VECTORIZER_MODE="1"))


def probed(what, app, objects, kernels):
    """Runs the application natively and probed. Its output must be equal, and each launch of the kernels must be
    probed. Returns the report."""
    command, report = [f"{build}/tests/backends/spirv/level_zero/{app}", f"{build}/tests/backends/spirv/level_zero"], f"{prober.cache.name}/report.json"
    native, run = prober.run(command), prober.probe(report, objects, command, ["-b", "level_zero"])
    prober.tap(native[:2] == run[:2] and native[0] == 0, f"{what}: {app} as without probes", native, run)
    with open(report, encoding="utf-8") as f:
        r = json.load(f)
    ran = {k["name"]: k for k in r["kernels"]}
    prober.tap(all(ran[k]["launches"] == ran[k]["probed"] > 0 for k in kernels),
               f"{what}: every launch of {' and '.join(kernels)} was probed", ran, run[2])
    return r


examples = [o for o in sorted(glob.glob(f"{build}/examples/*/*.bpf.o")) if not any(name in o for name in OTHERS + LACKS + OWN)]
report = probed(f"{len(examples)} examples", "ze-basic", examples, ["scale", "add"])
maps = {m["name"]: m["entries"] for m in report["maps"]}


def memories(found):
    """Returns for each allocation its kind, its size, and the bytes loaded from and stored to it."""
    told = {e["key"]: e["value"] for e in found["memories"]}
    return sorted((told[e["key"]]["kind"], told[e["key"]]["size"], e["value"]["loaded"], e["value"]["stored"]) for e in found["moved"])


rows = memories(maps)
want = [(1, 16384, 0, 16384)] + 2 * [(1, 16384, 11 * 16384, 10 * 16384)] # the sum, and 10 launches of scale
prober.tap(rows == want, "ze-basic: bytes of each of its allocations", rows, want)
prober.tap(not maps["strays"] and [e["value"] for e in maps["checked"]] == [(20 * 2 + 3) * 4096], "ze-basic: no access is outside of them",
           maps["strays"], maps["checked"])
prober.tap(len(examples) > 10 and report.get("clock_error_ns", 0) > 0, "the clock was related to the host's", report)

report = probed("membw", "ze-pointers", [f"{build}/examples/membw/membw.bpf.o"], ["walk"])
nodes = [(kind, loaded / (128 * 12)) for kind, size, loaded, stored in memories({m["name"]: m["entries"] for m in report["maps"]})
         if size == 16 and not stored]
prober.tap(nodes == [(1, 3), (1, 3), (1, 4), (2, 3), (2, 3), (2, 3), (3, 3), (3, 3), (3, 3)], "ze-pointers: bytes of memory of each kind, by pointers in memory", report["maps"])

# ze-settles: 40 launches of blocks of 64. A block runs until two launches after the last change in it or next to it. The
#     numbers of a room change as often as their distance from its end.
rounds, walls, at, far, moves = 40, [], 0, 0, [0] * 34
for i in range(2048):
    walls.append(at == 0)
    at = at + 1 if at < 8 + i // 128 else 0
for i in reversed(range(2048)):
    far = 0 if i == 2047 or walls[i] or walls[i + 1] else far + 1
    moves[i // 64 + 1] = max(moves[i // 64 + 1], far)
ran = 64 * sum(min(rounds, max(moves[b - 1:b + 2]) + 2) for b in range(1, 33))
report = probed("early", "ze-settles", [f"{build}/examples/early/early.bpf.o"], ["relax"])
threads = [e["value"] for m in report["maps"] if m["name"] == "threads" for e in m["entries"]]
prober.tap(threads == [{"ran": ran, "settled": rounds * 2048 - ran, "stopped": 0}],
           f"ze-settles: of {rounds * 2048} threads {rounds * 2048 - ran} end at their entry", threads, ran)

# kernel `totals` of kernels.cl, in groups of 8, 16, 32 and 64 of 512 threads: log2(group) rounds with a barrier each. In each
#     round half of the threads of the previous round read two words and write one; the first thread writes the sum.
totals = {"mem": 0, "mem.shared": 0, "barrier": 0}
for group in (8, 16, 32, 64):
    rounds = group.bit_length() - 1
    totals["mem"] += 512 + 512 // group
    totals["mem.shared"] += 512 + 512 // group * (3 * (group - 1) + 1)
    totals["barrier"] += 512 * rounds
totals["barrier_exit"] = totals["barrier"]
totals["mem.all"] = totals["mem"] + totals["mem.shared"]
inside = {"mem": 2 * 2 * 512, "mem.local": 2 * 3 * 512, "mem.const": 2 * 512, "atomic": 2 * 512, "block_begin": 2 * 16} # ze-inside
inside["mem.all"] = inside["mem"] + inside["mem.local"] + inside["mem.const"]
told = {"places": ["mem", "mem_before", "mem.shared", "mem.all", "mem_before.all"], "places-some": ["mem", "mem_before", "mem.shared"],
        "places-sync": ["barrier", "barrier_exit"]}
told_inside = {"places": ["mem", "mem.local", "mem.const", "mem.all", "mem_before.all"], "places-some": ["mem", "mem_before"],
               "places-sync": ["atomic", "block_begin"]}


def check(name, app, kernel, kinds, wanted):
    report = probed(name, app, [f"{build}/tests/backends/spirv/opencl/{name}.bpf.o"], [kernel])
    names, got = {k["id"]: k["name"] for k in report["kernels"]}, {}
    for m in report["maps"]:
        for e in m["entries"]:
            at, kind = divmod(e["key"], 32)
            if names.get(at) == kernel and kind < len(KINDS):
                got[KINDS[kind]] = e["value"]["accesses"]
    for kind in kinds:
        want = wanted[kind.replace("_before", "")]
        prober.tap(got.get(kind) == want, f"{name}: kernel {kernel} at gpu/{kind}/: {want}", got)


for name in sys.argv[3:]:
    check(name, "ze-arguments", "totals", told[name], totals)
    check(name, "ze-inside", "inside", told_inside[name], inside)
prober.plan()
