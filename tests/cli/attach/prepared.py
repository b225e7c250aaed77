#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prepared.py GPUBPF LIVE ARGUMENTS RUNTIME: attaches to OpenCL applications that `gpubpf run --idle` started, and whose arguments were set before.

GPUBPF_TEST_ROUNDS is the number of attaches and detaches (default: 8). GPUBPF_TEST_KILLS is the number of times that the test kills the tool
(default: 15)."""
import glob
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
import tap

GPUBPF, LIVE, ARGUMENTS, RUNTIME = (*(os.path.abspath(p) for p in sys.argv[1:4]), sys.argv[4])
ROUNDS = int(os.environ.get("GPUBPF_TEST_ROUNDS", "8"))
KILLS = int(os.environ.get("GPUBPF_TEST_KILLS", "15"))
COUNT = ["-e", "gpu/entry/* { @[kernel] = count(); }"]
ITEMS = 256


def find_runtime():
    if RUNTIME == "pocl":
        return next(iter(sorted(glob.glob("/etc/OpenCL/vendors/pocl*.icd"))), None)
    library = os.environ.get("GPUBPF_TEST_INTEL", "")
    return library if os.path.exists(library) else None


SCRATCH = tempfile.TemporaryDirectory()
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if k not in ("GPUBPF_SESSION", "OPENCL_LAYERS", "GPUBPF_BACKEND")},
               "OCL_ICD_VENDORS": find_runtime() or "", "XDG_RUNTIME_DIR": SCRATCH.name, "XDG_CACHE_HOME": SCRATCH.name}


class Application:
    """A prepared application that has printed its first line. gpubpf executes it, so it has the tool's process id."""
    def __init__(self, *words, program=(GPUBPF, "run", "--idle", "--", LIVE)):
        self.process = subprocess.Popen([*program, *words], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        self.first = self.process.stdout.readline().strip()
        self.pid = self.process.pid

    def end(self, name):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGRTMIN)
        out = self.process.communicate(timeout=120)[0]
        tap.ok(re.search(r"launches \d+ wrong 0$", out.strip()) and self.process.returncode == 0,
               f"{name}: the application's results are right", self.first, out, self.process.returncode)

    def sizes(self):
        """Returns the numbers of descriptors, of mappings of files and memfds, and of threads."""
        maps = open(f"/proc/{self.pid}/maps", encoding="ascii").read()
        files = [line for line in maps.splitlines() if "/" in line and "kcache" not in line and ".so" not in line.split("/")[-1]]
        return len(os.listdir(f"/proc/{self.pid}/fd")), len(files), len(os.listdir(f"/proc/{self.pid}/task"))

    def smallest(self):
        """The sizes once threads of earlier sessions have ended; the one of a killed tool waits 2 s."""
        sizes = self.sizes()
        for _ in range(80):
            time.sleep(0.05)
            sizes = min(sizes, self.sizes())
        return sizes


def count_of(app, seconds):
    """Attach. Returns the exit status, [launches, probed, missed], the count of the probe, and the output."""
    done = subprocess.run([GPUBPF, "attach", "-p", str(app.pid), "-d", str(seconds), "-v", *COUNT], capture_output=True, text=True, env=ENVIRONMENT,
                          timeout=500)
    out = done.stdout + done.stderr
    row = re.search(r"^ +\w+ +(\d+) +(\d+) +(\d+)", out, re.M)
    total = re.search(r"^@\[\w+\]: (\d+)", out, re.M)
    return done.returncode, [int(x) for x in row.groups()] if row else [0, 0, 0], int(total[1]) if total else 0, out


def probed_count(app, seconds):
    """A count in a session that has probed a launch: on a busy machine the first twin takes long."""
    while True:
        result = count_of(app, seconds)
        if result[0] or result[1][1] or seconds > 200:
            return result
        seconds *= 2


def is_exact(result):
    status, (launches, probed, missed), total, out = result
    return status == 0 and probed and launches == probed + missed and total == probed * ITEMS and "argument" not in out


