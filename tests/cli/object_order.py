#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""object_order.py GPUBPF LOOP CLANG INCLUDE...: tests that `gpubpf run -o` does not depend on the order of maps and
programs in an object. Prints TAP.

Each object has four maps and three programs: one for the GPU and two uprobes of the Linux kernel. Each program
stores its number in every map, and the sums must be exact. Then three objects run together, in each order of their
options. GPUBPF_TEST_ORDERS=N runs every N-th case; 1 runs all."""
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import ok, plan, skip_all

gpubpf, loop, clang, *includes = [os.path.abspath(a) for a in sys.argv[1:]]
EVERY = int(os.environ.get("GPUBPF_TEST_ORDERS", "29"))
LAUNCHES, THREADS, STEPS = 2, 1024, 5
MAPS = {"ring": "GPUBPF_RINGBUF(ring, __u64, 1 << 17);", "queue": "VALUES(queue, BPF_MAP_TYPE_QUEUE);",
        "hash": "GPUBPF_HASH(hash, __u32, __u64, 16);", "array": "GPUBPF_ARRAY(array, __u64, 4);"}
STORE = {"ring": "bpf_ringbuf_output(&ring, &who, sizeof(who), 0);", "queue": "bpf_map_push_elem(&queue, &who, 0);",
         "hash": "add(&hash, who);", "array": "add(&array, who);"}
SECTIONS = {"gpu": "gpu/entry/*", "step": "uprobe", "pause": "uprobe"}
NUMBERS = {"gpu": 1, "step": 2, "pause": 3}
EXPECTED = {1: LAUNCHES * THREADS, 2: LAUNCHES + STEPS, 3: LAUNCHES}
HEAD = """#include <gpubpf/probe.h>
#define VALUES(name, map_type) struct { __uint(type, map_type); __uint(max_entries, 8192); __type(value, __u64); } name SEC(".maps")
static __always_inline void add(void *map, __u32 key)
{
	__u64 zero = 0, *value;
	bpf_map_update_elem(map, &key, &zero, 1);
	value = bpf_map_lookup_elem(map, &key);
	if (value)
		__sync_fetch_and_add(value, 1);
}
"""
ADD_ARRAY = "\t{ __u32 k = who; __u64 *v = bpf_map_lookup_elem(&array, &k); if (v) __sync_fetch_and_add(v, 1); }\n"


def build(name, maps, programs, tag=""):
    text = HEAD + "".join(MAPS[m] + "\n" for m in maps)
    for p in programs:
        text += f'SEC("{SECTIONS[p]}")\nint {p}{tag}(void *ctx)\n{{\n\t__u64 who = {NUMBERS[p]};\n'
        text += "".join(ADD_ARRAY if m == "array" else f"\t{STORE[m]}\n" for m in maps) + "\treturn 0;\n}\n"
    text += 'char LICENSE[] SEC("license") = "GPL";\n'
    with open(f"{work}/{name}.bpf.c", "w", encoding="utf-8") as f:
        f.write(text)
    subprocess.run([clang, "-g", "-O2", "-target", "bpf", *(f"-I{i}" for i in includes), "-c", f"{work}/{name}.bpf.c", "-o", f"{work}/{name}.o"], check=True)
    return f"{work}/{name}.o"


def run(name, objects, tags):
    """Returns the report, and the tool's standard error. Uprobes attach to a copy of the application, so they count no
    other process."""
    app = shutil.copy(loop, f"{work}/{name}.app")
    attach = [a for t in tags for a in ("-a", f"step{t}={app}:host_step", "-a", f"pause{t}={app}:host_pause")]
    options = [o for path in objects for o in ("-o", path)]
    got = subprocess.run([gpubpf, "run", "-j", "--events", "100000", "-r", f"{work}/{name}.json", *options, *attach, "--", app, str(LAUNCHES), "0"],
                         env=env, capture_output=True, text=True, timeout=600, check=False)
    try:
        with open(f"{work}/{name}.json", encoding="utf-8") as f:
            return json.load(f), got.stderr
    except (OSError, ValueError):
        return {"maps": [], "events": []}, got.stderr


def sums_of(report):
    """Returns {map: [{program number: times} for each object's map of that name]}; for ring buffers one sum of all
    objects."""
    found = {m: [] for m in MAPS}
    for m in report["maps"]:
        if m["name"] in ("hash", "array"):
            found[m["name"]].append({e["key"]: e["value"] for e in m["entries"] if e["value"]})
        elif m["name"] == "queue":
            values = [e["value"] for e in m["entries"]]
            found["queue"].append({v: values.count(v) for v in set(values)})
    records = [e["value"] for e in report["events"] if e["map"] == "ring"]
    found["ring"] = {v: records.count(v) for v in set(records)}
    return found


def is_exact(sums, objects):
    return sums["ring"] == {k: v * objects for k, v in EXPECTED.items()} and \
        all(sums[m] == [EXPECTED] * objects for m in ("hash", "array", "queue"))


def run_case(number):
    maps, programs = cases[number]
    report, said = run(f"case{number}", [build(f"case{number}", maps, programs)], [""])
    sums = sums_of(report)
    return number, is_exact(sums, 1), sums, said


def run_cases():
    first = run_case(0)
    if "not attached" in first[3]:
        skip_all("the Linux kernel takes no uprobes of ours")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = [first, *pool.map(run_case, range(EVERY, len(cases), EVERY))]
    wrong = [r for r in results if not r[1]]
    ok(not wrong, f"{len(results) - len(wrong)} of {len(results)} orders in an object are exact", *(f"{cases[r[0]]} {r[2]} {r[3][:300]}" for r in wrong[:5]))


def run_together():
    orders = list(itertools.permutations(range(3)))
    objects = [build(f"object{i}", *cases[i * 53 + 7], tag=str(i)) for i in range(3)]
    exact = 0
    for order in orders:
        report, said = run("together", [objects[i] for i in order], "012")
        sums = sums_of(report)
        exact += is_exact(sums, 3)
        if not is_exact(sums, 3):
            ok(False, f"-o in order {order}", sums, said[:600])
    ok(exact == len(orders), f"{exact} of {len(orders)} orders of three -o are exact")


icd = "/etc/OpenCL/vendors/pocl.icd"
if not os.path.exists(icd) or not os.path.exists(loop):
    skip_all("PoCL is not installed")
cases = list(itertools.product(itertools.permutations(MAPS), itertools.permutations(SECTIONS)))
with tempfile.TemporaryDirectory() as work:
    env = dict(os.environ, OCL_ICD_VENDORS=icd, XDG_CACHE_HOME=work, XDG_RUNTIME_DIR=work, LOOP_STEPS=str(STEPS))
    run_cases()
    run_together()
plan()
