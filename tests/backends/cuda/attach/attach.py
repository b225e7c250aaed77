#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""attach.py [--idle] GPUBPF LIVE OBJECT DRIVER LIBRARY [TEST...]: attaches to a running CUDA application of the fake driver that checks its own results.

GPUBPF_TEST_ROUNDS is the number of attaches and detaches (default: 8). GPUBPF_TEST_KILLS is the number of times that the test kills the tool
(default: 25)."""
import atexit
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))
import tap
from sizes import Sized, wait_until

PREPARED = sys.argv[1] == "--idle" # the applications run under gpubpf run --idle; functions that they do not call are patched
if PREPARED:
    del sys.argv[1]
GPUBPF, LIVE, OBJECT, DRIVER, LIBRARY = (os.path.abspath(p) for p in sys.argv[1:6])
ROUNDS = int(os.environ.get("GPUBPF_TEST_ROUNDS", "8"))
KILLS = int(os.environ.get("GPUBPF_TEST_KILLS", "25"))
ITEMS = 64 # GPU threads per launch
LIMIT = 300 # seconds for each condition
SCRATCH = tempfile.TemporaryDirectory()
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if not re.match("GPUBPF|FAKE_CUDA|CUDA_VISIBLE", k)}, "LD_LIBRARY_PATH": os.path.dirname(DRIVER),
               "XDG_RUNTIME_DIR": SCRATCH.name, "XDG_CACHE_HOME": SCRATCH.name, "GPUBPF_PTXAS": "", "LIVE_LIBRARY": LIBRARY}
REPORT = os.path.join(SCRATCH.name, "report.json")
RUNNING = []
atexit.register(lambda: [process.kill() for process in RUNNING])


class Application(Sized):
    """A running application that has printed its first line."""
    def __init__(self, *words):
        prefix = [GPUBPF, "run", "--idle", "--"] if PREPARED else []
        self.process = subprocess.Popen([*prefix, LIVE, *words], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        RUNNING.append(self.process)
        self.first = self.process.stdout.readline().strip()
        self.pid = self.process.pid

    def end(self, name):
        """Stop the application, and check that its results are right. Returns its number of launches."""
        if self.process.poll() is None:
            self.process.terminate()
        out = self.process.communicate(timeout=LIMIT)[0]
        found = re.search(r"launches (\d+) wrong 0$", out.strip())
        tap.ok(found and self.process.returncode == 0, f"{name}: the application's results are right", out, self.process.returncode)
        return int(found[1]) if found else 0

    def code(self):
        """Returns the driver's code in memory and in its file."""
        memory, file = b"", b""
        for line in open(f"/proc/{self.pid}/maps", encoding="ascii"):
            span, flags, offset, _, _, *path = line.split()
            if flags == "r-xp" and path and path[0] == os.path.realpath(DRIVER):
                begin, end = (int(x, 16) for x in span.split("-"))
                with open(f"/proc/{self.pid}/mem", "rb") as f:
                    f.seek(begin)
                    memory += f.read(end - begin)
                with open(DRIVER, "rb") as f:
                    f.seek(int(offset, 16))
                    file += f.read(end - begin).ljust(end - begin, b"\0")
        return memory, file

    def is_restored(self):
        memory, file = self.code()
        return memory and memory == file


def attach(app, seconds, *words):
    """Attach, again while the tool advises it: on a busy machine the last session may not have ended, or the process is too slow. Returns the last result."""
    until = time.time() + LIMIT
    while True:
        result = attach_once(app, seconds, *words)
        if not ("try again" in result[3] or "did not end within" in result[3]) or time.time() > until:
            return result


def attach_once(app, seconds, *words):
    """Attach. Returns the exit status, [launches, probed, missed], the count of the probe, and the output."""
    if os.path.exists(REPORT):
        os.remove(REPORT)
    done = subprocess.run([GPUBPF, "attach", "-p", str(app.pid), "-o", OBJECT, "-d", str(seconds), "-j", "-r", REPORT, *words], capture_output=True, text=True,
                          env=ENVIRONMENT, timeout=LIMIT)
    out = done.stdout + done.stderr
    if not os.path.exists(REPORT):
        return done.returncode, [0, 0, 0], 0, out
    report = json.load(open(REPORT, encoding="utf-8"))
    counted = sum(int(e.get("value", 0)) for e in report["maps"][0]["entries"])
    kernels = [sum(k[what] for k in report["kernels"]) for what in ("launches", "probed")]
    missed = sum(sum(k["missed_by"].values()) for k in report["kernels"])
    return done.returncode, [*kernels, missed], counted, out + json.dumps(report["kernels"])


