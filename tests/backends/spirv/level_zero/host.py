#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""host.py BUILD DRIVER PROGRAM: programs of sections host/ run on the CPU at calls of a Level Zero driver. A program in the
kernel finds the launches that the host recorded. Prints TAP."""
import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
from tap import ok, plan, ran, skip_all

SCRIPT = """
host/launch { @l[kernel, func] = count(); @number[ctx.launch] = count(); @in[ctx.host.stream != 0] = count(); }
host/launch_exit { @d[kernel, duration > 0, retval] = count(); }
host/copy { @copies[func, ctx.host.bytes] = count(); }
host/copy_exit { @clock[ctx.done.clock, retval] = count(); }
host/alloc { @before[func] = max(ctx.host.bytes); }
host/alloc_exit { @alloc[func, ctx.host.pointer != 0] = count(); }
host/free { @free[func, ctx.host.pointer != 0] = count(); }
host/sync, host/event, host/stream, host/module, host/graph { @[func] = count(); }
host/graph_exit { @thread[ctx.host.tid == ctx.host.pid, retval] = count(); }
gpu/entry/* { @kernels[ctx.launch] = count(); }
"""
LINES = [
    "@l[scale, zeCommandListAppendLaunchKernel]: 4", *(f"@number[{i}]: 1" for i in range(4)),
    *(f"@kernels[{i}]: 64" for i in range(4)),  # kernels see the numbers of the host
    "@in[true]: 4", "@d[scale, true, 0]: 4", "@copies[zeCommandListAppendMemoryCopy, 256]: 4", "@clock[1, 0]: 4",
    "@before[zeMemAllocHost]: 4096", "@alloc[zeMemAllocShared, true]: 2", "@alloc[zeMemAllocHost, true]: 1",
    "@free[zeMemFree, true]: 3",
    *(f"@[{name}]: 1" for name in (
        "zeCommandQueueSynchronize", "zeEventHostSynchronize", "zeEventCreate", "zeEventHostSignal", "zeEventHostReset",
        "zeEventDestroy", "zeCommandListAppendBarrier", "zeCommandQueueCreate", "zeCommandListCreateImmediate", "zeModuleCreate",
        "zeModuleDestroy", "zeCommandListCreate", "zeCommandListClose", "zeCommandQueueExecuteCommandLists")),
]

build, driver, program = (os.path.abspath(path) for path in sys.argv[1:4])
icd = os.environ.get("GPUBPF_TEST_INTEL", "")
if not os.path.exists(icd):
    skip_all("Intel's CPU runtime: GPUBPF_TEST_INTEL names no libintelocl.so")
with tempfile.TemporaryDirectory() as folder:
    env = dict(os.environ, OCL_ICD_VENDORS=icd, ZE_ENABLE_ALT_DRIVERS=driver, XDG_CACHE_HOME=folder, GPUBPF_BACKEND="level_zero")
    command = [program, f"{build}/tests/backends/spirv/level_zero"]
    native = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    probed = subprocess.run([f"{build}/gpubpf", "-e", SCRIPT, "--", *command], env=env, capture_output=True, text=True, timeout=600)
ok(native.returncode == 0, "the program by itself", native.stderr)
ok((probed.returncode, probed.stdout) == (0, native.stdout), "the program prints the same", probed.stdout, probed.stderr)
lines = [line.strip() for line in probed.stderr.splitlines()]
for line in LINES:
    ok(line in lines, line)
if not set(LINES) <= set(lines):
    print("# " + probed.stderr.replace("\n", "\n# "))
for event in "launch copy alloc free sync event stream module graph".split():
    ran("host-level_zero", event)
plan()
