#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""membw.py [-i SECONDS] [-n ROUNDS] [--gpubpf PATH] [--session SOCKET]: what kernels move of each allocation, in GB/s, while a
session with membw.bpf.o runs, over windows of SECONDS; at last when the session is over, or after ROUNDS windows."""
import argparse
import json
import subprocess
import sys
import time

KINDS = ["none", "device", "managed", "host"]


def moved(command):
    """Bytes loaded and stored by allocation, and when; None: there is no session any more."""
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        return None
    entries = json.loads(run.stdout)["maps"][0]["entries"]
    return time.monotonic(), {tuple(e["key"].values()): (e["value"]["loaded"], e["value"]["stored"]) for e in entries}


def show(before, now, out):
    seconds = now[0] - before[0]
    print(f"{'NUMBER':>7} {'KIND':8} {'SIZE':>14} {'LOADED GB/s':>12} {'STORED GB/s':>12}", file=out)
    rows = [(key, [n - b for n, b in zip(value, before[1].get(key, (0, 0)))]) for key, value in now[1].items()]
    for (number, kind, _, size), bytes_ in sorted(rows, key=lambda row: -sum(row[1])):
        print(f"{number:7} {KINDS[kind]:8} {size:14}", *(f"{b / seconds / 1e9:12.3f}" for b in bytes_), file=out)
    print(file=out, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-i", "--interval", type=float, default=1)
    parser.add_argument("-n", "--rounds", type=int, default=0)
    parser.add_argument("--gpubpf", default="gpubpf")
    parser.add_argument("--session")
    args = parser.parse_args()
    command = [args.gpubpf, "map", "dump", "-j", "memories"] + (["--session", args.session] if args.session else [])
    before, rounds = moved(command), 0
    if not before:
        sys.exit("membw.py: no session with a map memories: gpubpf run -o membw.bpf.o -- PROGRAM")
    while rounds < args.rounds or not args.rounds:
        time.sleep(args.interval)
        now = moved(command)
        if not now:
            break
        show(before, now, sys.stdout)
        before, rounds = now, rounds + 1


if __name__ == "__main__":
    main()
