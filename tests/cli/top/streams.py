#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""streams.py GPUBPF LOOP WORKLOAD: tests map top, map watch, map dump --csv and run --jsonl. WORKLOAD launches three kernels with
different times. Prints TAP."""
import csv
import glob
import io
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from tap import ok, plan, skip_all

gpubpf, loop, workload = sys.argv[1:]
icd = glob.glob("/etc/OpenCL/vendors/pocl*.icd")
if not icd or not os.access(loop, os.X_OK):
    skip_all("PoCL is not installed")
scratch = tempfile.TemporaryDirectory()
for name, folder in (("XDG_RUNTIME_DIR", "run"), ("XDG_CACHE_HOME", "cache")):
    os.environ[name] = os.path.join(scratch.name, folder)
    os.mkdir(os.environ[name], 0o700)
os.environ["OCL_ICD_VENDORS"] = icd[0]
stop, lines = os.path.join(scratch.name, "stop"), os.path.join(scratch.name, "lines")


def run(*arguments):
    return subprocess.run([gpubpf, *arguments], capture_output=True, text=True, timeout=240)


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.1)
    return value


# a session whose workload has ended and whose application still runs loop
shell = f"{workload} > /dev/null; LOOP_UNTIL={stop} {loop} 1 5 > /dev/null"
tool = subprocess.Popen([gpubpf, "run", "-q", "-r", "/dev/null", "-p", "kerneltime,launches", "--", "sh", "-c", shell])
until(lambda: "step_one" in run("map", "dump", "launches").stdout)

# map top
tables = [t.splitlines() for t in run("map", "top", "kerneltime", "-n", "2", "-i", "0.5").stdout.split("\n\n")]
ok(tables[0][0].split() == "KEY LAUNCHES SUM MEAN P50 P99".split(), "map top has the columns of map dump", tables)
ok(tables[1][0].split() == "KEY LAUNCHES SUM MEAN P50 P99 PER SECOND".split(), "and rates from the second table on", tables)
rates = {row.split()[0]: float(row.split()[-1]) for row in tables[1][1:]}
ok(len(rates) == 4 and rates["step_one"] > 5 and rates["reduce"] == 0, "launches per second", rates)
entries = json.loads(run("map", "dump", "-j", "kerneltime").stdout)["maps"][0]["entries"]
sums = {e["key"]: e["value"]["launches"]["sum"] for e in entries if e["key"] != "step_one"}
order = [row.split()[0] for row in tables[1][1:] if not row.split()[0] == "step_one"]
ok(order == sorted(sums, key=sums.get, reverse=True), "sorted by the sum inside of the value", order, sums)

# map watch
watched = run("map", "watch", "launches", "-n", "2", "-i", "0.5").stdout.splitlines()
heads = [i for i, row in enumerate(watched) if row.split() == "KEY LAUNCHES BLOCKS THREADS".split()]
ok(len(heads) == 2 and heads[0] == 0, "map watch draws a table of the changes", watched)
ok(len(heads) == 2 and len(watched) == heads[1] + 2 and watched[-1].split()[0] == "step_one", "the second has only what changed", watched)

# map dump --csv
rows = list(csv.DictReader(io.StringIO(run("map", "dump", "--csv", "kerneltime").stdout)))
ok({r["key"] for r in rows} == {"step_one", *sums}, "--csv has the names of kernels", rows)
ok(all(int(r["value.launches.sum"]) == sums[r["key"]] for r in rows if r["key"] in sums), "and a column for each member", rows)
ok(all(0 < int(r["value.launches.p50"]) <= int(r["value.launches.p99"]) and not r["value"] for r in rows), "and for the percentiles", rows)
rows = list(csv.DictReader(io.StringIO(run("map", "dump", "--csv").stdout)))
ok({r["map"] for r in rows} >= {"kerneltime", "launches"} and all(None not in r and None not in r.values() for r in rows),
   "one header is for all maps", rows[:3])
ok(all(not r["value.blocks"] for r in rows if r["map"] == "kerneltime"), "a map leaves the columns of others empty", rows[:3])
open(stop, "w", encoding="ascii").close()
tool.wait()

# run --jsonl with a program text
text = 'BEGIN { printf("be"); printf("gin\\n"); } gpu/entry/step_one { if (tid == 0) { printf("%s %d\\n", kernel, launch); } } END { printf("no newline"); }'
r = run("run", "-q", "--jsonl", lines, "-e", text, "--", loop, "2", "0")
written = [json.loads(line) for line in open(lines, encoding="utf-8")]
ok(written == [{"output": o} for o in ("begin", "step_one 0", "step_one 1", "no newline")], "--jsonl has each line of a program text", written, r.stderr)
ok("begin\nstep_one 0\nstep_one 1\nno newline" in r.stderr, "and the usual output has it too", r.stderr)
r = run("run", "-q", "--jsonl", "-", "-j", "-r", os.path.join(scratch.name, "r"), "-e", text, "--", loop, "1", "0")
ok('{"output":"step_one 0"}' in r.stdout.splitlines(), "--jsonl - writes to standard output", r.stdout)
document = json.load(open(os.path.join(scratch.name, "r"), encoding="utf-8"))
ok(document["output"] == "begin\nstep_one 0\nno newline", "with --json, the document has it too", document["output"])
r = run("run", "-q", "--jsonl", "/dev/full", "-e", text, "--", loop, "1", "0")
ok(r.returncode == 42 and r.stderr.count("events are no longer written") == 1 and "step_one 0" in r.stderr, "a full disk is named once", r.stderr)
plan()
