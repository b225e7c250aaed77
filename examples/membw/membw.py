#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""membw.py [-i SECONDS] [-n ROUNDS] [--gpubpf PATH] [--session SOCKET]: prints for each allocation how many GB/s GPU kernels load
and store, while a session with membw.bpf.o runs. It prints a table every SECONDS, until the session ends or after ROUNDS tables."""
import argparse
import json
import signal
import subprocess
import sys
import time

KINDS = ["none", "device", "managed", "host"]


def joined(maps):
    """Returns the bytes loaded and stored, by (number, kind, base, size) of an allocation. Kind and size are 0 outside all allocations."""
    entries = {m["name"]: {e["key"]: e["value"] for e in m["entries"]} for m in maps if m["name"] in ("memories", "moved")}
    if len(entries) < 2:
        sys.exit("membw.py: the session that is running is not one with membw.bpf.o; --session names another")
    none = {"kind": 0, "base": 0, "size": 0}
    return {(number, *(entries["memories"].get(number, none)[k] for k in ("kind", "base", "size"))):
            (value["loaded"], value["stored"]) for number, value in entries["moved"].items()}


def moved(command):
    """Returns the current time and joined() of the maps, or None if the session has ended."""
    run = subprocess.run(command, capture_output=True, text=True)
    return None if run.returncode else (time.monotonic(), joined(json.loads(run.stdout)["maps"]))


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
    command = [args.gpubpf, "map", "dump", "-j"] + (["--session", args.session] if args.session else [])
    before, rounds = moved(command), 0
    if not before:
        sys.exit("membw.py: no session: gpubpf run -o membw.bpf.o -- PROGRAM")
    while rounds < args.rounds or not args.rounds:
        time.sleep(args.interval)
        now = moved(command)
        if not now:
            break
        show(before, now, sys.stdout)
        before, rounds = now, rounds + 1


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
