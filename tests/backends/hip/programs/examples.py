#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples.py BUILD [NAME...]: runs the examples that probe inside kernels, each with its workload.hip, on a simulated
AMD GPU.

The output of the workload must equal its output without probes, and every launch must be probed. The maps must have
the values that follow from the workload's source, for waves of 64 lanes. The simulated clock does not advance, so
times are 0."""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sources = os.path.join(here, "../../../../examples")
sys.path.append(os.path.join(here, "../../.."))
from probing import Prober
import hip

LANES, SECTOR, BANKS = 64, 32, 32


def map_of(report, name):
    return next(m for m in report["maps"] if m["name"] == name)


def entries(report, name):
    return [(e["key"], e["value"]) for e in map_of(report, name)["entries"]]


def same(got, want):
    assert got == want, f"{got}, not {want}"


def by_line(report, name, of=lambda key: (key["line"],)):
    """Returns a map's content, keyed by the source line and the part of the key that distinguishes its entries."""
    return {of(k): v for k, v in entries(report, name)}


def line(name, text):
    """Returns the line of the workload's source that contains this text, which must be unique."""
    with open(f"{sources}/{name}/workload.hip", encoding="utf-8") as f:
        lines = [i for i, row in enumerate(f, 1) if text in row]
    assert len(lines) == 1, (text, lines)
    return lines[0]


def waves(threads, what):
    """Returns the sum of what(lanes) over the waves of a launch."""
    return sum(what(range(first, first + LANES)) for first in range(0, threads, LANES))


def mem_trace(r):
    accesses = [e["value"] for e in r["events"] if e["map"] == "accesses"]
    assert map_of(r, "accesses")["dropped"] == 0
    for kind in 1, 2:
        addresses = sorted(int(str(a["addr"]), 0) for a in accesses if a["kind"] == kind)
        same([a - addresses[0] for a in addresses], list(range(0, 4 * 64 * 64, 4)))
    same(len(accesses), 2 * 64 * 64)
    said = subprocess.run([sys.executable, "-B", f"{sources}/mem_trace/mem_trace.py", report_at("mem_trace")], capture_output=True,
                          text=True, check=True).stdout
    assert "8192 accesses read, 0 dropped" in said, said


