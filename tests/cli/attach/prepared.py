#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prepared.py GPUBPF LIVE ARGUMENTS RUNTIME: attaches to OpenCL applications that `gpubpf run --idle` started, and whose arguments were set before.

GPUBPF_TEST_ROUNDS is the number of attaches and detaches (default: 8). GPUBPF_TEST_KILLS is the number of times that the test kills the tool
(default: 15)."""
import os
import pathlib
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
import tap
from applications import ARGUMENTS, COUNT, ENVIRONMENT, ITEMS, Application, count_until, open_runtime

GPUBPF, LIVE, PROGRAM, RUNTIME = (*(os.path.abspath(p) for p in sys.argv[1:4]), sys.argv[4])
ROUNDS = int(os.environ.get("GPUBPF_TEST_ROUNDS", "8"))
KILLS = int(os.environ.get("GPUBPF_TEST_KILLS", "15"))
IDLE = (GPUBPF, "run", "--idle", "--")


def is_exact(result):
    """The application set its arguments before the attach, and no launch was missed for that."""
    return result.is_exact() and "with an argument" not in result.out


def test_rounds():
    name = f"arguments set once, before: {ROUNDS} rounds, 3 threads"
    app = Application(*IDLE, LIVE, "3", "once")
    count_until(GPUBPF, app.pid)
    first, bad = app.smallest(), []
    for _ in range(ROUNDS):
        result = count_until(GPUBPF, app.pid)
        if not is_exact(result):
            bad.append(result)
    tap.ok(not bad, f"{name}: each count is the probed launches times {ITEMS}", *bad[:2])
    tap.ok(app.returns_to(first), f"{name}: descriptors, files and threads as after the first", first, app.sizes())
    app.end(name)


def test_kinds():
    """Each kind of argument, set once, by each way to get a kernel."""
    for mode in ("local", "struct", "clone", "released", "null"):
        app = Application(*IDLE, PROGRAM, "1", mode)
        result = count_until(GPUBPF, app.pid)
        tap.ok(is_exact(result), f"{mode}: probed from the first launch on", app.first, result)
        app.end(mode)
    app = Application(*IDLE, PROGRAM, "1", "extension")
    result = count_until(GPUBPF, app.pid, ARGUMENTS)
    tap.ok(result.status == 0 and result.missed and not result.probed, "an application with extension functions that set arguments: they are unknown", result)
    app.end("extension")


def test_unprepared():
    app = Application(LIVE, "1", "once")
    result = count_until(GPUBPF, app.pid, ARGUMENTS)
    tap.ok(result.status == 0 and result.missed and not result.probed, "without preparation, arguments that were set before are unknown", result)
    app.end("without preparation")
    apps = [Application(LIVE, "1", "pause"), Application(*IDLE, LIVE, "1", "pause")]
    launched = [app.wait_launches() for app in apps]
    native, sizes = (app.sizes() for app in apps)
    tap.ok(all(launched) and sizes[::2] == native[::2], "a prepared process has as many descriptors and threads", launched, native, sizes)
    for app, name in zip(apps, ("unprepared", "prepared")):
        app.end(name)


def test_kills():
    name = f"{KILLS} kills of the tool"
    app = Application(*IDLE, LIVE, "2", "once")
    count_until(GPUBPF, app.pid)
    first = app.smallest()
    for _ in range(KILLS):
        tool = subprocess.Popen([GPUBPF, "attach", "-p", str(app.pid), *COUNT, "-d", "0.2"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        time.sleep(random.choice([random.uniform(0, 0.05), random.uniform(0, 0.5)]))
        tool.kill()
        tool.wait()
    tap.ok(app.process.poll() is None, f"{name}: the application lives", app.process.poll())
    result = count_until(GPUBPF, app.pid)
    tap.ok(is_exact(result), f"{name}: the next tool's count is exact", result)
    tap.ok(app.returns_to(first), f"{name}: nothing is left", first, app.sizes())
    app.end(name)


def test_fork():
    app = Application(*IDLE, LIVE, "1", "fork")
    result = count_until(GPUBPF, app.pid)
    tap.ok(is_exact(result), "a prepared application that forks: probed", result)
    app.end("fork")


def test_usage():
    for words, status, pattern in ((["--idle", *COUNT, "--", "true"], 2, "without probes"), (["--idle"], 2, "no application"),
                                   (["--idle", "--", "/nothing"], 127, "/nothing: cannot be run"), (["--idle", "--", "sh", "-c", "exit 7"], 7, "^$")):
        done = subprocess.run([GPUBPF, "run", *words], capture_output=True, text=True, env=ENVIRONMENT, timeout=300)
        tap.ok(done.returncode == status and re.search(pattern, done.stderr), f"run {' '.join(words)}: status {status}", done.stderr, done.returncode)
    done = subprocess.run([GPUBPF, "run", "--idle", "--", "sh", "-c", "echo $LD_PRELOAD"], capture_output=True, text=True,
                          env={**ENVIRONMENT, "LD_PRELOAD": "libm.so.6"}, timeout=300)
    tap.ok(re.fullmatch(r"libm.so.6:/\S+/libgpubpf-idle.so\n", done.stdout), "LD_PRELOAD keeps its entries", done.stdout)


if os.uname().machine != "x86_64":
    tap.skip_all("attach works on x86-64 only")
if not open_runtime(RUNTIME):
    tap.skip_all(f"the OpenCL runtime {RUNTIME} is not installed")
test_usage()
test_rounds()
test_kinds()
test_unprepared()
test_kills()
test_fork()
tap.plan()
