#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpubpf session list, attach and detach while gpubpf run has a program: control.py GPUBPF OBJECT APP WHAT JOINS (TAP)"""
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


def ask(*words):
    p = subprocess.run([gpubpf, *words], env=env, capture_output=True, timeout=240)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def links():
    return {l["id"]: (l["program"], l["pattern"], l["launches"]) for l in json.loads(ask("session", "list", "-j")[1])["links"]}


def counted(name="counts"):
    entries = json.loads(ask("map", "dump", "-j", name)[1])["maps"][0]["entries"]
    return [int(e["value"]) for e in entries]


def rounds(n):
    run.stdin.write(f"{n}\n".encode())
    run.stdin.flush()
    return run.stdout.readline() == b"done\n"


report = os.path.join(work.name, "report")
run = subprocess.Popen([gpubpf, "run", "-j", "-r", report, "--wait", "1200", "-o", obj, "--", app, "-", what], env=env,
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
if run.stdout.readline() != b"ready\n":
    skip_all(run.stderr.read().decode().splitlines()[:1])
ok(rounds(2) and counted() == [2 * THREADS] * 2, "what sections name is attached from the beginning", counted())
ok(links() == {0: ("entered", "add_*", 2), 1: ("left", "add_*", 2)}, "session list has it, with its launches", links())
status = ask("session", "detach", "0")
ok(status[0] == 0 and "left" in status[1] and "entered" not in status[1], "session detach prints what is left", status)
ok(rounds(3) and counted() == [2 * THREADS, 5 * THREADS], "one is detached, one counts on", counted())
status = ask("session", "detach", "0")
ok(status[0] != 0 and "no link 0" in status[2], "what is detached is no link", status)
status = ask("session", "attach", "entered=*opencl", "left=nothing*")
ok(status[0] == 0 and len(links()) == 3, "session attach takes several", status)
ok(rounds(1) and counted() == [3 * THREADS, 6 * THREADS], "attached, it counts on", counted())
status = ask("session", "attach", "entered", "nobody")
ok(status[0] != 0 and "no program 'nobody'" in status[2] and len(links()) == 3, "all or none", status)
for link in links():
    ask("session", "detach", str(link))
ok(not links() and "nothing is attached" in ask("session", "list")[1], "nothing is attached")
ok(rounds(4) and counted() == [3 * THREADS, 6 * THREADS], "nothing counts, the maps stay", counted())
ok(ask("session", "attach", "entered")[0] == 0 and rounds(1) and counted()[0] == 4 * THREADS, "the first one again")
status = ask("session", "attach", "-o", obj + ".none", "joined")
ok(status[0] != 0 and "No such file" in status[2], "an object that is not there", status)
status = ask("session", "attach", "-o", app)
ok(status[0] != 0 and "ELF" in status[2] and len(links()) == 1, "what is no object is refused, with the diagnostic", status)
status = ask("session", "attach", "-o", joins, "joined=add_opencl", "nobody")
ok(status[0] != 0 and "no program 'nobody'" in status[2] and len(links()) == 1, "an object joins: all or none", status)
status = ask("session", "attach", "-o", os.path.relpath(joins), "joined=add_opencl")
ok(status[0] == 0 and joins in status[1] and rounds(2), "one of its programs", status)
ok(counted("later") == [2 * THREADS, 0] and counted()[0] == 6 * THREADS, "counts beside the others", counted("later"))
status = ask("session", "attach", "-o", joins)
ok(status[0] == 0 and len(links()) == 4 and rounds(1), "all of them", status)
ok(counted("later") == [3 * THREADS, THREADS], "each once in a thread", counted("later"))
for link, (program, *_) in links().items():
    if program.startswith("joined"):
        ask("session", "detach", str(link))
ok(rounds(1) and counted("later") == [3 * THREADS, THREADS] and counted()[0] == 8 * THREADS, "detached", counted("later"))
shown = ask("session", "report")[1]
ok("later (ARRAY" in shown and "launches: { .by = 0 }" in shown, "the report has its maps and records", shown)
os.kill(run.pid, signal.SIGKILL)
run.wait()
ok(rounds(5) and rounds(1), "the tool is killed while something is attached: the program goes on")
run.stdin.close()
out = run.stdout.read().decode()
ok(f"opencl {21 * THREADS}\n" in out, "and its results are its own", out)
plan()