def attach_until(app, seconds, done):
    """Like attach(), in sessions until done(result): on a busy machine the first twin takes long."""
    until = time.time() + LIMIT
    while True:
        result = attach(app, seconds)
        if result[0] or done(result) or time.time() > until:
            return result
        seconds = min(seconds * 1.5, 20)


def probed(app, seconds=1):
    """A session that has probed a launch."""
    return attach_until(app, seconds, lambda result: result[1][1])


def is_exact(result):
    status, (launches, probes, missed), counted, _ = result
    return status == 0 and probes and launches == probes + missed and counted == probes * ITEMS


def test_rounds():
    name = f"{ROUNDS} rounds, 4 threads"
    app = Application("4")
    first_result = probed(app, 3)
    first, bad = app.smallest(), []
    tap.ok(app.is_restored(), f"{name}: after the first, the driver's code is as in its file")
    for _ in range(ROUNDS):
        result = probed(app, 0.5)
        if not is_exact(result) or not app.is_restored():
            bad.append(result)
    tap.ok(is_exact(first_result) and not bad, f"{name}: each count is the probed launches times {ITEMS}, the code is restored", first_result, *bad[:2])
    tap.ok(app.returns_to(first), f"{name}: descriptors, files and threads as after the first", first, app.sizes())
    app.end(name)


def test_modes():
    for mode, what in (("library", "a kernel of a library that was loaded before"), ("new", "modules loaded after the attach"), ("settings", "a function with a setting that is older"),
                        ("fork", "an application that forks"), ("around", "functions called around the idle library")):
        app = Application("2", mode)
        result = probed(app, 2)
        tap.ok(is_exact(result), f"{what}: probed", result)
        tap.ok(app.is_restored(), f"{what}: restored")
        app.end(what)
    lost = (("memory", "a module from memory", "loaded from memory before the attach"),
            ("same", "a kernel from memory with the name of another", "its code differs from the kernel of that name in cuda-live"),
            ("several", "a kernel of two fat binaries", "several images of the process may contain it"))
    for mode, what, _ in lost if PREPARED else ():
        app = Application("2", mode)
        result = probed(app, 2)
        tap.ok(is_exact(result), f"{what}: probed in a prepared process", result)
        app.end(what)
    for mode, what, reason in () if PREPARED else lost:
        app = Application("2", mode)
        status, (launches, probes, missed), counted, out = attach_until(app, 2, lambda result: reason in result[3])
        tap.ok(status == 0 and launches == missed and not probes and not counted and reason in out, f"{what}: missed, with the reason", out)
        app.end(what)


def test_lock_order():
    """The driver loads a library while a constructor of the application calls the driver."""
    ENVIRONMENT["FAKE_CUDA_DLOPEN"] = "1"
    app = Application("2", "dlopen")
    result = probed(app, 2)
    tap.ok(is_exact(result), "constructors that load and unload modules: probed", result)
    app.end("constructors")
    del ENVIRONMENT["FAKE_CUDA_DLOPEN"]


def test_graphs():
    app = Application("2", "graph")
    status, (launches, probes, missed), counted, out = attach_until(app, 3, lambda result: result[1][1] and "recorded in a CUDA graph" in result[3])
    tap.ok(status == 0 and probes and missed and counted == probes * ITEMS and "recorded in a CUDA graph" in out,
           "graphs: launches outside are probed, others are missed with the reason", out)
    tap.ok(launches == probes + missed and "(CUDA graphs)" not in out, "graphs of the session: each launch counts once", out)
    app.end("graphs")


def test_older_graphs():
    """Each thread launches its graph, captured before the attach, after 9 launches."""
    name, threads = "(CUDA graphs)", 2
    app = Application(str(threads), "replay")
    for i in range(2):
        result = attach_until(app, 2, lambda result: result[1][1] and name in result[3])
        status, (_, probes, _), counted, out = result
        rows = {row["name"]: row for row in json.loads(out[out.rindex("[{"):])} if status == 0 else {}
        graphs, kernel = rows.get(name), rows.get("add")
        tap.ok(graphs and kernel and graphs["launches"] == sum(graphs["missed_by"].values()) and "before the attach" in graphs["reason"] and counted == probes * ITEMS,
               f"older graphs, session {i + 1}: launches are missed with the reason", result)
        tap.ok(graphs and abs(kernel["launches"] - 9 * graphs["launches"]) <= 18 * threads, f"older graphs, session {i + 1}: each launch counts once", rows)
    app.end("older graphs")


def test_captures():
    """A capture is open at nearly every detach. It ends after that, and is not broken."""
    app = Application("1", "capture")
    results = [probed(app, 1) for _ in range(3)]
    tap.ok(all(result[0] == 0 and result[1][1] for result in results), "open captures: the next session probes", *results)
    app.end("open captures")


