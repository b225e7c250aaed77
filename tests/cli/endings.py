#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""endings.py GPUBPF OBJECTS LOOP DISCRETE SUMS STEADY: tests how a traced application ends and which counts the report
has then. Prints TAP. Covers Ctrl-C at a terminal, --duration, _exit() and kill -9. DISCRETE is an OpenCL layer that
makes the device look like a discrete card, so the agent copies arenas to the host. STEADY is an application that
runs kernels without a pause; the test reads its maps meanwhile."""
import glob
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import ok, plan, skip_all

gpubpf, objects, loop, discrete, sums, steady = sys.argv[1:]
probe = os.path.join(objects, "probe.bpf.o")
scratch = tempfile.TemporaryDirectory()
WAIT = 240


def until(done):
    """Waits until done() returns a true value, for at most WAIT seconds; returns its result."""
    end = time.monotonic() + WAIT
    while not (answer := done()) and time.monotonic() < end:
        time.sleep(0.05)
    return answer


def report_of(path):
    try:
        return json.load(open(path, encoding="utf-8"))
    except (OSError, ValueError):
        return None


def counted(report):
    return [e["value"] for m in report["maps"] if m["name"] == "counts" for e in m["entries"]] if report else None


def kernel(report):
    return report["kernels"][0] if report and report["kernels"] else {"launches": 0, "probed": 0}


def probing(*options):
    """Returns True if the map counts of the running session has a nonzero value."""
    dump = subprocess.run([gpubpf, "map", "dump", "-j", *options, "counts"], capture_output=True, text=True, timeout=WAIT)
    try:
        maps = json.loads(dump.stdout)
    except ValueError:
        return False
    return any(counted(maps) or [])


def at_terminal(command, when):
    """Runs the command in the foreground of a terminal and types Ctrl-C when when() is true; returns wait status and
    output."""
    pid, terminal = pty.fork()
    if not pid:
        os.execv(command[0], command)
    seen = b""

    def read_and_ask():
        nonlocal seen
        while select.select([terminal], [], [], 0)[0]:  # a full terminal buffer would block the writer
            try:
                seen += os.read(terminal, 4096)
            except OSError:
                break
        return when()

    ready = until(read_and_ask)
    os.write(terminal, b"\x03")
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    return ready, os.waitpid(pid, 0)[1], seen.decode(errors="replace")


def ctrl_c():
    path = os.path.join(scratch.name, "typed")
    ready, status, seen = at_terminal([gpubpf, "run", "-o", probe, "-j", "--report", path, "--", loop, "100000", "5"],
                                      probing)
    report = report_of(path)
    ok(ready, "a program at a terminal is probed", seen)
    ok(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT, "Ctrl-C ends it and the tool",
       f"wait status {status}: {seen}")
    ok(bool(report) and kernel(report)["probed"] > 0 and counted(report)[0] > 0, "the report comes", seen)


def ctrl_c_once():
    got, path = os.path.join(scratch.name, "got"), os.path.join(scratch.name, "handled")
    script = f'trap "echo got >> {got}" INT; : > {got}.ready; while [ ! -s {got} ]; do sleep 0.1; done; sleep 0.5; exit 9'
    _, status, seen = at_terminal([gpubpf, "run", "-o", probe, "-j", "--report", path, "--", "/bin/sh", "-c", script],
                                  lambda: os.path.exists(got + ".ready"))
    ok(os.WIFEXITED(status) and os.WEXITSTATUS(status) == 9, "a program that handles it ends as it likes",
       f"wait status {status}: {seen}")
    ok(open(got, encoding="utf-8").read() == "got\n", "and has got it once", seen)
    ok(bool(report_of(path)), "the report comes")


def duration():
    path = os.path.join(scratch.name, "timed")
    with subprocess.Popen([gpubpf, "run", "-o", probe, "-j", "--report", path, "--duration", "2", "--", loop, "100000",
                           "5"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as tool:
        report = until(lambda: report_of(path))
        ok(bool(report) and tool.poll() is None, "--duration: the report comes while the program runs")
        tool.send_signal(signal.SIGTERM)
        errors = tool.communicate(timeout=WAIT)[1]
    k = kernel(report)
    ok("continues unprobed" in errors, "it is told that the program goes on", errors)
    ok(k["probed"] == 0 or counted(report)[0] >= 1024 * (k["probed"] - 1), "the counts are of the launches probed",
       f"{k} {counted(report)}")


def leaves(how, launches):
    path = os.path.join(scratch.name, "left")
    env = dict(os.environ, LAYER=discrete)
    ended = subprocess.run([gpubpf, "run", "-o", probe, "-j", "--report", path, "--", "/bin/sh", "-c",
                            f'OPENCL_LAYERS="$LAYER:$OPENCL_LAYERS" exec {loop} {launches} 0 {how}'], env=env,
                           capture_output=True, text=True, timeout=WAIT)
    ok(ended.returncode == 42, f"_exit() after {launches} launches: the status is the program's", ended.stderr)
    ok(counted(report_of(path)) == [1024 * launches] * 2, "copied maps hold what finished kernels wrote",
       f"{counted(report_of(path))} {ended.stderr}")


def two():
    """Two processes have an arena each, and each arena starts with the initial value 7 of the object SUMS."""
    path = os.path.join(scratch.name, "two")
    ended = subprocess.run([gpubpf, "run", "-o", sums, "-j", "--report", path, "--", "/bin/sh", "-c",
                            f'export OPENCL_LAYERS="$LAYER:$OPENCL_LAYERS"; {loop} 2 0; {loop} 3 0'],
                           env=dict(os.environ, LAYER=discrete), capture_output=True, text=True, timeout=WAIT)
    entries = [e for m in (report_of(path) or {"maps": []})["maps"] if m["name"] == "session.data" for e in m["entries"]]
    ok([e["value"] for e in entries] == [7 + 5 * 1024], "an initial value is counted once, not for each arena",
       f"{entries} {ended.stderr}")


def killed(launches):
    path = os.path.join(scratch.name, "killed")
    env = dict(os.environ, LAYER=discrete)
    ended = subprocess.run([gpubpf, "run", "-o", probe, "-j", "--report", path, "--", "/bin/sh", "-c",
                            f'OPENCL_LAYERS="$LAYER:$OPENCL_LAYERS" exec {loop} {launches} 0 9'], env=env,
                           capture_output=True, text=True, timeout=WAIT)
    report = report_of(path)
    counts = counted(report) or [0]
    lost = re.search(r"the counts of its last probed launches, up to (\d+), are lost", ended.stderr)
    ok(ended.returncode == -signal.SIGKILL, f"kill -9 after {launches} launches ends the tool likewise", ended.stderr)
    ok(counts[0] // 1024 <= launches <= counts[0] // 1024 + int(lost[1] if lost else 0),
       "no launch is missing but those that are said to be lost", f"{counts} {ended.stderr}")


def dump(*options):
    """Dumps the map counts of the running session. Returns exit status, output (parsed if JSON) and standard error."""
    ended = subprocess.run([gpubpf, "map", "dump", *options, "counts"], capture_output=True, text=True, timeout=WAIT)
    return ended.returncode, json.loads(ended.stdout) if "-j" in options and ended.stdout else ended.stdout, ended.stderr


def while_running(layers, look, *options):
    """Calls look() while STEADY runs with probes; a dump with these options must show a count first."""
    with subprocess.Popen([gpubpf, "run", "-q", "-o", probe, "--", "/bin/sh", "-c",
                           f'OPENCL_LAYERS="{layers}$OPENCL_LAYERS" exec {steady}'], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as tool:
        ok(until(lambda: probing(*options)), "a program that is always running kernels is probed")
        look()
        tool.send_signal(signal.SIGTERM)
        tool.wait(timeout=WAIT)


def snapshots():
    taken = [dump("--consistent", "-j") for _ in range(10)]
    counts = [counted(document) for _, document, _ in taken if document]
    ok([status for status, _, _ in taken] == [0] * 10, "--consistent: is taken while it runs", f"{taken}")
    ok(all(d and d["snapshot"] is True for _, d, _ in taken), "and says so", f"{taken}")
    ok(counts and all(a == b and a % 1024 == 0 for a, b in counts), "between two launches, each time", f"{counts}")
    ok(counts and counts[0][0] < counts[-1][0], "after which launches go on", f"{counts}")
    status, document, errors = dump("-j")
    ok(status == 0 and document["snapshot"] is False and not errors, "a dump without it says that it is none", errors)
    status, text, errors = dump("--csv")
    ok(status == 0 and text.startswith("map,") and errors.count("\n") == 1 and "not a snapshot" in errors,
       "in one line where there is no place in it", errors)
    status, text, errors = dump("--consistent", "--csv")
    ok(status == 0 and text.startswith("map,") and not errors, "and of a snapshot there is nothing to say", errors)


def no_snapshot():
    status, text, errors = dump("--consistent")
    ok(status == 1 and not text and errors.count("\n") == 1 and "its kernels write the maps in the memory" in errors,
       "where kernels write what is read there is none, with the reason", f"{status} {text} {errors}")


os.environ["XDG_RUNTIME_DIR"] = os.environ["XDG_CACHE_HOME"] = scratch.name
for name in ("GPUBPF_BACKEND", "GPUBPF_SESSION", "OPENCL_LAYERS"):
    os.environ.pop(name, None)
os.environ["OCL_ICD_VENDORS"] = (glob.glob("/etc/OpenCL/vendors/pocl*.icd") or [""])[0]
if loop == "-" or subprocess.run([loop, "1", "0"], capture_output=True, timeout=WAIT).returncode != 42:
    skip_all("no OpenCL device")
ctrl_c()
ctrl_c_once()
duration()
for n in (3, 50):
    leaves(0, n)
two()
killed(50)
# STEADY never pauses, so without --consistent the agent would copy no arena
while_running(discrete + ":", snapshots, "--consistent")
while_running("", no_snapshot)
plan()
