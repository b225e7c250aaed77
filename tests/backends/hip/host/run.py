#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py BUILD: programs of sections host/ run on the CPU at calls of the HIP runtime, on a simulated AMD GPU. A program
in the kernel finds the launches that the host recorded. Prints TAP."""
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(here, "../programs"), os.path.join(here, "../../..")]
import hip
from tap import ok, plan, ran

SCRIPT = """
host/launch { @l[kernel, func] = count(); @number[ctx.launch] = count(); @in[ctx.host.stream != 0] = count(); }
host/launch_exit { @d[kernel, duration > 0, retval] = count(); }
host/copy { @copies[func, ctx.host.direction] = sum(ctx.host.bytes); @streams[func] = sum(ctx.host.stream != 0); }
host/copy_exit { @clock[ctx.done.clock, retval] = count(); }
host/alloc { @before[func] = sum(ctx.host.bytes); }
host/alloc_exit { @alloc[func, ctx.host.pointer != 0] = count(); }
host/free { @free[func, ctx.host.pointer != 0] = count(); }
host/sync, host/event, host/stream, host/module, host/graph { @[func] = count(); }
host/sync_exit { @thread[ctx.host.tid == ctx.host.pid, duration > 0, retval] = count(); }
gpu/entry/* { @kernels[ctx.launch] = count(); }
"""
LINES = [
    "@l[step_one, hipLaunchKernel]: 4",  # a captured launch is a launch, and a node of a graph is none
    *(f"@number[{i}]: 1" for i in range(4)), *(f"@kernels[{i}]: {64}" for i in range(3)),  # kernels see the numbers of the host
    "@in[true]: 4", "@d[step_one, true, 0]: 4", "@copies[hipMemcpy, 1]: 256", "@copies[hipMemcpyAsync, 3]: 256",
    "@copies[hipMemcpyDtoH, 2]: 256", "@streams[hipMemcpyAsync]: 1", "@streams[hipMemcpy]: 0", "@clock[1, 0]: 3",
    "@before[hipMalloc]: 768", "@alloc[hipMalloc, true]: 2", "@free[hipFree, true]: 2",
    *(f"@[{name}]: 1" for name in (
        "hipDeviceSynchronize", "hipStreamSynchronize", "hipEventSynchronize", "hipEventCreateWithFlags", "hipEventRecord",
        "hipStreamWaitEvent", "hipEventDestroy", "hipStreamCreate", "hipModuleLoad", "hipModuleUnload",
        "hipStreamBeginCapture", "hipStreamEndCapture", "hipGraphAddKernelNode", "hipGraphInstantiate", "hipGraphLaunch")),
    "@thread[true, true, 0]: 3",
]
EVENTS = "launch copy alloc free sync event stream module graph"

simulator = hip.simulator()
compiler = next(iter(hip.compilers().values()))
build = os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    program, module = f"{folder}/calls", f"{folder}/calls.co"
    hip.build(compiler, [f"{here}/calls.hip"], program)
    hip.build(compiler, [f"{here}/calls.hip"], module, ["--genco" if "hip" not in compiler else "--cuda-device-only", "--no-gpu-bundle-output"])
    for name in "run", "cache":
        os.mkdir(f"{folder}/{name}", 0o700)
    env = dict(os.environ, GPUBPF_BACKEND="hip", XDG_RUNTIME_DIR=f"{folder}/run", XDG_CACHE_HOME=f"{folder}/cache")
    native = subprocess.run([*simulator, program, module], env=env, capture_output=True, text=True, timeout=600)
    probed = subprocess.run([f"{build}/gpubpf", "-e", SCRIPT, "--", *simulator, program, module], env=env, capture_output=True,
                            text=True, timeout=600)
ok(native.returncode == 42, "the program by itself", native.stderr)
ok((probed.returncode, probed.stdout) == (42, native.stdout), "the program prints the same", probed.stdout, probed.stderr)
lines = [line.strip() for line in probed.stderr.splitlines()]
for line in LINES:
    ok(line in lines, line)
missing = [line for line in LINES if line not in lines]
print("# " + probed.stderr.replace("\n", "\n# ") if missing else "# no line is missing")
for event in EVENTS.split():
    ran("host-hip", event)
plan()