def test_late():
    app = Application("1", "late")
    tool = subprocess.Popen([GPUBPF, "attach", "-p", str(app.pid), "-o", OBJECT, "-v"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
    wait_report(tool, lambda report: report["processes"])
    os.kill(app.pid, signal.SIGUSR1)
    wait_report(tool, lambda report: any(k["probed"] for k in report["kernels"]))
    tool.send_signal(signal.SIGINT)
    out = tool.communicate(timeout=LIMIT)[0]
    tap.ok(re.search(r"^ +add +\d+ +[1-9]", out, re.M), "the driver loaded after the attach: probed", out)
    app.end("the driver loaded later")


def run_burst(app):
    """All threads launch, and no launch runs when this function returns."""
    os.kill(app.pid, signal.SIGUSR1)
    app.process.stdout.readline()


def session_report(tool):
    """The report of the running session, or None."""
    done = subprocess.run([GPUBPF, "session", "report", "-j", "-S", str(tool.pid)], capture_output=True, text=True, env=ENVIRONMENT, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def read_launches(tool):
    report = session_report(tool)
    return sum(k["launches"] for k in report["kernels"]) if report else 0


def wait_report(tool, condition):
    """Wait until the report of the session meets the condition, or the tool has ended."""
    until = time.time() + LIMIT
    while tool.poll() is None and time.time() < until:
        report = session_report(tool)
        if report and condition(report):
            return
        time.sleep(0.05)


def test_known_launches():
    """Launches that begin after the attach and end before the detach are counted, each once."""
    for rounds in range(3):
        app = Application("4", "bursts")
        tool = subprocess.Popen([GPUBPF, "attach", "-p", str(app.pid), "-o", OBJECT, "-j", "-r", REPORT], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
        wait_patched(app)
        before, until = 0, time.time() + LIMIT
        while not before and tool.poll() is None and time.time() < until:
            run_burst(app)
            before = read_launches(tool)
        for _ in range(3):
            run_burst(app)
        tool.send_signal(signal.SIGINT)
        out = tool.communicate(timeout=LIMIT)[0]
        run_burst(app)
        report = json.load(open(REPORT, encoding="utf-8"))
        launches, probes = (sum(k[what] for k in report["kernels"]) for what in ("launches", "probed"))
        counted = sum(int(e.get("value", 0)) for e in report["maps"][0]["entries"])
        tap.ok(before and launches == before + 4 * 3000 and counted == probes * ITEMS, f"round {rounds}: all launches of three bursts are counted, each once",
               f"before {before}, launches {launches}, probed {probes}, counted {counted}", out)
        app.end(f"round {rounds}")


def wait_patched(app):
    """Wait until the tool has patched the driver."""
    until = time.time() + LIMIT
    while app.is_restored() and time.time() < until:
        time.sleep(0.05)
    return not app.is_restored()


def test_kills():
    name = f"{KILLS} kills of the tool"
    app = Application("3")
    probed(app, 2)
    first = app.smallest()
    for _ in range(KILLS):
        tool = subprocess.Popen([GPUBPF, "attach", "-p", str(app.pid), "-o", OBJECT, "-d", "0.2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        time.sleep(random.choice([random.uniform(0, 0.05), random.uniform(0, 0.5)]))
        tool.kill()
        tool.wait()
        if app.process.poll() is not None:
            break
    tap.ok(app.process.poll() is None, f"{name}: the application lives", app.process.poll())
    for _ in range(100):
        result = probed(app, 1)
        if result[0] == 0:
            break
        time.sleep(0.1)
    tap.ok(is_exact(result), f"{name}: the next tool's count is exact", result)
    tap.ok(app.is_restored(), f"{name}: the driver's code is as in its file")
    tap.ok(app.returns_to(first), f"{name}: nothing is left", first, app.sizes())
    app.end(name)


def test_one_kill():
    app = Application("2")
    tool = subprocess.Popen([GPUBPF, "attach", "-p", str(app.pid), "-o", OBJECT], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    patched = wait_patched(app)
    tool.kill()
    tool.wait()
    until = time.time() + LIMIT
    while not app.is_restored() and time.time() < until:
        time.sleep(0.05)
    tap.ok(patched and app.is_restored(), "the tool is killed: the agent restores the driver's code", patched)
    app.end("one kill")


if os.uname().machine != "x86_64":
    tap.skip_all("attach works on x86-64 only")
TESTS = [test_rounds, test_modes, test_lock_order, test_graphs, test_older_graphs, test_captures, test_late, test_known_launches, test_one_kill, test_kills]
for test in TESTS:
    if not sys.argv[6:] or test.__name__ in sys.argv[6:]:
        test()
tap.plan()
