#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""places.py BUILD pocl|intel source|il CLANG CASE...: programs at memory accesses in OpenCL kernels. Prints TAP. Each
case (tests/backends/spirv/opencl_c/case.h) runs natively and under tests/backends/spirv/opencl/places.bpf.c. Its kernels must write the same output. The
programs must count the accesses and bytes that the case states, as must Oclgrind if it is installed:
    //@ mem: KERNEL KIND ACCESSES:BYTES ...    with programs at all kinds of places, or at all except .all, and at
                                               atomics and barriers
    //@ told: KERNEL KIND FIELD=SUM ...        sums of other context fields
    //@ oclgrind: all the same                as many as Oclgrind executes, if it is installed
    //@ assembly: all FILE                     the module, as text for spirv-as
    //@ refuses: KERNEL KIND WORDS             a program of that kind is refused, and the reason contains these words
CASE may be random:SEED, random kernels (places_random.py), whose output only is compared. random:SEED:N has N
kernels, up to 60. random:SEED:N:OBJECT uses only that object's programs (places, places-line, ...).
random:SEED:N:turns uses one of five objects, chosen by the seed, which is a fifth of the work. CLANG may be a folder
with their modules SEED-N.spv, if there is no clang. A key with the suffix -il or -source applies to that form only.
Intel's CPU compiler, if it vectorises, loses stores to a private array at an index that is one of two, with or
without programs (places/lost.cl). PoCL's loses them at a computed index (places/lost-pocl.cl). A difference is a
SKIP if all of these hold: the runtime loses stores natively in that case, the differing kernels have such a store to
an array p, and they are equal without vectorisation."""
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import places_random

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
from tap import ok, plan, ran, skip, skip_all

KINDS = ["mem", "mem_before", "mem.shared", "mem.local", "mem.const", "mem.all", "mem_before.all", "atomic",
         "barrier", "barrier_exit", "block_begin", "branch", "mark", "line", "line.one", "insn", "insn.fmul", "insn.select",
         "insn.shuffle", "insn.store", "insn.max", "insn.extract", "insn.branch", "call", "call_exit", "call.sum", "call_exit.sum", "call_exit.scaled",
         "call_exit.pair", "block_end", "mem.capture", "mem.plain"]
TURNS = ["places", "places-sync", "places-ends", "places-call", "places-insn" if sys.argv[3] == "il" else "places-line"]
SCALAR = {"intel": {"CL_CONFIG_CPU_VECTORIZER_MODE": "1"}, "pocl": {"POCL_WORK_GROUP_METHOD": "loops", "POCL_KERNEL_CACHE": "0"}} # scalar
LOSES = {"intel": ("lost.cl", r"^\s*p\[[^\n]*\?[^\n]*\] \^?= "), "pocl": ("lost-pocl.cl", r"^\s*p\[[^\n]*\w[^\n]*\] = ")}
build, device, form, clang = os.path.abspath(sys.argv[1]), *sys.argv[2:5]
cases = sys.argv[5:]
here = f"{build}/tests/backends/spirv/opencl"


def run(command, more=(), **rest):
    return subprocess.run(command, capture_output=True, text=True, timeout=800, env={**env, **dict(more)}, check=False, **rest)


def compiled(path, text, where, made):
    if form == "source":
        return []
    if os.path.isdir(clang):
        return [os.path.abspath(f"{clang}/{made}.spv")]
    module = f"{where}/case.spv"
    assembly = case_lines(text, "assembly")
    if assembly:
        source = os.path.join(os.path.dirname(path), assembly[0][1])
        subprocess.run(["spirv-as", "--target-env", "spv1.4", source, "-o", module], check=True)
        return [module]
    subprocess.run([clang, "--target=spirv64v1.4", "-x", "cl", "-cl-std=CL2.0", "-O1", "-w", "-Xclang", "-finclude-default-header",
                    *(f"-I{os.path.join(os.path.dirname(path), i)}" for i in re.findall(r"^//@ options: -I(.*)$", text, re.M)), "-c", path, "-o", module], check=True)
    return [module]


def probed(app, object_, folder, where, *options, more=()):
    report = f"{where}/report.json"
    tool = run([f"{build}/gpubpf", "run", *options, "-j", "--report", report, "--wait", "600", "-o", f"{here}/{object_}.bpf.o", "--", *app],
               more, cwd=folder)
    with open(report, encoding="utf-8") as f:
        return tool.stdout, json.load(f), tool.stderr


def sums_of(report):
    """Returns {kernel: {kind: sums}}."""
    names = {k["id"]: k["name"] for k in report["kernels"] if k["probed"]}
    told = {}
    for m in (m for m in report["maps"] if m["name"] == "told"):
        for e in m["entries"]:
            kernel, kind = divmod(e["key"], 32)
            if kernel in names and kind < len(KINDS):
                told.setdefault(names[kernel], {})[KINDS[kind]] = e["value"]
    return told


def kinds_of(object_):
    return {"places": lambda kind: kind.startswith("mem"), "places-late": lambda kind: kind.startswith("mem"), "places-sync": lambda kind: kind not in ("end", "mark", "line") and not kind.startswith("mem"),
            "places-ends": lambda kind: kind.startswith("block"), "places-branch": lambda kind: kind in ("atomic", "branch"), "places-end": lambda kind: kind == "end", "places-mark": lambda kind: kind == "mark", "places-line": lambda kind: kind == "line", "places-insn": lambda kind: kind.startswith("insn"), "places-plain": lambda kind: kind == "mem.plain", "places-call": lambda kind: kind.startswith("call"), "places-some": lambda kind: kind.startswith("mem") and not kind.endswith(".all")}[object_]


def case_lines(text, key):
    return re.findall(rf"^//@ (?:{key}|{key}-{form}): (\S+) (.*)$", text, re.M)


def check_sums(name, text, kernels, told):
    for kernel, rest in case_lines(text, "mem"):
        for kind, n in re.findall(r"(\w\S*) (\d+:\d+)", rest):
            got = told.get(kernel, {}).get(kind, {"accesses": 0, "bytes": 0})
            got = f"{got['accesses']}:{got['bytes']}"
            ok(got == n, f"{name}: {kernel} gpu/{kind}/ {n}", f"{got} {kernels[kernel]}")
    for kernel in {kernel for kernel, rest in case_lines(text, "mem") if re.search(r"\bmem \d", rest)}:
        of, got = (told.get(kernel, {}).get(kind, {}) for kind in ("mem", "mem.capture"))
        want = {k: of.get(k) for k in ("accesses", "bytes", "loads", "stores", "atomics", "prefetches")}
        ok(got and {k: got[k] for k in want} == want and got["offsets"] == want["accesses"],
           f"{name}: {kernel} kprobe/__memcapture has what gpu/mem/ has", f"{got} {want}")
    for kernel, rest in case_lines(text, "told"):
        kind, *fields = rest.split()
        got = told.get(kernel, {}).get(kind, {})
        ok(all(got.get(f.split("=")[0]) == int(f.split("=")[1], 0) for f in fields), f"{name}: {kernel} gpu/{rest}", got)


def check_listed(name, text, app, folder, where):
    """For each kernel that is refused for code that the reader cannot see, the list of places must have no place of
    that kind."""
    wanted = {(k, words.split()[0]) for k, words in case_lines(text, "refuses") if re.search(r"macro|arrow|understand", words)}
    if form != "source" or not wanted:
        return
    report = f"{where}/list.json"
    run([f"{build}/gpubpf", "kernel", "list", "-j", "--places", "--report", report, "--", *app], cwd=folder)
    with open(report, encoding="utf-8") as f:
        listed = {k["name"]: [p["place"] for p in k["places"]] for k in json.load(f)["kernels"]}
    for kernel, kind in sorted(wanted):
        ok("entry" in listed[kernel] and kind not in listed[kernel], f"{name}: {kernel} has no gpu/{kind}/ to list", listed[kernel])


def check_oclgrind(name, path, text, told):
    """Compares the counts with Oclgrind's: loads and stores, and calls of functions that access memory or wait."""
    if not shutil.which("oclgrind"):
        return
    out = run(["oclgrind", "--inst-counts", f"{here}/cl-case", os.path.basename(path)], cwd=os.path.dirname(path)).stdout
    for part in out.split("Instructions executed for kernel ")[1:]:
        kernel = part.split("'")[1]
        want = {kind: sum(int(n) for n in re.findall(rf"(\d+) - (?:load|store) {space} ", part)) for kind, space in
                (("mem", "global"), ("mem.shared", "local"), ("mem.local", "private"), ("mem.const", "constant"))}
        calls = re.findall(r"(\d+) - call _Z\d+(?:vload|vstore|atom)\S*?PU3AS(\d)", part) + \
            re.findall(r"(\d+) - call _Z\d+atom\S*?PVU3AS(\d)", part)
        if "barrier" in text: # programs at atomics and barriers ran as well
            want["atomic"] = sum(int(n) for n in re.findall(r"(\d+) - call _Z\d+atom", part))
            want["barrier"] = sum(int(n) for n in re.findall(r"(\d+) - call _Z7barrierj", part))
        for n, space in calls:
            kind = {"1": "mem", "2": "mem.const", "3": "mem.shared"}[space]
            want[kind] += int(n)
        got = {kind: told.get(kernel, {}).get(kind, {"accesses": 0})["accesses"] for kind in want}
        ok(got == want, f"{name}: {kernel} as Oclgrind counts", f"{got} {want}")


