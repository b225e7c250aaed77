#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""timeline.py GPUBPF APP BUILD: tests gpubpf timeline with an OpenCL application on PoCL. Prints TAP."""
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
import chrome
import pftrace
from tap import ok, plan, skip_all

gpubpf, app, build = sys.argv[1:]
icd = glob.glob("/etc/OpenCL/vendors/pocl*.icd")
messages = pftrace.import_messages(build)
if not icd or not os.access(app, os.X_OK):
    skip_all("PoCL is not installed")
if not messages:
    skip_all("the Python package perfetto is not installed; ci/deps test installs it")
scratch = tempfile.TemporaryDirectory()
for variable, folder in (("XDG_RUNTIME_DIR", "run"), ("XDG_CACHE_HOME", "cache")):
    os.environ[variable] = os.path.join(scratch.name, folder)
    os.mkdir(os.environ[variable], 0o700)
os.environ["OCL_ICD_VENDORS"] = icd[0]
os.environ.pop("GPUBPF_SESSION", None)
path = os.path.join(scratch.name, "trace.pftrace")
LAUNCHES = 50


def run(*command):
    p = subprocess.run([gpubpf, *command], capture_output=True, text=True, timeout=300, check=False)
    return p.returncode, p.stdout, p.stderr


def own_times(out):
    return {name: int(ns) for name, ns in re.findall(r"kernel (\w+) launches \d+ ns (\d+)", out)}


def ancestors(trace, uuid):
    while uuid:
        yield uuid
        uuid = trace.tracks[uuid].parent_uuid


def check_kernels(trace, out, err):
    kernels = [s for s in trace.spans if s.category == ["kernel"]]
    for name, ns in own_times(out).items():
        spans = [k for k in kernels if k.name == name]
        ok(sorted(k.args["launch"] for k in spans) == list(range(LAUNCHES)), f"{name}: a span per launch",
           len(spans), err)
        traced = sum(k.end - k.begin for k in spans)
        ok(abs(traced - ns) <= ns / 20, f"{name}: the times are those of the application's profiling within 5 %", traced, ns)
        ok(len({k.track for k in spans}) == 1 and all(not k.depth for k in spans), f"{name}: one queue, no overlap")
        ok(all(k.args["blocks"] == 64 for k in spans), f"{name}: the spans have the blocks")
    flows = [(a, b) for a, b in trace.flows if b in kernels]
    ok(len(flows) == 2 * LAUNCHES, "each kernel has a flow", len(flows), err)
    ok(all(a.args["kernel"] == b.name and a.args["launch"] == b.args["launch"] and a.name == "clEnqueueNDRangeKernel"
           for a, b in flows), "it begins at the kernel's launch")
    ok(all(b.end <= trace.last[b.track] for _, b in flows), "kernels end before the end of the trace")


def check_calls(trace, pid_of_track):
    calls = [s for s in trace.spans if s.category == ["api"]]
    threads = {trace.name(s.track) for s in calls if s.name == "clEnqueueNDRangeKernel"}
    ok(threads == {"slow", "fast"}, "launches are on the tracks of their threads, which have names", threads)
    ok({"clFinish", "clWaitForEvents"} & {s.name for s in calls} and "clCreateBuffer" in {s.name for s in calls},
       "other calls of the runtime are there, too", sorted({s.name for s in calls}))
    ok(all(s.args["result"] == 0 for s in calls), "all calls succeed")
    writes = [s for s in calls if s.name == "clEnqueueWriteBuffer"]
    ok(len(writes) == 2 and all(s.args["bytes"] == 16384 and s.args["direction"] == "host to device" for s in writes),
       "copies have bytes and direction", [s.args for s in writes])
    copies = [s for s in trace.spans if s.category == ["copy"]]
    ok(sorted(s.name for s in copies) == ["device to host"] * 2 + ["host to device"] * 2, "copies are on the queues",
       [s.name for s in copies])
    roots = {list(ancestors(trace, s.track))[-1] for s in calls}
    ok(len(roots) == 1 and trace.tracks[roots.pop()].process.pid == pid_of_track, "all tracks belong to the process")


def times_are_monotonic(trace):
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    first = min(s.begin for s in trace.spans)
    return trace.clocks[3] < first < now and now - first < 300e9


rc, out, err = run("timeline", "-o", path, "--", app, str(LAUNCHES))
ok(rc == 42, "the application's status is gpubpf's", rc, err)
trace = pftrace.Trace(messages, path)
ok(not trace.errors, "the trace keeps Perfetto's rules", *trace.errors)
ok(times_are_monotonic(trace), "times are of CLOCK_MONOTONIC", trace.clocks)
check_kernels(trace, out, err)
process = [t.process.pid for t in trace.tracks.values() if t.HasField("process")]
check_calls(trace, process[0] if process else None)
said = re.search(r"timeline: (\S+): (\d+) spans of 1 processes, (\d+) threads and (\d+) queues; (\d+) kernels; (\d+) bytes",
                 err)
ok(said and said[1] == path and int(said[2]) == len(trace.spans) and int(said[5]) == 2 * LAUNCHES and
   int(said[6]) == os.path.getsize(path), "the summary agrees with the trace", err)
