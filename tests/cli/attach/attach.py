#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""attach.py GPUBPF LIVE IL RUNTIME: attaches to a running OpenCL application that checks its own results.

GPUBPF_TEST_ROUNDS is the number of attaches and detaches (default: 8). GPUBPF_TEST_KILLS is the number of times that the test kills the tool
(default: 25)."""
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
import tap
from applications import (ARGUMENTS, ATTACHED, COUNT, ENVIRONMENT, ITEMS, LAUNCHED, LIMIT, PROBED, SCRATCH, Application, Session, count_for, count_until,
                          open_runtime, open_session, wait_until)

GPUBPF, LIVE, IL, RUNTIME = (*(os.path.abspath(p) for p in sys.argv[1:4]), sys.argv[4])
ROUNDS = int(os.environ.get("GPUBPF_TEST_ROUNDS", "8"))
KILLS = int(os.environ.get("GPUBPF_TEST_KILLS", "25"))

NAMED = os.path.join(SCRATCH.name, f"named-{RUNTIME}")
os.symlink(LIVE, NAMED)


def attach(*words, probes=COUNT):
    """Attach. Try again while the tool advises it. Returns the exit status and the outputs."""
    def attempt():
        done = subprocess.run([GPUBPF, "attach", *words, *probes], capture_output=True, text=True, env=ENVIRONMENT, timeout=LIMIT, check=False)
        return None if "try again" in done.stderr else (done.returncode, done.stdout, done.stderr)
    return wait_until(attempt) or (None, "", "the tool still advises to try again")


def is_exact(result):
    return result.status == 0 and result.probed and result.total == result.probed * ITEMS


def test_rounds():
    name = f"{ROUNDS} rounds, 4 threads"
    app = Application(LIVE, "4")
    count_until(GPUBPF, app.pid)
    first, bad = app.smallest(), []
    for _ in range(ROUNDS):
        result = count_until(GPUBPF, app.pid)
        if not result.is_exact():
            bad.append(result)
    tap.ok(not bad, f"{name}: each count is the probed launches times {ITEMS}", *bad[:2])
    tap.ok(app.returns_to(first), f"{name}: descriptors, files and threads as after the first", first, app.sizes())
    app.end(name)


def test_short():
    """Sessions that are shorter than the build of their twin: each continues the build of the last one."""
    with tempfile.TemporaryDirectory() as cache:
        ENVIRONMENT["XDG_CACHE_HOME"] = cache
        app, n, until = Application(LIVE, "1"), 0, time.time() + LIMIT
        while True:
            result = count_for(GPUBPF, app.pid, 0.1)
            n += 1
            if result.status or result.probed or time.time() > until:
                break
        tap.ok(is_exact(result), f"sessions of 0.1 s: session {n} probes", result)
        app.end("short sessions")
    ENVIRONMENT["XDG_CACHE_HOME"] = SCRATCH.name


def test_arguments():
    app = Application(LIVE, "2", "once")
    result = count_until(GPUBPF, app.pid, ARGUMENTS)
    tap.ok(result.status == 0 and result.launches == result.missed and "an argument that the application set before the attach" in result.out,
           "arguments set once, before: missed, with the reason", result)
    app.end("arguments set once")


def test_new_objects():
    app = Application(LIVE, "2", "new")
    result = count_until(GPUBPF, app.pid)
    tap.ok(is_exact(result), "programs and kernels created after the attach: probed", result)
    count_for(GPUBPF, app.pid, 1)
    app.end("programs created anew")


def test_forms():
    app = Application(LIVE, "1", "il")
    if app.first != "ready":
        tap.skip("a program from SPIR-V", "the runtime does not build it")
        app.process.communicate()
    else:
        result = count_until(GPUBPF, app.pid)
        tap.ok(is_exact(result), "a program from SPIR-V: probed", result)
        app.end("SPIR-V")
    app = Application(LIVE, "1", "binary")
    result = count_until(GPUBPF, app.pid, "created from a binary")
    tap.ok(result.status == 0 and result.launches == result.missed and "created from a binary" in result.out,
           "a program from a binary: missed, with the reason", result)
    app.end("binary")


def test_late_runtime():
    app = Application(LIVE, "1", "late")
    session = open_session(GPUBPF, app.pid, ATTACHED)
    os.kill(app.pid, signal.SIGUSR1)
    session.wait(PROBED)
    result = session.end()
    tap.ok(result.probed, "OpenCL loaded after the attach: probed", result)
    app.end("OpenCL loaded later")


def test_end():
    app = Application(LIVE, "2", "100000000")
    session = open_session(GPUBPF, app.pid, LAUNCHED)
    app.process.kill()
    result = session.result()
    tap.ok(result.status == 0 and result.launches, "the application is killed: the tool ends with its report", result)
    app.process.communicate()
    app = Application(LIVE, "2")
    result = count_until(GPUBPF, app.pid, LAUNCHED)
    tap.ok(result.status == 0 and result.launches, "Ctrl-C ends it with its report", result)
    app.end("Ctrl-C")


def test_two_sessions():
    app = Application(LIVE, "2")
    session = open_session(GPUBPF, app.pid, ATTACHED)
    status, out, err = attach("-p", str(app.pid), "-d", "1")
    tap.ok(status == 125 and f"process {app.pid} is in session {session.pid} (live); end that session" in err, "a second session is refused, with the reason",
           f"status {status}", err, out)
    session.end()
    result = count_until(GPUBPF, app.pid)
    tap.ok(is_exact(result), "after the first it attaches", result)
    app.end("two sessions")
    app = Application(GPUBPF, "run", "-q", *COUNT, "--", LIVE, "1")
    child = int(open(f"/proc/{app.pid}/task/{app.pid}/children", encoding="ascii").read())
    status, out, err = attach("-p", str(child), "-d", "1")
    tap.ok(status == 125 and f"process {child} is in session {app.pid} (live)" in err, "a process of gpubpf run is refused, with the reason",
           f"status {status}", err, out)
    os.kill(child, signal.SIGRTMIN)
    app.process.communicate(timeout=LIMIT)


def test_kills():
    name = f"{KILLS} kills of the tool"
    app = Application(LIVE, "3")
    count_until(GPUBPF, app.pid)
    first = app.smallest()
    for _ in range(KILLS):
        tool = subprocess.Popen([GPUBPF, "attach", "-p", str(app.pid), *COUNT, "-d", "0.2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        time.sleep(random.choice([random.uniform(0, 0.05), random.uniform(0, 0.5)]))
        tool.kill()
        tool.wait()
        if app.process.poll() is not None:
            break
    tap.ok(app.process.poll() is None, f"{name}: the application lives", app.process.poll())
    result = count_until(GPUBPF, app.pid)
    tap.ok(is_exact(result), f"{name}: the next tool's count is exact", result)
    tap.ok(app.returns_to(first), f"{name}: nothing is left", first, app.sizes())
    app.end(name)


def test_fork():
    app = Application(LIVE, "1", "fork")
    result = count_until(GPUBPF, app.pid)
    tap.ok(is_exact(result), "an application that forks: probed", result)
    app.end("fork")


def children(pid):
    return [int(word) for word in open(f"/proc/{pid}/task/{pid}/children", encoding="ascii").read().split()]


def test_follow():
    """Children that start after the attach, and a process that calls exec(3)."""
    for name, script, alive in (("children", f"echo ready; read x; {LIVE} 1 > /dev/null & {LIVE} 1 & wait", 2), ("exec", f"echo ready; read x; exec {LIVE} 1", 1)):
        for option in ["--follow"], []:
            shell = subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
            shell.stdout.readline()
            tool = subprocess.Popen([GPUBPF, "attach", "-p", str(shell.pid), *option, *COUNT], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
            while "Ctrl-C" not in (line := tool.stderr.readline()) and line:
                pass
            shell.stdin.write("go\n")
            shell.stdin.flush()
            launching = []

            def all_launch():
                found = json.loads(subprocess.run([GPUBPF, "session", "list", "-j"], capture_output=True, text=True, env=ENVIRONMENT, check=True).stdout)["sessions"]
                launching[:] = [p["pid"] for s in found if s["pid"] == tool.pid for p in s["processes"] or [] if p["launches"]]
                return len(launching) == alive or tool.poll() is not None

            if option:
                wait_until(all_launch)
            else:
                shell.stdout.readline()  # LIVE launches
                all_launch()
            want = (children(shell.pid) if name == "children" else [shell.pid]) if option else []
            tap.ok(sorted(launching) == sorted(want), f"{name}, {option or 'without --follow'}: {len(want)} of {alive} processes are probed", launching, want)
            for pid in children(shell.pid) + ([shell.pid] if name == "exec" else []):
                os.kill(pid, signal.SIGRTMIN)
            shell.communicate(timeout=LIMIT)
            err = tool.communicate(timeout=LIMIT)[1]
            tap.ok(tool.returncode == 0, f"{name}: the tool ends when all processes have ended", err, tool.returncode)


def test_kernel_list():
    """The duration doubles until a launch was probed: on a busy machine the first twin takes long."""
    app, seconds, probed = Application(LIVE, "1"), 2, None
    while not probed and seconds < 200:
        done = subprocess.run([GPUBPF, "kernel", "list", "-p", str(app.pid), "-d", str(seconds), "--places"], capture_output=True, text=True, env=ENVIRONMENT,
                              timeout=LIMIT, check=False)
        probed = re.search(r"^ +add +[1-9]\d* +256 +- +yes +as ", done.stderr, re.M)
        seconds *= 2
    tap.ok(done.returncode == 0 and probed and "gpu/exit/" in done.stderr, "kernel list -p: kernels and places", f"status {done.returncode}", done.stderr,
           done.stdout)
    app.end("kernel list -p")


def test_several():
    apps = [Application(LIVE, "1"), Application(LIVE, "1")]
    status, out, err = attach("-p", f"{apps[0].pid},999999999,{apps[1].pid}", "-d", "2")
    tap.ok(status == 0 and "no such process" in err and "attached to 2 of 3 processes" in err, "two of three processes: attached to both, and the third is named",
           f"status {status}", err, out)
    status, out, err = attach("-p", f"{apps[0].pid}", "-d", "1", "--no-inject")
    tap.ok(status == 125 and f"process {apps[0].pid} is not prepared" in err, "--no-inject refuses a process that is not prepared", f"status {status}", err, out)

    def attach_both():
        sessions = [Session(GPUBPF, app.pid) for app in apps]
        for session in sessions:
            session.wait(LAUNCHED)
        results = [session.end() for session in sessions]
        return None if any(result.may_repeat() for result in results) else results
    results = wait_until(attach_both) or []
    tap.ok(results and all(result.status == 0 and result.launches for result in results), "two tools attach to two processes at once", *results)
    for app in apps:
        app.end("several processes")


def test_usage():
    for words, status, pattern in ((["-p", "x"], 2, "must be ids of processes"), ([], 2, "use -p PID"), (["-p", "999999999"], 125, "no such process"),
                                   (["-p", "1", "true"], 2, "attach starts no application"), (["--name", "nothing-has-this-name"], 125, "no process that uses OpenCL or CUDA matches")):
        rc, out, err = attach(*words, "-d", "1", probes=COUNT)
        tap.ok(rc == status and re.search(pattern, err), f"attach {' '.join(words)}: status {status}: {err.strip()}", out, rc)
    rc, out, err = attach("-p", "1", probes=[])
    tap.ok(rc == 2 and "no probes" in err, f"attach without probes: {err.strip()}")
    app = Application(NAMED, "1")
    results = []

    def attach_by_name():
        status, out, err = results[:] = attach("--name", f"named-{RUNTIME}*", "-d", "1", "-v")
        return status or re.search(r"^ +add +\d+", out + err, re.M)
    wait_until(attach_by_name)
    status, out, err = results
    found = re.search(r"^ +add +\d+", out + err, re.M)
    tap.ok(status == 0 and found, "--name: attached by name", f"status {status}", err, out)
    app.end("--name")


if os.uname().machine != "x86_64":
    tap.skip_all("attach works on x86-64 only")
if not open_runtime(RUNTIME, LIVE_IL=IL):
    tap.skip_all(f"the OpenCL runtime {RUNTIME} is not installed")
test_usage()
test_several()
test_kernel_list()
test_follow()
test_rounds()
test_short()
test_arguments()
test_new_objects()
test_forms()
test_late_runtime()
test_end()
test_two_sessions()
test_kills()
test_fork()
tap.plan()
