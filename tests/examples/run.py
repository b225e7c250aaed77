#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py BUILD CLANG TYPES DEVICE: runs each example with its workload through `gpubpf run`, on a device (pocl,
intel, or NAME=ICD). The workload's output must equal its output without probes, and the maps must hold the numbers that
the README promises. Then runs bpftime's own probes, from $GPUBPF_CORPUS/bpftime-examples, on the same workloads."""
import glob
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap

build, clang, types, device = sys.argv[1:]
sources = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples")
tmp = tempfile.TemporaryDirectory()
count = 0
failed = False


def report(good, name, detail=""):
    global count, failed
    count += 1
    failed |= not good
    print(f"{'' if good else 'not '}ok {count} - {name}", flush=True)
    if not good and detail:
        print("\n".join("# " + line for line in str(detail).splitlines()[:20]), flush=True)
    return good


def skip(name, reason):
    global count
    count += 1
    print(f"ok {count} - {name} # SKIP {reason}", flush=True)


def map_of(result, name):
    return next(m for m in result["maps"] if m["name"] == name)


def entries(result, name):
    return [(e["key"], e["value"]) for e in map_of(result, name)["entries"]]


def copies(result, name):
    """Returns the values of the only element of a per-thread array, as {thread: value}."""
    element = map_of(result, name)["entries"][0]
    return {v["copy"]: v["value"] for v in element["values"]}


def blocktime(r):
    totals = entries(r, "totals")[0][1]
    assert totals == {"threads_entered": 131072, "threads_left": 131072, "blocks": 2048, "untimed": 0}, totals
    assert sum(v for _, v in entries(r, "block_ns")) == 2048
    assert not entries(r, "running")


def kernel_counter(r):
    kernels = dict(entries(r, "kernels"))
    assert set(kernels) == {"scale", "neighbours", "reduce"}, kernels
    assert kernels["scale"]["launches"] == 8 and kernels["scale"]["threads"] == 8 * 65536, kernels
    for name in ("neighbours", "reduce"):
        assert kernels[name] == {"launches": 1, "blocks": 1024, "threads": 65536}, kernels


def threadhist(r):
    runs, busy = copies(r, "runs"), copies(r, "busy_ns")
    sizes = [4096 >> i for i in range(7)]
    for i in range(4096):
        want = sum(i < size for size in sizes)
        assert runs[i] == want, f"thread {i} ran {runs[i]} times, not {want}"
        # busy may lack a thread: two reads of a CPU's clock can return the same time, and the report omits values of 0
        assert busy.get(i, 0) < 10**10, f"thread {i} was busy for {busy[i]} ns"
    assert sum(busy.values()) > 4096, f"all threads were busy for {sum(busy.values())} ns"


def kernelretsnoop(r):
    ended = [e["value"] for e in r["events"] if e["map"] == "events"]
    dropped = map_of(r, "events")["dropped"]
    who = {(e["launch"], tuple(e["block"]), tuple(e["thread"])) for e in ended}
    assert len(who) == len(ended) and len(ended) + dropped == 1024, f"{len(ended)} events, {dropped} dropped"
    assert all(e["ns"] > 0 for e in ended)


def cuda_counter(r):
    (_, calls), = entries(r, "calls_by_pid")
    assert calls["entered"] == calls["left"] == 202240 and calls["elements"] == 10000 and calls["ns"] > 0, calls


def threadtime(r):
    warps = sum(v for _, v in entries(r, "warp_ns"))
    classes = {k: v for k, v in entries(r, "slowest") if v["warps"]}
    assert 512 <= warps <= 32768 and 32768 % warps == 0, warps
    assert sum(v["warps"] for v in classes.values()) == warps, classes
    assert all(v["block"] < 512 for v in classes.values()), classes


def mem_trace(r):
    accesses = [e["value"] for e in r["events"] if e["map"] == "accesses"]
    assert map_of(r, "accesses")["dropped"] == 0 and len(accesses) == 8192, len(accesses)
    for kind in 1, 2:
        addresses = {int(str(a["addr"]), 0) for a in accesses if a["kind"] == kind}
        assert len(addresses) == 4096 and max(addresses) - min(addresses) == 4 * 4095, (kind, len(addresses))
    reader = subprocess.run([sys.executable, f"{sources}/mem_trace/mem_trace.py", "--png", f"{tmp.name}/map.png",
                             f"{tmp.name}/report.json"], capture_output=True, text=True, check=True)
    assert "8192 accesses read, 0 dropped" in reader.stdout, reader.stdout
    said = re.findall(r"allocation (\d+) from 0x[0-9a-f]+, 16 KiB: (\d+) loads, (\d+) stores", reader.stdout)
    assert said == [("0", "4096", "0"), ("1", "0", "4096")], reader.stdout
    image = open(f"{tmp.name}/map.png", "rb").read()
    width, height = struct.unpack(">II", image[16:24])
    lines = zlib.decompress(image[image.index(b"IDAT") + 4:-16])
    assert width == 512 and len(lines) == height * (1 + 3 * width) and height == 130 * len(said), (width, height)


