#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prepare.py GPUBPF APP: tests gpubpf prepare, and the progress that it shows to a waiting user. APP is twins_ahead.c.
Prints TAP."""
import glob
import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import ok, plan

gpubpf, cold = (os.path.abspath(a) if os.path.exists(a) else a for a in sys.argv[1:])
ONE = "gpu/exit/step_* { @ = count(); }" # a probe for which PoCL compiles twins quickly
scratch = tempfile.TemporaryDirectory()
probe = os.path.join(scratch.name, "one.bpf.o")


def folder(name):
    path = os.path.join(scratch.name, name)
    os.makedirs(path, mode=0o700, exist_ok=True)
    return path


env = {k: v for k, v in os.environ.items() if not k.startswith("GPUBPF_") and k != "OPENCL_LAYERS"}
env |= {"XDG_RUNTIME_DIR": folder("run"), "XDG_CACHE_HOME": folder("cache")}
for icd in glob.glob("/etc/OpenCL/vendors/pocl*.icd"):
    env["OCL_ICD_VENDORS"] = icd


def run(tool, *args):
    return subprocess.run([tool, *args], env=env, capture_output=True, text=True, timeout=300)


def at_terminal(tool, *args):
    """Runs the tool with a terminal as standard error; returns the text on that terminal."""
    master, slave = pty.openpty()
    child = subprocess.Popen([tool, *args], env=env, stdout=subprocess.DEVNULL, stderr=slave, stdin=subprocess.DEVNULL)
    os.close(slave)
    text = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    child.wait()
    return text.decode(errors="replace")


def at_stopped_terminal(tool, *args):
    """Runs the tool at a terminal that Ctrl-S has stopped; returns the exit status, or None if the tool does not end
    in 60 s."""
    master, slave = pty.openpty()
    os.write(master, b"\x13")
    child = subprocess.Popen([tool, *args], env=env, stdout=subprocess.DEVNULL, stderr=slave, stdin=subprocess.DEVNULL)
    try:
        return child.wait(timeout=60)
    except subprocess.TimeoutExpired:
        child.kill()
        return None
    finally:
        os.write(master, b"\x11")
        os.close(slave)
        os.close(master)


def slow_tool(seconds=2):
    """Makes a copy of the tool with its folders, in which the workers start only after a delay."""
    tree, real = folder(f"slow{seconds}"), os.path.dirname(gpubpf)
    for name in ("core/worker", "hooks"):
        os.makedirs(os.path.join(tree, name))
    shutil.copy(gpubpf, tree)
    shutil.copy(os.path.join(real, "hooks/libgpubpf-agent.so"), os.path.join(tree, "hooks"))
    for name in ("compile", "clread", "build"):
        worker, path = (os.path.join(d, "core/worker/gpubpf-" + name) for d in (real, tree))
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\n{f'sleep {seconds}' if name == 'build' else ''}\nexec {worker}\n")
        os.chmod(path, 0o755)
    return os.path.join(tree, "gpubpf")


native = run(cold, "2") if os.access(cold, os.X_OK) else None
if not native or native.returncode != 42:
    count = 1
    print("ok 1 - prepare # SKIP no OpenCL device")
    plan()

run(gpubpf, "run", "--emit", probe, "-e", ONE)
done = run(gpubpf, "prepare", "-o", probe, "--", cold, "2")
ok(done.returncode == 42 and done.stdout == native.stdout, "the program's status and output are its own", done)
ok("2 twins built, 0 already cached, 0 refused" in done.stderr, "two twins are made", done.stderr)
done = run(gpubpf, "prepare", "-o", probe, "--", cold, "2")
ok("0 twins built, 2 already cached, 0 refused" in done.stderr, "and are there the next time", done.stderr)
report = os.path.join(scratch.name, "r")
run(gpubpf, "run", "-o", probe, "-j", "-r", report, "--", cold, "2")
cost = json.load(open(report, encoding="utf-8"))["cost"]
ok((cost["twins"], cost["cached"]) == (0, 2), "a run takes them", cost)
done = run(gpubpf, "prepare", "-e", ONE + ' BEGIN { printf("begun\\n"); } END { printf("ended\\n"); }', "--", cold, "2")
ok("0 twins built, 2 already cached, 0 refused" in done.stderr and "begun" not in done.stderr and "ended\n" not in done.stderr and
   "@" not in done.stderr, "of text too, which says nothing then", done.stderr)
done = run(gpubpf, "prepare", "--", cold, "2")
ok(done.returncode == 2 and "use -o FILE" in done.stderr, "without an object: what to do", done)

slow = slow_tool()
text = at_terminal(slow, "run", "-e", ONE, "--no-cache", "--", cold, "2")
ok("\r\x1b[Kgpubpf: building twins, 1 of 1, " in text, "a line says what a terminal waits for", text)
ok("s: step_" in text and "the vendor's compiler\r" in text, "with kernel and stage", text)
ok(text.count("gpubpf: 1 twin in ") == 2, "and a summary, for each kernel that the program makes", text)
drawn = text.count("building twins")
seconds = sum(float(part.split()[0]) for part in text.split("twin in ")[1:])
ok(1 < drawn <= 10 * seconds + 2, "drawn ten times a second at most", f"{drawn} in {seconds} s")
said = run(slow_tool(11), "run", "-e", ONE, "--no-cache", "--", cold, "1").stderr
ok(said.count("the application waits while twins (probed copies) of its kernels are built: step_") == 1, "elsewhere it is said once, after ten seconds", said)
began = time.monotonic()
said = run(slow, "run", "-e", ONE, "--no-cache", "--", cold, "1").stderr
ok("are built" not in said or time.monotonic() - began > 10, "and not of what takes less", said)
status = at_stopped_terminal(slow, "run", "-e", ONE, "-r", report, "--no-cache", "--", cold, "1")
ok(status == 42, "a terminal that is stopped stops nobody", status)
text = run(slow, "run", "-e", ONE, "--no-cache", "--", cold, "1").stderr
ok("building" not in text and "\x1b" not in text and "twin in" not in text, "nothing of it elsewhere", text)
text = at_terminal(slow, "run", "-q", "-e", ONE, "--no-cache", "--", cold, "1")
ok("building" not in text and "twin in" not in text, "nor with -q", text)
plan()