def coalescing(r):
    def sectors(stride):
        return waves(1024, lambda lanes: len({4 * i * stride // SECTOR for i in lanes}))

    want = {}
    for stride in 1, 2, 32:
        kernel = f"_Z7stridedILj{stride}EEvPKjPj"
        for kind, n in (1, sectors(stride)), (2, sectors(1)):
            want[kernel, kind] = {"sectors": n, "bytes": 4096, "warps": 1024 // LANES, "lanes": 1024}
    same({(k["kernel"], k["kind"]): v for k, v in entries(r, "accesses")}, want)


def bankconflict(r):
    def rounds(words):
        """Returns the rounds of all accesses. The hardware serves half a wave at a time; a half takes as many rounds as
        the largest number of words in one bank."""
        halves = [range(i, i + BANKS) for i in range(0, 256, BANKS)]
        banks = [[{words(i) for i in half if words(i) % BANKS == bank} for bank in range(BANKS)] for half in halves]
        return 4096 // 256 * sum(max(map(len, each)) for each in banks)

    want = {kind: {"needed": 4096 // BANKS, "rounds": n, "lanes": 4096}
            for kind, n in ((2, rounds(lambda i: i)), (1, rounds(lambda i: i % 16 * 16 + i // 16)))}
    same({k["kind"]: v for k, v in entries(r, "accesses")}, want)


def divergence(r):
    def ways(taken, on=lambda i: True):
        """Returns the expected (warps, splits, lanes, taken, lost) of a branch."""
        out = [0] * 5
        for first in range(0, 4096, LANES):
            lanes = [taken(i) for i in range(first, first + LANES) if on(i)]
            go, stay = sum(lanes), len(lanes) - sum(lanes)
            out = [a + b for a, b in zip(out, (bool(lanes), bool(go and stay), len(lanes), go, min(go, stay)))]
        return tuple(out)

    # the branches skip a conditional block or continue the loop over 3 bits; the first bit is tested before the loop
    loop = [ways(lambda i: not i & 7)] + [ways(lambda i, t=t: (i & 7) >> t + 1 != 0, lambda i, t=t: (i & 7) >> t != 0) for t in range(3)]
    want = {line("divergence", "from[i] < 2048"): [ways(lambda i: i >= 2048)], line("divergence", "(i & 1)"): [ways(lambda i: not i & 1)],
            line("divergence", "% 32 == 7"): [ways(lambda i: i % 32 != 7)],
            line("divergence", "bits >>= 1"): [loop[0], tuple(map(sum, zip(*loop[1:])))]}
    got = {}
    for k, v in sorted(entries(r, "branches"), key=lambda e: e[0]["place"]):
        got.setdefault(k["line"], []).append(tuple(v[w] for w in ("warps", "splits", "lanes", "taken", "lost")))
    same(got, want)


def barrierwait(r):
    waits = {k["place"]: v["waits"] for k, v in entries(r, "barriers")}
    same({p: (w["count"], w["sum"]) for p, w in waits.items()}, {0: (512, 0), 1: (7 * 512, 0)})


def membw(r):
    same([(k, (v["loaded"], v["stored"])) for k, v in entries(r, "moved")], [(0, (16 * 4096, 0)), (1, (0, 4096))])
    same([(k, (v["size"], v["kind"])) for k, v in entries(r, "memories")], [(0, (4096, 1)), (1, (4096, 1))])


def atomichot(r):
    spots = sorted(((int(k["addr"], 0), v) for k, v in entries(r, "spots")), key=lambda s: s[0])
    same([a - spots[0][0] for a, _ in spots], list(range(0, 64, 4)))
    same([v for _, v in spots], [{"atomics": 2048 + 128 if i == 3 else 128, "bytes": 4, "space": 1} for i in range(16)])
    same(entries(r, "missed"), [(0, 0)])


def watch(r):
    found = by_line(r, "places", lambda k: (k["what"], k["line"]) if k["what"] == 1 else k["what"])
    # a wave that polls loads the number of rounds once, with a scalar load; the barrier is in a header
    of = {"what the scalar unit reads": 0, "looks": line("watch", "looks < most"), "stores": line("watch", "to[i] = i;")}
    same({k: (v["here"], v["came"]) for k, v in found.items() if k != (1, 0)},
         {(1, of["looks"]): (0, 8 * 8), 2: (0, 1024), (1, of["stores"]): (0, 1024)})


def guard(r):
    (key, stray), = entries(r, "strays")
    same(entries(r, "checked"), [(0, 3 * 4032)])
    same(key["line"], line("guard", "right = from[i + 1];"))
    same({k: stray[k] for k in ("accesses", "past", "bytes", "kind", "launch", "block", "thread")},
         {"accesses": 1, "past": 0, "bytes": 4, "kind": 1, "launch": 0, "block": [62, 0, 0], "thread": [63, 0, 0]})


def racer(r):
    def mix(x):
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 % 2**64
        x = (x ^ x >> 27) * 0x94d049bb133111eb % 2**64
        return x ^ x >> 31

    # the load and the atomic are the last two accesses; earlier accesses load the runtime's arguments
    waits = sum(mix((mix((mix(0) + (i << 32 | place)) % 2**64) + visit) % 2**64) % 16 == 0
                for i in range(1024) for visit, place in ((1, 2), (2, 3)))
    same(entries(r, "kernels"), [("add", {"visits": 2048, "delays": waits, "waited": 0})])


def cxlmem(r):
    # each step is random; of a wave's four loads in the sum, the first two are random too, and the others keep their stride
    (number, a), = entries(r, "far")
    same((number, a["accesses"], a["random"], a["bytes"]), (0, 100 + 1024, 100 + 2 * 256, 4 * 100 + 16 * 1024))
    assert a["waited"] > 0, a


def early(r):
    """A probe in machine code cannot end single threads, so the kernel must run unprobed, with this reason."""
    (kernel,) = r["kernels"]
    same((kernel["name"], kernel["launches"], kernel["probed"]), ("relax", 20, 0))
    assert "helper 507" in kernel["reason"] and "EXIT_THREAD" in kernel["reason"], kernel
    same(entries(r, "threads"), [(0, {"ran": 0, "settled": 0, "stopped": 0})])


CHECKS = [mem_trace, coalescing, bankconflict, divergence, barrierwait, membw, atomichot, watch, guard, racer, early, cxlmem]
# shortest delays: the simulated clock does not advance, so a delay ends after the maximum number of clock reads
SETTINGS = {"cxlmem": "settings key 0 value .latency=1 .mb_s=1000000"}

simulator = hip.simulator()
build = os.path.abspath(sys.argv[1])
folder = tempfile.TemporaryDirectory()
compiler = hip.with_headers(next(iter(hip.compilers().values())), folder.name)
prober = Prober(build, f"simulated {hip.ARCH}", dict(os.environ, GPUBPF_BACKEND="hip"), before=simulator)


def report_at(name):
    return os.path.join(folder.name, f"{name}.json")


def made(name):
    to = os.path.join(folder.name, name)
    hip.build(compiler, [f"{sources}/{name}/workload.hip"], to, ["-gline-tables-only"])
    return to


def tool(name, program):
    """Runs `gpubpf run`, which can set a map before the program starts."""
    words = [f"{build}/gpubpf", "run", "-j", "--report", report_at(name), "--events", "9000", "--threads", "1024", "-o",
             f"{build}/examples/{name}/{name}.bpf.o", "--"]
    if name in SETTINGS:
        words += ["sh", "-c", f'"$0" map update {SETTINGS[name]} >/dev/null && exec "$@"', f"{build}/gpubpf"]
    return words + simulator + [program]


def check(name, right, program):
    native, where = prober.native([program]), f"{name} on {prober.where}"
    code, text, log = prober.run(tool(name, program))
    prober.tap((code, text) == native[:2] and not code, f"{where}: the program is as it was", native, text, log)
    try:
        with open(report_at(name), encoding="utf-8") as f:
            report = json.load(f)
        unprobed = [k for k in report["kernels"] if k["probed"] != k["launches"]]
        assert right is early or not unprobed, unprobed
        right(report)
        prober.tap(True, f"{where}: the maps hold what they should")
    except (OSError, AssertionError, LookupError, TypeError, ValueError, StopIteration, subprocess.CalledProcessError) as e:
        prober.tap(False, f"{where}: the maps hold what they should", repr(e), log)


wanted = [right for right in CHECKS if not sys.argv[2:] or right.__name__ in sys.argv[2:]]
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    programs = [pool.submit(made, right.__name__) for right in wanted]
    for right, program in zip(wanted, programs):
        try:
            check(right.__name__, right, program.result())
        except RuntimeError as e:
            prober.tap(False, f"{right.__name__} is built", e)
prober.plan()