def test_rounds():
    name = f"arguments set once, before: {ROUNDS} rounds, 3 threads"
    app = Application("3", "once")
    probed_count(app, 20)
    first, bad = app.smallest(), []
    for _ in range(ROUNDS):
        result = probed_count(app, 0.5)
        if not is_exact(result):
            bad.append(result)
    tap.ok(not bad, f"{name}: each count is the probed launches times {ITEMS}", *bad[:2])
    tap.ok(app.smallest() == first, f"{name}: descriptors, files and threads as after the first", first, app.sizes())
    app.end(name)


def test_kinds():
    """Each kind of argument, set once, by each way to get a kernel."""
    for mode in ("local", "struct", "clone", "released", "null"):
        app = Application("1", mode, program=(GPUBPF, "run", "--idle", "--", ARGUMENTS))
        result = probed_count(app, 3)
        tap.ok(is_exact(result), f"{mode}: probed from the first launch on", app.first, result)
        app.end(mode)
    app = Application("1", "extension", program=(GPUBPF, "run", "--idle", "--", ARGUMENTS))
    status, (launches, probed, missed), total, out = count_of(app, 3)
    tap.ok(status == 0 and not probed, "an application with extension functions that set arguments: they are unknown", out)
    app.end("extension")


def test_unprepared():
    app = Application("1", "once", program=(LIVE,))
    time.sleep(2)  # the threads start after the first line
    native = app.sizes()
    status, (launches, probed, missed), total, out = count_of(app, 3)
    tap.ok(status == 0 and not probed, "without preparation, arguments that were set before are unknown", out)
    app.end("without preparation")
    app = Application("1", "once")
    time.sleep(2)
    tap.ok(app.sizes()[::2] == native[::2], "a prepared process has as many descriptors and threads", native, app.sizes())
    app.end("prepared")


def test_kills():
    name = f"{KILLS} kills of the tool"
    app = Application("2", "once")
    probed_count(app, 3)
    first = app.smallest()
    for _ in range(KILLS):
        tool = subprocess.Popen([GPUBPF, "attach", "-p", str(app.pid), *COUNT, "-d", "0.2"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        time.sleep(random.choice([random.uniform(0, 0.05), random.uniform(0, 0.5)]))
        tool.kill()
        tool.wait()
    tap.ok(app.process.poll() is None, f"{name}: the application lives", app.process.poll())
    for _ in range(100):
        result = probed_count(app, 1)
        if result[0] == 0:
            break
        time.sleep(0.1)
    tap.ok(is_exact(result), f"{name}: the next tool's count is exact", result)
    tap.ok(app.smallest() == first, f"{name}: nothing is left", first, app.sizes())
    app.end(name)


def test_fork():
    app = Application("1", "fork")
    tap.ok(is_exact(probed_count(app, 2)), "a prepared application that forks: probed")
    app.end("fork")


def test_usage():
    for words, status, pattern in ((["--idle", *COUNT, "--", "true"], 2, "without probes"), (["--idle"], 2, "no application"),
                                   (["--idle", "--", "/nothing"], 127, "/nothing: cannot be run"), (["--idle", "--", "sh", "-c", "exit 7"], 7, "^$")):
        done = subprocess.run([GPUBPF, "run", *words], capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
        tap.ok(done.returncode == status and re.search(pattern, done.stderr), f"run {' '.join(words)}: status {status}", done.stderr, done.returncode)
    done = subprocess.run([GPUBPF, "run", "--idle", "--", "sh", "-c", "echo $LD_PRELOAD"], capture_output=True, text=True,
                          env={**ENVIRONMENT, "LD_PRELOAD": "libm.so.6"}, timeout=60)
    tap.ok(re.fullmatch(r"libm.so.6:/\S+/libgpubpf-idle.so\n", done.stdout), "LD_PRELOAD keeps its entries", done.stdout)


if os.uname().machine != "x86_64":
    tap.skip_all("attach works on x86-64 only")
if not find_runtime():
    tap.skip_all(f"the OpenCL runtime {RUNTIME} is not installed")
test_usage()
test_rounds()
test_kinds()
test_unprepared()
test_kills()
test_fork()
tap.plan()
