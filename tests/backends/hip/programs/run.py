#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py BUILD [NAME...]: runs our HIP programs on a simulated AMD GPU, native and probed. Prints TAP; see
tests/probing.py."""
import concurrent.futures
import functools
import glob
import hashlib
import json
import os
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(here, "../../.."))
from probing import Prober
import hip

BY_HIPCC = ["rdc"]                            # programs whose clang-19 output the old runtime cannot run
OPTIONS = {"calls": ["-g"], "marks": ["-I" + os.path.join(here, "../../../../include")], "rdc": ["-fgpu-rdc", "-B/usr/lib/llvm-15/bin"]}
WITH = {"rdc": ["modules/rdc_part.hip"]}
PARTS = ["rdc_part", "module_kernels", "full"]
HIPCC_TOO = ["divergent", "lds", "symbols"]   # programs that hipcc builds, too

simulator = hip.simulator()
found = hip.compilers()
first = next(iter(found))
build = os.path.abspath(sys.argv[1])
names = sorted(os.path.basename(p)[:-4] for p in glob.glob(f"{here}/**/*.hip", recursive=True))
names = [n for n in names if n not in PARTS and (n in sys.argv[2:] or not sys.argv[2:])]
folder = tempfile.TemporaryDirectory()
found[first] = hip.with_headers(found[first], folder.name)


@functools.cache
def make(name, compiler):
    """Builds the program and returns its path."""
    to = os.path.join(folder.name, f"{name}-{compiler}")
    sources = glob.glob(f"{here}/**/{name}.hip", recursive=True) + [os.path.join(here, s) for s in WITH.get(name, [])]
    hip.build(found[compiler], sources, to, OPTIONS.get(name, []))
    return to


def make_modules():
    source = [os.path.join(here, "modules/module_kernels.hip")]
    for kind, words in (("bundle", ["--gpu-bundle-output"]), ("co", ["--no-gpu-bundle-output"])):
        options = ["--cuda-device-only"] + words if first != "hipcc" else ["--genco"] + words
        hip.build(found[first], source, os.path.join(folder.name, f"module_kernels.{kind}"), options)


jobs = [(n, "hipcc" if n in BY_HIPCC else first) for n in names if n not in BY_HIPCC or "hipcc" in found]
if first != "hipcc" and "hipcc" in found:
    jobs += [(n, "hipcc") for n in names if n in HIPCC_TOO]
prober = Prober(build, f"simulated {hip.ARCH}", dict(os.environ, GPUBPF_BACKEND="hip"), before=simulator)
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    modules = pool.submit(make_modules)
    made = [pool.submit(make, *job) for job in jobs]
    for (name, compiler), program in zip(jobs, made):
        label = f"hip-{name}" if compiler == first or name in BY_HIPCC else f"hip-{name} by {compiler}"
        try:
            modules.result()
            prober.check(label, [program.result()])
        except RuntimeError as e:
            prober.tap(False, f"{label} is built", e)


BLOCKS, BLOCK, LAUNCHES = 8, 128, 20          # numbers of examples/rocm-counter/workload.hip, for 1000 elements
THREADS = BLOCKS * BLOCK


def entries(report, name):
    return [(e["key"], e.get("value")) for e in map_of(report, name)["entries"]]


def map_of(report, name):
    return next(m for m in report["maps"] if m["name"] == name)


def counted(report):
    (pid, calls), = entries(report, "calls_by_pid")
    return int(pid) > 1 and calls == dict(calls, entered=LAUNCHES * THREADS, left=LAUNCHES * THREADS, elements=1000)


def by_name(report):
    return entries(report, "kernels") == [("vector_add", {"launches": LAUNCHES, "blocks": LAUNCHES * BLOCKS,
                                                          "threads": LAUNCHES * THREADS})]


def by_thread(report):
    runs = {v["copy"]: v["value"] for v in map_of(report, "runs")["entries"][0]["values"]}
    return runs == {i: LAUNCHES for i in range(THREADS)}


def ended(report):
    events = [e["value"] for e in report["events"] if e["map"] == "events"]
    who = {(e["launch"], e["block"][0], e["thread"][0]) for e in events}
    want = {(i, b, t) for i in range(LAUNCHES) for b in range(BLOCKS) for t in range(BLOCK)}
    return who == want and len(events) == len(want) and not map_of(report, "events")["dropped"]


def warps(report):
    return sum(v for _, v in entries(report, "warp_ns")) == LAUNCHES * THREADS // 64


def groups(report):
    (_, t), = entries(report, "totals")
    timed = sum(v for _, v in entries(report, "block_ns"))
    return not entries(report, "running") and timed == LAUNCHES * BLOCKS and \
        t == {"threads_entered": LAUNCHES * THREADS, "threads_left": LAUNCHES * THREADS, "blocks": timed, "untimed": 0}


# the simulated clock reads 0, so only counts are known, not durations
EXAMPLES = {"rocm-counter": counted, "cuda-counter": counted, "kernel-counter": by_name, "threadhist": by_thread,
            "kernelretsnoop": ended, "threadtime": warps, "blocktime": groups}


def example():
    """Runs the objects of several examples, the same files as on other targets, on one HIP workload."""
    workload, out = os.path.join(folder.name, "workload"), os.path.join(folder.name, "example.json")
    compiler = found.get("hipcc", found[first])
    hip.build(compiler, [os.path.join(here, "../../../../examples/rocm-counter/workload.hip")], workload)
    for name, right in EXAMPLES.items():
        path = f"{build}/examples/{name}/{name}.bpf.o"
        with open(path, "rb") as f:
            print(f"# {name}.bpf.o sha256 {hashlib.sha256(f.read()).hexdigest()}")
        code, text, log = prober.probe(out, [path], [workload], ["--threads", str(THREADS), "--events", "21000"])
        try:
            with open(out, encoding="utf-8") as f:
                report = json.load(f)
            good = all(k["launches"] == k["probed"] == LAUNCHES and k["twin_registers"] > k["registers"] > 0
                       for k in report["kernels"]) and right(report)
            prober.tap(code == 0 and b"right" in text and good, f"{name} on {prober.where}: exact", report["maps"], log)
        except (OSError, LookupError, TypeError, ValueError, StopIteration) as e:
            prober.tap(False, f"{name} on {prober.where}: a report", repr(e), log)


def device_list():
    code, text, log = prober.run(simulator + [f"{build}/gpubpf", "device", "list", "--backend", "hip", "--json"])
    try:
        device = json.loads(text)[0]["devices"][0]
    except (ValueError, LookupError) as e:
        device = {"error": repr(e)}
    prober.tap(code == 0 and device.get("targets") == "amdgpu" and device.get("warp_size") == 64,
               f"gpubpf device list on {prober.where}", text, log)


def full():
    """A kernel without a free register for a probe at its exit: the list must report this, and the kernel must run
    unprobed."""
    program, out = make("full", first), os.path.join(folder.name, "full.json")
    code, text, log = prober.run([f"{build}/gpubpf", "kernel", "list", "--json", "--report", out, "--"] + simulator + [program])
    native, where = prober.native([program]), f"hip-full on {prober.where}"
    try:
        with open(out, encoding="utf-8") as f:
            listed = {k["name"]: k for k in json.load(f)["kernels"]}
        good = listed["everything"]["entry_only"] and "at its exit" in listed["everything"]["reason"] and \
            listed["plain"]["probe"] and not listed["plain"]["reason"]
    except (OSError, ValueError, LookupError) as e:
        good, log = False, log + repr(e)
    prober.tap((code, text) == native[:2] and good, f"{where}: kernel list says what cannot be probed at its exit", text, log)
    code, text, log = prober.probe(out, [f"{build}/tests/real/count.bpf.o"], [program])
    try:
        with open(out, encoding="utf-8") as f:
            k = {k["name"]: k for k in json.load(f)["kernels"]}
        good = k["everything"]["probed"] == 0 and "at its exit" in k["everything"]["reason"] and k["plain"]["probed"] == 1
    except (OSError, ValueError, LookupError) as e:
        good, log = False, log + repr(e)
    prober.tap((code, text) == native[:2] and good, f"{where}: run as it was, with the reason", text, log)


LDS_BLOCKS = 4 * 5  # of lds.hip
ROUNDS = [(t, thread) for thread in range(128) for t in range(thread % 5)] * 2  # of marks.hip


def blocks():
    """Counts begins and ends of blocks in kernels with shared memory, also with a size that the launch sets."""
    sums("lds", "block_counts", "blocks", [LDS_BLOCKS, LDS_BLOCKS], f"{LDS_BLOCKS} blocks begin and end")


def shared():
    """Counts loads, stores and atomics of shared memory. Four blocks of 128 threads halve their numbers seven times,
    and the first thread reads the result. Three launches of 512 threads swap rows. In four blocks all threads add to 16
    sums."""
    halves = sum(64 >> i for i in range(7))
    loads, stores, atomics = 4 * (2 * halves + 1) + 3 * 512 + 4 * 16, 4 * (128 + halves) + 3 * 512 + 4 * 16, 4 * 128
    want = [n for count in (loads, stores, atomics) for n in (count, 4 * count)]
    sums("lds", "shared_sums", "accesses", want, f"{loads} loads, {stores} stores and {atomics} atomics of blocks' memory")


def marks():
    sums("marks", "mark_sums", "marks", [len(ROUNDS), sum(t - thread for t, thread in ROUNDS) % (1 << 64)], f"{len(ROUNDS)} marks")


def functions():
    """Counts the calls of calls.hip and compares arguments and results with computed ones."""
    x, want, word = 12345, [0] * 7, (1 << 32) - 1
    for _ in range(128):
        x = a = x * 1664525 + 1013904223 & word
        if x % 4 == 1:
            continue
        want[5:] = want[5] + 1, want[6] + x % 6
        for i in range(x % 6):
            result = a * 31 + (i ^ a >> 3) & word
            want[:5] = want[0] + 1, want[1] + a, want[2] + i, want[3] + 1, want[4] + result
            a = result
    sums("calls", "call_sums", "calls", want, f"{want[5]} and {want[0]} calls of functions, their arguments and results")


def sums(name, probe, where, want, what):
    """Checks that the program's output equals its output without probes, and that the map has the expected content."""
    program, out = make(name, first), os.path.join(folder.name, f"{probe}.json")
    code, text, log = prober.probe(out, [f"{build}/tests/backends/hip/hip-{probe}.bpf.o"], [program])
    try:
        with open(out, encoding="utf-8") as f:
            report = json.load(f)
        good = [int(v) for _, v in entries(report, where)] == want
    except (OSError, ValueError, LookupError, StopIteration) as e:
        good, report = False, {"maps": repr(e)}
    prober.tap((code, text) == prober.native([program])[:2] and good, f"hip-{name} on {prober.where}: {what}", report, text, log)


if not sys.argv[2:] or "blocks" in sys.argv[2:]:
    blocks()
if not sys.argv[2:] or "shared" in sys.argv[2:]:
    shared()
if not sys.argv[2:] or "marks" in sys.argv[2:]:
    marks()
if not sys.argv[2:] or "functions" in sys.argv[2:]:
    functions()
if not sys.argv[2:] or "full" in sys.argv[2:]:
    full()
if not sys.argv[2:] or "device" in sys.argv[2:]:
    device_list()
if not sys.argv[2:] or "example" in sys.argv[2:]:
    example()
prober.plan()