def check_races(name, path):
    """Checks that a case's output does not depend on the order of lanes."""
    if not shutil.which("oclgrind"):
        skip(f"{name}: data races", "no oclgrind")
        return
    out = run(["oclgrind", "--data-races", f"{here}/cl-case", os.path.basename(path)], cwd=os.path.dirname(path))
    if out.returncode:
        skip(f"{name}: data races", "Oclgrind does not run it")
    else:
        ok("data race" not in out.stderr, f"{name}: Oclgrind sees no data race", out.stderr[:2000])


def random_case(asked, where):
    """Returns the file of a random case, the name of its module, and the requested objects (empty for all)."""
    seed, *rest = asked.split(":")[1:]
    kernels, path = [int(n) for n in rest[:1]], f"{where}/random.cl"
    print(f"# seed {seed}")
    with open(path, "w", encoding="utf-8") as out:
        out.write(places_random.case(int(seed), *kernels))
    alone = [TURNS[int(seed) // kernels[0] % len(TURNS)] if o == "turns" else o for o in rest[1:]]
    return path, "-".join([seed, *map(str, kernels)]), alone


@functools.cache
def vectors_lose():
    lost = [f"{here}/cl-case", LOSES[device][0]]
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "places")
    return run(lost, {"POCL_KERNEL_CACHE": "0"}, cwd=folder).stdout != run(lost, SCALAR[device], cwd=folder).stdout != ""


def may_lose(text, kernel):
    """Does the kernel store to its private array p in the way in which this runtime may lose stores?"""
    body = re.search(rf"^__kernel void {kernel}\(.*?^}}", text, re.M | re.S)
    return body and re.search(LOSES[device][1], body[0], re.M)


def is_lost(text, app, object_, folder, where, native, out):
    """Do the outputs differ only because vectorised code loses stores?"""
    native, out = native.splitlines(), out.splitlines()
    differ = {line.split()[0] for line, other in zip(native, out) if line != other}
    if len(native) != len(out) or not vectors_lose() or not all(may_lose(text, k) for k in differ):
        return False
    scalar, report, _ = probed(app, object_, folder, where, "--no-cache", more=SCALAR[device])
    return scalar == run(app, SCALAR[device], cwd=folder).stdout != "" and all(k["probed"] for k in report["kernels"] if k["name"] in differ)


def equals_source_build(file, folder, out):
    """Does the runtime produce this output without a probe, if it compiles the kernels from source?"""
    return form == "il" and run([f"{here}/cl-case", file], cwd=folder).stdout == out


def check(path, where):
    made, alone = "", []
    if path.startswith("random:"):
        path, made, alone = random_case(path, where)
    path = os.path.abspath(path)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if case_lines(text, "assembly") and not shutil.which("spirv-as"):
        skip(os.path.basename(path), "no spirv-as here")
        return
    name = f"{os.path.basename(path)} as {form} on {device}"
    folder, file = os.path.split(path)
    app = [f"{here}/cl-case", file, *compiled(path, text, where, made)]
    native = run(app, cwd=folder)
    if native.returncode: # the device cannot compile the case
        ok(False, name, native.stderr)
        return
    told = {}
    objects = ["places-late" if form == "source" else "places"] + ["places-some"] * bool(case_lines(text, "refuses")) + ["places-sync"] * ("barrier" in text)
    wanted = "\n".join(line for line in text.splitlines() if line.startswith("//@")) # other comments name kinds, too
    objects += ["places-branch"] * (" branch " in wanted)
    objects += ["places-mark"] * (" mark " in wanted)
    objects += ["places-insn"] * (form == "il" and (" insn " in wanted or path.startswith(where)))
    objects += ["places-ends"] * (" block_end " in wanted or path.startswith(where))
    objects += ["places-plain"] * (" mem.plain " in wanted)
    objects += ["places-call"] * (" call " in wanted or path.startswith(where))
    objects += ["places-line"] * (" line " in wanted or (form == "source" and path.startswith(where)))
    objects += ["places-end"] * (" end threads" in wanted)
    if "fract" in text and path.startswith(where):
        objects[0] = "places-some" # in random cases with fract, values are not available
    if alone:
        objects = [objects[0] if o == "places" else o for o in alone]
    for object_ in objects:
        out, report, log = probed(app, object_, folder, where)
        if out != native.stdout and is_lost(text, app, object_, folder, where, native.stdout, out):
            skip(f"{name}: the output is the same with {object_}", f"the runtime's vectors lose stores, see {LOSES[device][0]}")
        elif out != native.stdout and path.startswith(where) and equals_source_build(file, folder, out):
            skip(f"{name}: the output is the same with {object_}", "the runtime makes something else of the module without probes")
        else:
            ok(out == native.stdout, f"{name}: the output is the same with {object_}", f"{native.stdout} {out} {log}")
        ok(not re.search(r"errors? generated\.", log), f"{name}: compilers of twins say nothing themselves with {object_}", log)
        kernels = {k["name"]: (k["probed"], k["reason"]) for k in report["kernels"]}
        refused = {k: words for k, words in case_lines(text, "refuses") if kinds_of(object_)(words.split()[0])}
        for kernel, words in refused.items():
            words = words.split(" ", 1)[1]
            ok(words in kernels[kernel][1], f"{name}: {kernel} is refused: {words}", kernels[kernel])
        calls_none = path.startswith(where) and object_ == "places-call" # kernels without calls are not refused
        rest = {k: v for k, v in kernels.items() if k not in refused and not v[0] and not (calls_none and not v[1])}
        ok(not rest, f"{name}: all others are probed with {object_}", f"{rest} {log}")
        for kernel, sums in sums_of(report).items():
            for kind in (k for k, v in sums.items() if v["accesses"]):
                ran("spirv" if form == "il" else "wrap", kind.removesuffix(".plain") if kind.startswith("mem") else kind.split(".")[0])
        for place in ("entry", "exit") if object_ == "places-ends" else ():
            ran("spirv" if form == "il" else "wrap", place)
        for kernel, sums in sums_of(report).items():
            told[kernel] = {**sums, **{k: v for k, v in told.get(kernel, {}).items() if v["accesses"]}}
    check_sums(name, text, kernels, told)
    check_listed(name, text, app, folder, where)
    if not path.startswith(where):
        check_races(name, path)
    if case_lines(text, "oclgrind"):
        check_oclgrind(name, path, text, told)


env = dict(os.environ)
if device == "intel":
    icd = os.environ.get("GPUBPF_TEST_INTEL", "")
    if not os.path.exists(icd):
        skip_all("Intel's CPU runtime: GPUBPF_TEST_INTEL names no libintelocl.so")
    env["OCL_ICD_VENDORS"] = icd
with tempfile.TemporaryDirectory() as folder:
    env["XDG_CACHE_HOME"] = folder
    for case in cases:
        check(case, folder)
plan()