def memcapture(r):
    (_, c), = entries(r, "captured")
    # the kernel reads and writes each word of a 16-KiB matrix once; both matrices start at page boundaries
    tap.ran("spirv", "mem.capture")
    assert c == {"accesses": 8192, "bytes": 4 * 8192, "stores": 4096, "lowest": 8 * sum(range(0, 4096, 4)),
                 # work-items run alone: the ballot counts the half that has the bit, and the match counts every item
                 "lanes": 4096 + 8192}, c


def barrierwait(r):
    waits = {k["place"]: v["waits"] for k, v in entries(r, "barriers")}
    assert {p: w["count"] for p, w in waits.items()} == {0: 4096, 1: 6 * 4096}, waits
    assert all(w["sum"] > 0 for w in waits.values()), waits


def atomichot(r):
    spots = [v for _, v in entries(r, "spots")]
    assert sorted(s["atomics"] for s in spots) == [128] * 15 + [2176], spots
    assert all(s["bytes"] == 4 and s["space"] == 1 for s in spots) and entries(r, "missed")[0][1] == 0, spots


def coalescing(r):
    # each work-item of a CPU runs alone, so each access counts as a warp; places are in the order of the code
    found = {k["kind"]: v for k, v in entries(r, "accesses")}
    alone = {"sectors": 4096, "bytes": 4 * 4096, "warps": 4096, "lanes": 4096}
    assert found == {1: alone, 2: alone} and len(entries(r, "accesses")) == 2, found


def divergence(r):
    # Half of the items take branch 0, every second one branch 1, one of 32 branch 2. Branch 3 is a loop: an item takes
    # it as often as the bit length of i & 7, which is 17 times for eight items, and then once does not take it.
    want = {0: (4096, 2048), 1: (4096, 2048), 2: (4096, 128), 3: (4096 + 17 * 512, 17 * 512)}
    found = {k["place"]: v for k, v in entries(r, "branches")}
    assert {p: (v["lanes"], v["taken"]) for p, v in found.items()} == want, found
    assert all(v["warps"] == v["lanes"] and not v["splits"] and not v["lost"] for v in found.values()), found


def bankconflict(r):
    alone = {"needed": 4096, "rounds": 4096, "lanes": 4096}
    assert sorted((k["kind"], v) for k, v in entries(r, "accesses")) == [(1, alone), (2, alone)], entries(r, "accesses")


def guard(r):
    (_, stray), = entries(r, "strays")
    assert entries(r, "checked")[0][1] == 3 * 4095
    first = {k: stray[k] for k in ("accesses", "past", "bytes", "kind", "launch", "block", "thread")}
    assert first == {"accesses": 1, "past": 0, "bytes": 4, "kind": 1, "launch": 0, "block": [64, 0, 0],
                     "thread": [62, 0, 0]}, stray


def reader(code):
    """Returns a function that runs this code after importing membw.py, with JSON on standard input, and returns its
    output."""
    script = f"import json, sys; sys.path.insert(0, '{sources}/membw'); import membw\n{code}"
    return lambda given: subprocess.run([sys.executable, "-B", "-c", script], input=json.dumps(given), capture_output=True, text=True,
                                        check=True).stdout


def membw(r):
    rows = json.loads(reader("print(json.dumps([[list(k), v] for k, v in membw.joined(json.load(sys.stdin)).items()]))")(r["maps"]))
    found = {(number, kind, size): tuple(v) for (number, kind, base, size), v in rows}
    assert found == {(0, 1, 16384): (16 * 16384, 0), (1, 1, 16384): (0, 16384)}, found
    # the reader shows the difference of two dumps: 16 GB more in two seconds are 8 GB/s
    shown = reader("membw.show((1, {(0, 1, 64, 4096): (10**9, 5)}), (3, {(0, 1, 64, 4096): (17 * 10**9, 5)}), sys.stdout)")(None)
    assert shown.splitlines()[1].split() == ["0", "device", "4096", "8.000", "0.000"], shown


def watch(r):
    found = {(k["what"], k["place"]): v for k, v in entries(r, "places")}
    came = {(1, 0): 8 * 64, (1, 1): 4096, (2, 0): 4096} # one item of 64 polls; all items store and reach the barrier
    assert {k: (v["here"], v["came"]) for k, v in found.items()} == {k: (0, n) for k, n in came.items()}, found


