#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stack.py RUNTIME BUILD PAINTED PROBE APP...: measures how much of the caller's stack the hooked calls use. Prints
TAP. Runs each application without and with gpubpf, with an empty cache of twins and with a full one. The library
PAINTED measures the bytes of the caller's stack that each call writes (painted.c). Under gpubpf they may be LIMIT
bytes more. If a symbol has the same number of calls in both runs, each call is compared with its call in the run
without gpubpf. RUNTIME is opencl, cuda, hip or level_zero."""
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from tap import ok, plan, skip, skip_all

LIMIT = 2048
# Intel's runtime runs kernels, and therefore twins, on the stack of a thread that waits in one of these calls
WAITS = {"clFinish", "clWaitForEvents", "clEnqueueReadBuffer", "clEnqueueReadBufferRect", "clEnqueueReadImage", "clEnqueueMapBuffer",
         "clEnqueueMapImage", "clReleaseCommandQueue"}
runtime, build, painted, probe, *apps = sys.argv[1:]
here = os.path.dirname(os.path.abspath(__file__))
work = tempfile.TemporaryDirectory()
agent = f"{build}/hooks/libgpubpf-agent.so"
environment = dict(os.environ, LD_BIND_NOW="1")
table = {}


def run(command, env):
    try:
        p = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
        return p.returncode, p.stdout, p.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired as e:
        return "time-out", e.stdout or b"", (e.stderr or b"").decode(errors="replace")


def read(folder):
    """Returns {symbol: (calls, bytes of each, maximum)}. If several processes called it, the process with most calls
    counts."""
    found = {}
    for name in os.listdir(folder):
        with open(f"{folder}/{name}", encoding="ascii") as f:
            for line in f:
                symbol, calls, *each, most = line.split()
                had = found.get(symbol, (0, [], 0))
                if int(calls) > had[0]:
                    found[symbol] = (int(calls), [int(n) for n in each], max(int(most), had[2]))
                else:
                    found[symbol] = (had[0], had[1], max(int(most), had[2]))
    return found


def measured(command, env, before=()):
    folder = tempfile.mkdtemp(dir=work.name)
    shell = ["sh", "-c", f'LD_PRELOAD="{painted}${{LD_PRELOAD:+:}}$LD_PRELOAD" exec "$@"', "sh"]
    return run([*before, *shell, *command], dict(env, PAINTED=folder)), read(folder)


def more(native, probed):
    # the fake Level Zero driver runs kernels on a caller's stack
    if native[0] == probed[0] == len(native[1]) and runtime != "level_zero":
        return max(b - a for a, b in zip(native[1], probed[1]))
    return probed[2] - native[2]


def compare(name, native, probed):
    deep = []
    for symbol in sorted(probed):
        if symbol not in native:
            continue
        n = more(native[symbol], probed[symbol])
        if symbol in WAITS and apps[0] == "intel":
            n = probed[symbol][2] - max(native[s][2] for s in WAITS if s in native)
        had = table.get(symbol, (0, 0, float("-inf")))
        if n >= had[2]:
            table[symbol] = (native[symbol][2], probed[symbol][2], n)
        if n > LIMIT:
            deep.append(f"{symbol}: {native[symbol][2]} bytes by itself, {probed[symbol][2]} under gpubpf, {n} more at most")
    ok(not deep and probed, f"{name}: {len(probed)} functions write at most {LIMIT} bytes of stack more", *deep)


def tool(cache, options=()):
    report = f"{work.name}/report"
    return [f"{build}/gpubpf", "run", "-q", *options, "-r", report, "-o", probe, "--"], dict(environment, XDG_CACHE_HOME=cache)


def measured_alone(command):
    """Runs the command without gpubpf. The fake Level Zero driver runs kernels on the stack of some caller, which
    differs between runs, so the maximum of several runs counts."""
    result, found = measured(command, environment)
    for _ in range(5 if runtime == "level_zero" else 0):
        again = measured(command, environment)[1]
        found = {symbol: (*at[:2], max(at[2], again.get(symbol, at)[2])) for symbol, at in found.items()}
    return result, found


def check(name, command, options=()):
    (status, out, err), native = measured_alone(command)
    if status:
        return ok(False, f"{name}: the program by itself", f"status {status}", err)
    cache = tempfile.mkdtemp(dir=work.name)
    for how in "empty cache", "full cache":
        before, env = tool(cache, options)
        got, probed = measured(command, env, before)
        ok(got[:2] == (status, out), f"{name}, {how}: output and status as without probes", got)
        compare(f"{name}, {how}", native, probed)


def check_small(name, command, options=()):
    """Checks that a thread with a stack of PTHREAD_STACK_MIN survives when the first calls of the runtime are made in
    it."""
    status, out, _ = run(command, environment)
    if status:
        return skip(f"{name}: a thread of 16 KiB", f"by itself it ends with status {status}")
    cache = tempfile.mkdtemp(dir=work.name)
    for how in "empty cache", "full cache":
        before, env = tool(cache, options)
        got = run(before + command, env)
        ok(got[:2] == (status, out), f"{name}, {how}: a thread of 16 KiB lives", got)


def hooked():
    with open(f"{here}/../../../hooks/{runtime}/calls.def", encoding="ascii") as f:
        text = f.read()
    if runtime == "hip":
        return set(re.findall(r"^HIP_C\((\w+),", text, re.M)) | set(re.findall(r"^HIP_CALL\([^,]+, \w+, \"?(__hip\w+)\"", text, re.M))
    if runtime == "level_zero":
        return {"ze" + t.removesuffix("Exp") + m for t, m in re.findall(r"^LZ_\w+\((\w+), (\w+),", text, re.M)}
    return set(re.findall(r"^(?:OCL|CUDA)_CALL\((\w+)[,)]", text, re.M)) - {"symbol"}


def opencl():
    device, app, stacks = apps
    icd = os.environ.get("GPUBPF_TEST_INTEL", "") if device == "intel" else (glob.glob("/etc/OpenCL/vendors/pocl*.icd") or [""])[0]
    if not os.path.exists(icd):
        skip_all(f"no OpenCL runtime {device}")
    environment["OCL_ICD_VENDORS"] = icd
    run([app, "all"], environment)  # not measured: the runtime compiles some of its own code in the first run only
    check("a counter", [app, "all"])
    check_small("a counter", [app, "small"])
    if device == "intel":
        return
    global probe
    probe = stacks
    check("stacks of launches", [app, "all"])


def cuda():
    app, scenarios, driver, loaded = apps
    environment["LD_LIBRARY_PATH"] = os.path.dirname(driver) + ":" + environment.get("LD_LIBRARY_PATH", "")
    environment["GPUBPF_PTXAS"] = ""
    options = ["-b", "cuda"]
    for scenario in ("library contexts reload captured nodes unload enumerated linked libraries green part older detached refused "
                     "broken-twin occupancy").split():
        check(scenario, [scenarios, "link", scenario], options)
    check("other calls", [app, "all", work.name], options)
    check_small("a module", [app, "small"], options)
    native = run([app, "load", loaded], environment)
    before, env = tool(tempfile.mkdtemp(dir=work.name), options)
    got = run(before + [app, "load", loaded], env)
    ok(got[:2] == native[:2] == (0, native[1]), "a library whose constructor launches", native, got)
    with open(f"{work.name}/report", encoding="utf-8") as f:
        report = f.read()
    ok(re.search(r"^ *one +1 +1 ", report, re.M), "and that launch is probed", report)


def hip():
    app, test, folder, lacking = apps
    environment.update(LD_LIBRARY_PATH=folder, GPUBPF_TEST_FAKE_HIP="")
    native = {}
    for mode in "check", "ways", "resets", "churn":
        got, found = measured([app, mode], environment)
        ok(not got[0], f"{mode}: the program by itself", got)
        native.update({k: v for k, v in found.items() if v[2] > native.get(k, (0, [], -1))[2]})
    into = tempfile.mkdtemp(dir=work.name)
    run([test, f"{painted}:{agent}", app, folder, lacking], dict(environment, PAINTED=into))
    compare("with twins that a session hands out", native, read(into))


def level_zero():
    driver, modules, *programs = apps
    environment.update(OCL_ICD_VENDORS=os.environ.get("GPUBPF_TEST_INTEL", ""), ZE_ENABLE_ALT_DRIVERS=driver, GPUBPF_FAKE_ZE="device")
    if not os.path.exists(environment["OCL_ICD_VENDORS"]):
        skip_all("Intel's CPU runtime: GPUBPF_TEST_INTEL names no libintelocl.so")
    wanted = "basic cooperative events immediate indirect linked native reexecuted later_calls".split()
    for program in (p for p in programs if os.path.basename(p).removeprefix("ze-") in wanted):
        check(os.path.basename(program), [program, modules])


if os.uname().machine != "x86_64":
    skip_all("the stack is measured on x86-64 alone")
{"opencl": opencl, "cuda": cuda, "hip": hip, "level_zero": level_zero}[runtime]()
for symbol, (native_bytes, probed_bytes, most_more) in sorted(table.items()):
    print(f"# {symbol}: {native_bytes} bytes by itself, {probed_bytes} under gpubpf, {most_more} more at most")
missing = sorted(hooked() - set(table))
print(f"# not called: {' '.join(missing) or 'none'}")
if runtime == "opencl":
    ok(not missing, "each hooked function was called", *missing)
plan()
