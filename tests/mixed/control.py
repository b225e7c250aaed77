#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""control.py GPUBPF OBJECT APP WHAT JOINS: tests gpubpf session links, attach and detach while gpubpf run runs an
application. Prints TAP."""
import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import ok, plan, skip_all

THREADS = 256
gpubpf, obj, app, what, joins = sys.argv[1:6]
work = tempfile.TemporaryDirectory()
env = dict(os.environ, XDG_CACHE_HOME=work.name, XDG_RUNTIME_DIR=work.name)


def run_tool(*words):
    p = subprocess.run([gpubpf, *words], env=env, capture_output=True, timeout=240)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def links():
    return {l["id"]: (l["program"], l["pattern"], l["launches"]) for l in json.loads(run_tool("session", "links", "-j")[1])["links"]}


def counted(name="counts"):
    entries = json.loads(run_tool("map", "dump", "-j", name)[1])["maps"][0]["entries"]
    return [int(e["value"]) for e in entries]


def rounds(n):
    global launched
    launched += n
    run.stdin.write(f"{n}\n".encode())
    run.stdin.flush()
    return run.stdout.readline() == b"done\n"


def gained(n, name="counts"):
    """Lets the application launch n rounds; returns the number of launches by which each element of the map grew."""
    before = counted(name)
    if not rounds(n):
        return None
    return [(now - then) / THREADS for now, then in zip(counted(name), before)]


def wait_for_counts(want, name="counts", stays=None):
    """Launches rounds until a launch runs the attached programs (launches do not wait for a change). Meanwhile element
    `stays` must count every launch."""
    for _ in range(2000):
        got = gained(1, name)
        if got == want:
            return True
        if not got or (stays is not None and got[stays] != 1):
            print(f"# gained {got}, not {want}")
            return False
    return False


launched = 0
report = os.path.join(work.name, "report")
run = subprocess.Popen([gpubpf, "run", "-j", "-r", report, "--wait", "1200", "-o", obj, "--", app, "-", what], env=env,
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
if run.stdout.readline() != b"ready\n":
    skip_all(run.stderr.read().decode().splitlines()[:1])
ok(rounds(2) and counted() == [2 * THREADS] * 2, "what sections name is attached from the beginning", counted())
ok(links() == {0: ("entered", "add_*", 2), 1: ("left", "add_*", 2)}, "session links has it, with its launches", links())
status = run_tool("session", "detach", "0")
ok(status[0] == 0 and "left" in status[1] and "entered" not in status[1], "session detach prints what is left", status)
ok(wait_for_counts([0, 1], stays=1), "one is detached, one counts on, in each launch meanwhile too", counted())
ok(gained(3) == [0, 3], "and after that", counted())
status = run_tool("session", "detach", "0")
ok(status[0] != 0 and "no attached program has the number or name '0'" in status[2], "what is detached is no link", status)
status = run_tool("session", "attach", "entered=*opencl", "left=nothing*")
ok(status[0] == 0 and len(links()) == 3, "session attach takes several", status)
ok(wait_for_counts([1, 1], stays=1) and gained(1) == [1, 1], "attached, it counts on", counted())
status = run_tool("session", "attach", "entered", "nobody")
ok(status[0] != 0 and "no program 'nobody'" in status[2] and len(links()) == 3, "all or none", status)
for link in links():
    run_tool("session", "detach", str(link))
ok(not links() and "nothing is attached" in run_tool("session", "links")[1], "nothing is attached")
ok(gained(4) == [0, 0], "nothing counts from the next launch on, the maps stay", counted())
ok(run_tool("session", "attach", "entered")[0] == 0 and wait_for_counts([1, 0]), "the first one again")
status = run_tool("session", "attach", "-o", obj + ".none", "joined")
ok(status[0] != 0 and "No such file" in status[2], "an object that is not there", status)
status = run_tool("session", "attach", "-o", app)
ok(status[0] != 0 and "ELF" in status[2] and len(links()) == 1, "what is no object is refused, with the diagnostic", status)
status = run_tool("session", "attach", "-o", joins, "joined=add_opencl", "nobody")
ok(status[0] != 0 and "no program 'nobody'" in status[2] and len(links()) == 1, "an object joins: all or none", status)
status = run_tool("session", "attach", "-o", os.path.relpath(joins), "joined=add_opencl")
ok(status[0] == 0 and joins in status[1] and wait_for_counts([1, 0], "later"), "one of its programs", status)
had = counted()[0]
ok(gained(2, "later") == [2, 0] and counted()[0] == had + 2 * THREADS, "counts beside the others", counted("later"))
status = run_tool("session", "attach", "-o", joins)
ok(status[0] == 0 and len(links()) == 4 and wait_for_counts([1, 1], "later", stays=0), "all of them", status)
ok(gained(1, "later") == [1, 1], "each once in a thread", counted("later"))
for link, (program, *_) in links().items():
    if program.startswith("joined"):
        run_tool("session", "detach", str(link))
had = [launched, counted()[0]]
ok(wait_for_counts([0, 0], "later") and counted()[0] - had[1] == (launched - had[0]) * THREADS, "detached, and the first one lost none",
   counted("later"))
shown = run_tool("session", "report")[1]
ok("later (ARRAY" in shown and "launches: { .by = 0 }" in shown, "the report has its maps and records", shown)
os.kill(run.pid, signal.SIGKILL)
run.wait()
ok(rounds(5) and rounds(1), "the tool is killed while something is attached: the program goes on")
run.stdin.close()
out = run.stdout.read().decode()
ok(f"opencl {launched * THREADS}\n" in out, "and its results are its own", out)
plan()