def racer(r):
    def mix(x):
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 % 2**64
        x = (x ^ x >> 27) * 0x94d049bb133111eb % 2**64
        return x ^ x >> 31

    # place 0 is the load, place 1 the atomic; the hash of seed 0, item and place selects the ones that wait
    waits = sum(mix((mix((mix(0) + (i << 32 | place)) % 2**64) + place + 1) % 2**64) % 16 == 0
                for i in range(16384) for place in range(2))
    (_, w), = entries(r, "kernels")
    assert (w["visits"], w["delays"]) == (2 * 16384, waits) and w["waited"] > 0, (w, waits)


def early(r):
    # A block runs on while the numbers in it or beside it still change. A number between two walls changes as often as
    # its distance from the far wall.
    walls, at, far, moves = [], 0, 0, [0] * 258
    for i in range(16384):
        walls.append(at == 0)
        at = at + 1 if at < 8 + i // 128 else 0
    for i in reversed(range(16384)):
        far = 0 if i == 16383 or walls[i] or walls[i + 1] else far + 1
        moves[i // 64 + 1] = max(moves[i // 64 + 1], far)
    ran = 64 * sum(min(200, max(moves[b - 1:b + 2]) + 2) for b in range(1, 257))
    assert entries(r, "threads")[0][1] == {"ran": ran, "settled": 200 * 16384 - ran, "stopped": 0}, (entries(r, "threads"), ran)


def cxlmem(r):
    (number, a), = entries(r, "far")
    # Each of 100 launches has 500 steps. Each of its 256 items also makes four loads of 64 bytes. Two of the four loads
    # have the stride of the previous access, and so has the very first step.
    assert number == 0 and (a["accesses"], a["random"], a["bytes"]) == (152400, 101199, 6753600) and a["waited"] > 0, (number, a)


def launchstack(r):
    ways = {"forward < train < main": 40960, "backward < train < main": 40960, "forward < evaluate < main": 4096}
    paths = {k["from"]: v["threads"] for k, v in entries(r, "paths")}
    assert len(paths) == 3, paths
    for way, threads in ways.items():
        assert [n for path, n in paths.items() if ("launch < " + way) in path] == [threads], (way, paths)
    stacks = [v for _, v in entries(r, "stacks")]
    assert len(stacks) == 3
    for frames in stacks:
        names = [f.get("symbol") for f in frames]
        mine = [f for f in frames if f.get("symbol") in ("launch", "forward", "backward", "train", "evaluate", "main")]
        assert names[-1] == "_start" and len(mine) == 4, names
        assert all(os.path.basename(f["module"]) == "workload" and f["offset"] > 0 and int(f["address"], 16) for f in mine), mine


def delay(r):
    # only work-items whose number is a multiple of 8 wait
    assert entries(r, "delayed")[0][1] == {"delays": 4096, "kept": 4096, "told": 4096}, entries(r, "delayed")


def allocations(r):
    unknown = {"looks": 1, "known": 0, "size": 0, "kind": 0, "begins": 0}
    buffer = {"looks": 1, "known": 1, "size": 8192, "kind": 1, "begins": 1}
    svm = {"looks": 1, "known": 1, "size": 12288, "kind": 2, "begins": 1}
    for _, look in entries(r, "looks"):
        stack = look.pop("stack")
        assert "main" in stack.split(" < ") if look["known"] else stack == 0, stack
        look.pop("unused")
    # the map has room for the first two allocations, freed or not
    told = entries(r, "made")
    assert [(n, a["number"], a["size"], a["kind"]) for n, a in told] == [(0, 0, 4096, 1), (1, 1, 8192, 1)], told
    assert all(int(str(a["base"]), 0) and "main" in a["stack"].split(" < ") for _, a in told), told
    assert dict(entries(r, "looks")) == {0: unknown, 1: buffer, 2: unknown, 3: svm, 4: unknown, 5: unknown}, entries(r, "looks")


def bpftime_cuda_probe(r):
    # bpftime's probe loses counts itself if two lanes insert the key at the same time
    (_, calls), = entries(r, "call_count")
    assert 0 < calls <= 1024, calls


def bpftime_threadhist(r):
    counts = copies(r, "call_count")
    assert all(counts[i] == 1 for i in range(1024)), counts


def bpftime_kernelretsnoop(r):
    events = sum(e["map"] == "rb" for e in r["events"])
    dropped = map_of(r, "rb")["dropped"]
    assert events > 0 and events + dropped == 1024, f"{events} events, {dropped} dropped"


def run(name, objects, workload, options, check):
    out = os.path.join(tmp.name, "report.json")
    command = [f"{build}/examples/{workload}/workload"]
    native = subprocess.run(command, capture_output=True, env=env, timeout=120)
    tool = [f"{build}/gpubpf", "run", "-j", "--report", out, "--wait", "240", "--events", "4096"]
    for path in objects:
        tool += ["-o", path]
    probed = subprocess.run(tool + options + ["--"] + command, capture_output=True, env=env, timeout=500)
    if not report(probed.returncode == 0 and probed.stdout == native.stdout, f"{name}: the program is as it was",
                  probed.stderr.decode()):
        return
    with open(out) as f:
        result = json.load(f)
    for kernel in result["kernels"]:
        if kernel["probed"] != kernel["launches"] and kernel["outcome"] != "seen": # "seen": no program attaches to this kernel
            report(False, f"{name}: every launch is probed", kernel)
            return
    try:
        check(result)
        report(True, f"{name}: the maps hold what they should")
    except (AssertionError, KeyError, StopIteration, ValueError, IndexError) as e:
        report(False, f"{name}: the maps hold what they should", repr(e))


env = dict(os.environ)
if "=" in device:
    device, env["OCL_ICD_VENDORS"] = device.split("=", 1)
elif device == "intel":
    env["OCL_ICD_VENDORS"] = env.get("GPUBPF_TEST_INTEL", "")
else:
    env["OCL_ICD_VENDORS"] = (glob.glob("/etc/OpenCL/vendors/pocl*.icd") + [""])[0]

EXAMPLES = [("blocktime", blocktime), ("threadtime", threadtime), ("kernel-counter", kernel_counter), ("threadhist", threadhist),
            ("kernelretsnoop", kernelretsnoop), ("cuda-counter", cuda_counter), ("early", early), ("launchstack", launchstack)]
# examples that need places inside a kernel, in SPIR-V or OpenCL C, which only CPU devices support
INSIDE = [("divergence", divergence), ("guard", guard), ("mem_trace", mem_trace), ("barrierwait", barrierwait),
          ("atomichot", atomichot), ("coalescing", coalescing), ("bankconflict", bankconflict), ("membw", membw), ("watch", watch), ("racer", racer), ("cxlmem", cxlmem)]
BPFTIME = [("cuda_probe", bpftime_cuda_probe, ["cuda__probe", "cuda__retprobe"]),
           ("threadhist", bpftime_threadhist, ["cuda__retprobe"]),
           ("kernelretsnoop", bpftime_kernelretsnoop, ["cuda__retprobe"])]
corpus = os.path.join(os.environ.get("GPUBPF_CORPUS", ""), "bpftime-examples")

for name, check in EXAMPLES + (INSIDE if device in ("pocl", "intel") else []):
    if not env["OCL_ICD_VENDORS"]:
        skip(f"{name} on {device}", f"no OpenCL runtime of {device} here")
        continue
    run(f"{name} on {device}", [f"{build}/examples/{name}/{name}.bpf.o"], name, ["--events", "9000"], check)

# GPU kernels on these devices see writes of the host while they run
if device in ("pocl", "intel") and env["OCL_ICD_VENDORS"]:
    run(f"allocations on {device}", [f"{build}/tests/examples/allocations.bpf.o"], "../tests/examples", [], allocations)
if env["OCL_ICD_VENDORS"]:
    run(f"gpubpf_delay() on {device}", [f"{build}/tests/examples/delay.bpf.o"], "membw", [], delay)
if device == "intel" and env["OCL_ICD_VENDORS"]:
    run("kprobe/__memcapture on intel", [f"{build}/tests/examples/memcapture.bpf.o"], "mem_trace", [], memcapture)

for name, check, programs in BPFTIME:
    source = os.path.join(corpus, f"{name}.bpf.c")
    if not env["OCL_ICD_VENDORS"] or not os.path.exists(source):
        skip(f"bpftime's {name} on {device}", "no OpenCL runtime" if os.path.exists(source) else
             f"GPUBPF_CORPUS has no bpftime-examples/{name}.bpf.c")
        continue
    include = os.path.join(tmp.name, "include")
    os.makedirs(include, exist_ok=True)
    with open(types) as text, open(os.path.join(include, "vmlinux.h"), "w") as out:
        out.write(text.read())
    target = os.path.join(tmp.name, f"{name}.bpf.o")
    subprocess.run([clang, "-g", "-O2", "-target", "bpf", "-I", include, "-c", source, "-o", target], check=True)
    attach = [word for prog in programs for word in ("--attach", f"{prog}=vector_add")]
    run(f"bpftime's {name} on {device}", [target], "kernelretsnoop", attach, check)

if not failed:
    tap.write_ran()
print(f"1..{count}")
sys.exit(failed)
