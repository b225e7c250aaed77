#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""order.py GENERATE BUILD [long]: generated traces keep the rules of Perfetto, and need little memory. Prints TAP."""
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
import chrome
import pftrace
from tap import ok, plan, skip_all

generate, build = sys.argv[1:3]
messages = pftrace.import_messages(build)
if not messages:
    skip_all("the Python package perfetto is not installed; ci/deps test installs it")
scratch = tempfile.TemporaryDirectory()


def run(path, spans, seed, *more):
    p = subprocess.run([generate, path, str(spans), str(seed), *more], capture_output=True, text=True, check=False)
    return p.returncode, {k: int(v) for k, v in re.findall(r"(\w+) (-?\d+)", p.stdout)}, p.stderr


def generated(seed, *more):
    path = os.path.join(scratch.name, "trace.pftrace")
    rc, counts, err = run(path, 30000, seed, *more)
    ok(rc == 0 and counts["spans"] >= 30000, f"seed {seed}{' late' * bool(more)}: all spans are written", rc, counts, err)
    trace = pftrace.Trace(messages, path)
    ok(not trace.errors, "the trace keeps the rules", *trace.errors)
    ok(len(trace.spans) == counts["spans"] and all(s.end is not None for s in trace.spans), "each span has an end",
       len(trace.spans))
    return trace, counts


for seed in range(1, 5):
    trace, counts = generated(seed)
    kernels = [s for s in trace.spans if s.category == ["kernel"]]
    ok(len(trace.flows) == counts["flows"] == len(kernels) and counts["unended"] == 0 and counts["late"] == 0,
       "each kernel has a flow from its call", len(trace.flows), counts)
    ok(all(s.name == "step_one" and not s.depth for s in kernels), "kernels of a queue do not nest")
    ok(all(a.name == "clEnqueueNDRangeKernel" and a.args["kernel"] == "step_one" and a.args["result"] == 0
           for a, b in trace.flows), "flows begin at the calls, which name the kernel")
    inner = [s for s in trace.spans if s.name == "clEnqueueNDRangeKernel"]
    ok(all(s.depth == 1 for s in inner), "calls nest as they did", len([s for s in inner if s.depth != 1]))
    ok(len(trace.tracks) == 1 + 8 + 3 + 1, "spans that nest need no more lanes", len(trace.tracks))
    ok({1, 3, 6} <= set(trace.clocks), "the trace has the clocks", trace.clocks)
    ok(sum(map(len, trace.counters.values())) > 100, "the trace has the counter's values")
trace, counts = generated(9, "late")
ok(counts["late"] > 100 and len(trace.tracks) > 13, "late spans get lanes of their own", counts, len(trace.tracks))

path = os.path.join(scratch.name, "ring.pftrace")
for seed in range(1, 4):
    rc, counts, err = run(path, 100000 + 5000 * seed, seed, "ring")
    ring = pftrace.Trace(messages, path)
    ok(rc == 0 and not ring.errors, "a ring keeps the rules", rc, err, *ring.errors)
    ok(1 << 19 < counts["bytes"] == os.path.getsize(path) < 5 << 18, "it has the newest MiB", counts)
    ok(len(ring.flows) > 1000 and all(s.end is not None for s in ring.spans), "its spans are complete", len(ring.flows))
    numbers = sorted(s.args["launch"] for s in ring.spans if s.name == "step_one" and "launch" in s.args)
    ok(numbers[-1] == max(numbers) and len(numbers) > 0.99 * (numbers[-1] - numbers[0]) and
       counts["spans"] // 3 - 2 <= numbers[-1], "no span is missing in between", numbers[0], numbers[-1], len(numbers))

path = os.path.join(scratch.name, "trace.json")
rc, counts, err = run(path, 30000, 5, "chrome")
with open(path, encoding="utf-8") as f:
    trace = chrome.Trace(json.load(f))
ok(rc == 0 and not trace.errors, "the JSON keeps the rules of Chrome's format", rc, *trace.errors)
ok(len(trace.spans) == counts["spans"] and len(trace.flows) == counts["flows"] == counts["spans"] // 3,
   "it has all spans and flows", len(trace.spans), len(trace.flows), counts)
ok(all(a["name"] == "clEnqueueNDRangeKernel" and a["args"]["kernel"] == b["name"] == "step_one" for a, b in trace.flows),
   "flows lead from calls to kernels")

svg = os.path.join(scratch.name, "picture.svg")
rc, counts, err = run(os.path.join(scratch.name, "trace.pftrace"), 30000, 6, svg)
root = xml.etree.ElementTree.parse(svg).getroot()
texts = ["".join(e.itertext()) for e in root.iter("{http://www.w3.org/2000/svg}text")]
bars = [e for e in root.iter("{http://www.w3.org/2000/svg}rect") if e.get("fill", "").startswith("hsl")]
ok(rc == 0 and texts.count("worker") == 8 and texts.count("queue") == 3, "the picture has a row per track", rc, err)
ok(all(220 <= float(b.get("x")) and float(b.get("x")) + float(b.get("width")) <= 1600.01 for b in bars) and
   10 < len(bars) < 30000, "bars are inside the picture", len(bars))
ok({"step_one", "clFinish"} <= {t.split(":")[0] for t in texts} | {"".join(e.itertext()).split(":")[0] for e in
   root.iter("{http://www.w3.org/2000/svg}title")}, "bars have names")

if sys.argv[3:] == ["long"]:
    rc, counts, err = run("/dev/null", 10_000_000, 1)
    ok(rc == 0 and counts["spans"] >= 10_000_000 and counts["unended"] == 0, "10 million spans", rc, counts, err)
    ok(counts["kib"] <= 200 << 10, "need at most 200 MB of memory", counts)
plan()
