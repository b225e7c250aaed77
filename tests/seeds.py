#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seeds.py [-j JOBS] [-n EACH] FIRST COUNT COMMAND...: runs a test of random cases with many seeds. COMMAND prints
TAP. It runs once for each EACH (default 64) of COUNT cases, which have the seeds from FIRST on, in JOBS processes
(default: one per processor). In COMMAND, {seed} is the first seed of a run and {count} the number of its cases.
Prints each failure with the command that repeats it, and at the end the number of cases. Examples, from the
source's folder:

  tests/seeds.py -n 25 1000 10000 tests/backends/spirv/opencl/places.py build intel source clang-22 random:{seed}:{count}
  tests/seeds.py 1000 10000 tests/backends/cuda/ptx/accept.py build/tests/backends/cuda/places-twins {seed} {count}"""
import argparse
import concurrent.futures
import os
import shlex
import subprocess
import sys
import time


def run(command, seconds):
    """Returns (number of passed tests, lines of failed tests, reason if all tests were skipped)."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds, check=False,
                              encoding="utf-8", errors="replace")
    except subprocess.TimeoutExpired:
        return 0, [f"not ended after {seconds} s"], ""
    lines = done.stdout.splitlines()
    good = sum(line.startswith("ok ") and " # SKIP" not in line for line in lines)
    skipped = next((line.split("# SKIP", 1)[1].strip() for line in lines if "# SKIP" in line), "")
    bad, failing = [], False
    for line in lines:
        failing = line.startswith("not ok ") or (failing and line.startswith("# "))
        bad += [line] * failing
    if not bad and (done.returncode or not (good or skipped)):
        bad = lines[-20:] or [f"it ended with {done.returncode} and said nothing"]
    return good, bad, skipped


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count(), help="commands at once")
parser.add_argument("-n", dest="each", type=int, default=64, help="cases a command")
parser.add_argument("-t", dest="seconds", type=int, default=1800, help="what a command may take")
parser.add_argument("first", type=int)
parser.add_argument("count", type=int)
parser.add_argument("command", nargs=argparse.REMAINDER)
asked = parser.parse_args()
end, began = asked.first + asked.count, time.monotonic()
parts = [(seed, min(asked.each, end - seed)) for seed in range(asked.first, end, asked.each)]
cases = tests = failed = 0
reasons = {}
with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
    running = {}
    for seed, count in parts:
        words = [word.replace("{seed}", str(seed)).replace("{count}", str(count)) for word in asked.command]
        running[pool.submit(run, words, asked.seconds)] = words, count
    for future in concurrent.futures.as_completed(running):
        (words, count), (good, bad, skipped) = running[future], future.result()
        tests += good
        failed += bool(bad)
        if skipped:
            reasons[skipped] = reasons.get(skipped, 0) + 1
        cases += count * bool(good and not bad)
        if bad:
            print("\n".join([f"FAILED {shlex.join(words)}", *bad]), flush=True)
for reason, n in reasons.items():
    print(f"skipped in {n} of {len(parts)} commands: {reason}")
print(f"{cases} of {asked.count} cases of seeds {asked.first} to {end - 1}: {tests} tests passed, {failed} of {len(parts)} commands "
      f"failed, {time.monotonic() - began:.0f} s")
sys.exit(bool(failed or cases < asked.count))