ok("lost" not in err and not any(trace.name(t).startswith("losses") for t in trace.tracks), "nothing was lost", err)

rc, out, err = run("timeline", "--stacks", "-o", path, "--", app, "5")
trace = pftrace.Trace(messages, path)
launches = [s for s in trace.spans if s.name == "clEnqueueNDRangeKernel"]
ok(rc == 42 and not trace.errors and len(launches) == 10, "--stacks", rc, err, *trace.errors)
ok(all(s.stack and any(f.startswith("work (") for f in s.stack) for s in launches),
   "launches have the stacks of their threads", [s.stack for s in launches][:2])

# a recording that ends before the application, and one that begins after it
rc, out, err = run("timeline", "-d", "1", "-o", path, "--", app, "5", "3")
trace = pftrace.Trace(messages, path)
ok(rc == 42 and not trace.errors and "probing has ended" in err, "-d ends the recording before the application", rc, err,
   *trace.errors)
child = subprocess.Popen([app, "1", "60"], stdout=subprocess.PIPE)
child.stdout.readline()
try:
    rc, out, err = run("timeline", "-d", "3", "-o", path, "-p", str(child.pid))
    trace = pftrace.Trace(messages, path)
    kernels = [s for s in trace.spans if s.category == ["kernel"]]
    ok(rc == 0 and not trace.errors and len(kernels) > 5 and len(trace.flows) >= len(kernels),
       "-p records a process that runs already", rc, err, len(kernels), len(trace.flows), *trace.errors)
    ok(child.poll() is None, "the process runs on")
finally:
    child.send_signal(signal.SIGKILL)
    child.wait()

# the flight recorder
rc, out, err = run("timeline", "--ring", "1M", "-o", f"{path}.none", "--", app, "5")
ok(rc == 42 and "no trigger occurred" in err and not os.path.exists(f"{path}.none"), "--ring writes nothing without a trigger",
   rc, err)
rc, out, err = run("timeline", "--ring", "1M", "--over", "0.001", "-o", path, "--", app, "5")
trace = pftrace.Trace(messages, path)
ok(rc == 42 and not trace.errors and " lasted " in err and trace.spans, "--over is a trigger", rc, err, *trace.errors)
recorder = subprocess.Popen([gpubpf, "timeline", "--ring", "1M", "-o", path, "--", app, "5", "8"], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
recorder.stdout.readline()
os.remove(path)
for i in (0, 1):
    time.sleep(1)
    recorder.send_signal(signal.SIGUSR1)
out, err = recorder.communicate(timeout=120)
second = os.path.join(scratch.name, "trace-2.pftrace")
ok(recorder.returncode == 42 and os.path.exists(path) and os.path.exists(second), "each SIGUSR1 writes a file", err)
for name in (path, second):
    trace = pftrace.Trace(messages, name)
    ok(not trace.errors and [s for s in trace.spans if s.category == ["kernel"]], "which keeps the rules", *trace.errors)
rc, out, err = run("timeline", "--ring", "1M", "-o", path, "--", "sh", "-c", f"{app} 5; kill -KILL $$")
trace = pftrace.Trace(messages, path)
ok(rc == -9 and "signal 9 ended the application" in err and not trace.errors and len(trace.spans) > 20,
   "the death of the application is a trigger", rc, err, *trace.errors)

# other formats
page, svg = os.path.join(scratch.name, "trace.json"), os.path.join(scratch.name, "trace.svg")
rc, out, err = run("timeline", "-o", page, "--draw", svg, "--", app, "5")
with open(page, encoding="utf-8") as f:
    document = chrome.Trace(json.load(f))
ok(rc == 42 and not document.errors and len(document.flows) == 10 and
   {"slow", "fast"} <= {s["name"] for s in document.spans if s["cat"] == "kernel"}, "a file .json has Chrome's format", rc, err,
   *document.errors)
titles = {"".join(e.itertext()).split(":")[0] for e in xml.etree.ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}title")}
ok({"slow", "fast", "clBuildProgram"} <= titles, "--draw draws kernels and calls", titles)

for wrong, says in (("--ring", "9", "-o", path, "--", app), "at least 64K"), (("--over", "1", "-o", path, "--", app), "needs --ring"), \
        (("--ring", "1M", "-o", page, "--", app), "remove --format"), (("--format", "x", "-o", path, "--", app), "use perfetto or chrome"):
    rc, out, err = run("timeline", *wrong)
    ok(rc == 2 and says in err, f"wrong use is explained: {says}", rc, err)
for wrong, says in (((), "use -o FILE"), (("-o", path), "pass it after --"), (("-o", "/nowhere/t", "--", app), "/nowhere/t"),
                    (("-o", path, "-p", "1", "--", app), "cannot be combined")):
    rc, out, err = run("timeline", *wrong)
    ok(rc in (2, 125) and says in err, f"wrong use is explained: {says}", rc, err)
rc, out, err = run("timeline", "-o", "/dev/full", "--", app, "5")
ok(rc == 42 and "the trace is incomplete" in err, "on a full disk the application runs on", rc, err)
plan()
