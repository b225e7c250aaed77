#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sessions.py GPUBPF OBJECT: lists running sessions, and selects one by its pid, its name or a process. No device is needed."""
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
import tap

GPUBPF, OBJECT = (os.path.abspath(p) for p in sys.argv[1:3])
SCRATCH = tempfile.TemporaryDirectory()
RUNTIME = os.path.join(SCRATCH.name, "run")
FOLDER = os.path.join(RUNTIME, "gpubpf")
os.makedirs(RUNTIME, 0o700)
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if k not in ("GPUBPF_SESSION", "OPENCL_LAYERS", "GPUBPF_BACKEND")},
               "XDG_RUNTIME_DIR": RUNTIME, "XDG_CACHE_HOME": SCRATCH.name}


def tool(*words, env=None, user=None):
    """Run the tool. Returns its exit status, standard output and standard error."""
    done = subprocess.run([GPUBPF, *words], capture_output=True, text=True, env=env or ENVIRONMENT, timeout=60, user=user, check=False)
    return done.returncode, done.stdout, done.stderr


def listed():
    """The sessions of this test, by pid; other tests may run at the same time."""
    found = json.loads(tool("session", "list", "-j")[1])["sessions"]
    return {s["pid"]: s for s in found if s["socket"].startswith(FOLDER + "/")}


def until(done):
    for _ in range(600):
        if done():
            return True
        time.sleep(0.1)
    return False


def start(name, *words, env=None):
    """Start a session around a shell with this name, and wait until the session is listed."""
    link = os.path.join(SCRATCH.name, name)
    if not os.path.lexists(link):
        os.symlink("/bin/sleep", link)
    process = subprocess.Popen([GPUBPF, "run", "-q", *words, "--", link, "1000"], env=env or ENVIRONMENT,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    until(lambda: process.pid in listed() or env)
    return process


def end(process):
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_none():
    rc, out, err = tool("map", "show")
    tap.ok(rc == 1 and err.startswith("gpubpf: you have no running session") and err.count("\n") == 1, "no session: the remedy", err)
    rc, out, err = tool("map", "show", "-p", str(os.getpid()))
    tap.ok(rc == 1 and f"start one with gpubpf attach -p {os.getpid()}" in err, "a process in no session: the remedy", err)
    rc, out, err = tool("map", "show", "-p", "4194304")
    tap.ok(rc == 1 and "there is no such process" in err, "no such process", err)
    for words in (["-p", "0"], ["-p", "12x"], ["-p", "-1"], ["-p", "99999999999"]):
        rc, out, err = tool("session", "links", *words)
        tap.ok(rc == 2 and "must be the id of one process" in err, f"{' '.join(words)}: wrong usage", err, rc)
    rc, out, err = tool("session", "links", "-p", "1", "--session", "x")
    tap.ok(rc == 2 and "both select a session" in err, "--pid with --session", err)


def test_lists():
    one = start("first", "-o", OBJECT)
    rc, out, err = tool("map", "show")
    tap.ok(rc == 0 and "counts" in out, "the only session needs no name", out, err)
    two = start("second", "-e", "gpu/entry/* { @ = count(); }")
    found = listed()
    tap.ok(set(found) == {one.pid, two.pid}, "both sessions are listed", found)
    s = found[two.pid]
    tap.ok(s["name"] == "second" and s["programs"] == ["entry_1"] and s["processes"] == [] and "second 1000" in s["command"], "name, programs, command", s)
    tap.ok(abs(time.time() - time.mktime(time.strptime(s["start"] + " UTC", "%Y-%m-%dT%H:%M:%SZ %Z")) + time.timezone) < 120, "time of the start", s["start"])
    rc, out, err = tool("session", "list")
    row = next((line for line in out.splitlines() if line.split()[:1] == [str(one.pid)]), "")
    tap.ok(rc == 0 and re.search(r"^ +PID +USER +START +NAME +PROGRAMS +COMMAND$", out, re.M) and " first " in row and "run -q -o" in row, "as text", out)
    rc, out, err = tool("map", "show")
    tap.ok(rc == 1 and not out and err == "gpubpf: 2 sessions are running; name one with --session: " +
           ", ".join(f"{p} ({found[p]['name']})" for p in sorted(found)) + "\n", "without a name, the tool lists both and stops", out, err)
    for name in ("first", str(one.pid), f"{one.pid}-0", found[one.pid]["socket"]):
        rc, out, err = tool("session", "links", "--session", name)
        tap.ok(rc == 0 and "probe.bpf.o" in out, f"--session {name}", out, err)
    rc, out, err = tool("session", "links", "--session", "third")
    tap.ok(rc == 1 and "there is no such session; the sessions are " in err and "(first)" in err, "a name that no session has", err)
    again = start("second", "-o", OBJECT)
    rc, out, err = tool("session", "links", "--session", "second")
    tap.ok(rc == 1 and "2 sessions have this name" in err and f"{two.pid} (second)" in err and f"{again.pid} (second)" in err, "a name that two have", err)
    rc, out, err = tool("session", "links", env={**ENVIRONMENT, "GPUBPF_SESSION": found[one.pid]["socket"]})
    tap.ok(rc == 0 and "probe.bpf.o" in out, "GPUBPF_SESSION selects one of several", out, err)
    test_stopped(two)
    test_killed(again)
    end(one)
    end(two)


def test_stopped(process):
    os.kill(process.pid, signal.SIGSTOP)
    began = time.time()
    s = listed()[process.pid]
    tap.ok(s["programs"] is None and time.time() - began < 10, "a stopped tool delays the list by a second and has no programs", s)
    rc, out, err = tool("session", "list")
    tap.ok(re.search(rf"^ +{process.pid} .*\(no answer\)", out, re.M), "as text", out)
    os.kill(process.pid, signal.SIGCONT)


def test_killed(process):
    path = listed()[process.pid]["socket"]
    end(process)
    tap.ok(process.pid not in listed(), "a killed tool is not listed")
    tap.ok(not os.path.exists(path), "its socket is removed")


def test_elsewhere():
    """A session of another runtime folder is listed, but it is chosen only if it is named."""
    other = os.path.join(SCRATCH.name, "other")
    os.makedirs(other, 0o700)
    process = start("elsewhere", "-o", OBJECT, env={**ENVIRONMENT, "XDG_RUNTIME_DIR": other})
    until(lambda: os.path.isdir(os.path.join(other, "gpubpf")) and os.listdir(os.path.join(other, "gpubpf")))
    found = json.loads(tool("session", "list", "-j")[1])["sessions"]
    tap.ok(any(s["pid"] == process.pid and s["programs"] for s in found), "a session of another runtime folder is listed", found)
    rc, out, err = tool("session", "links")
    tap.ok(rc == 1 and "in this runtime folder" in err and "name one with --session: " in err, "but not chosen by default", err)
    rc, out, err = tool("session", "links", "-S", str(process.pid))
    tap.ok(rc == 0 and "probe.bpf.o" in out, "its pid selects it", out, err)
    test_user(process)
    end(process)


def test_user(process):
    """Another user sees that the session exists, and cannot query it."""
    if os.geteuid():
        tap.skip("another user", "needs root")
        return
    env = {"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": "/nonexistent"}
    done = subprocess.run(["cat", GPUBPF], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=65534, check=False)
    if done.returncode:
        tap.skip("another user", "the folder of the build is closed to other users")
        return
    rc, out, err = tool("session", "list", "-j", env=env, user=65534)
    mine = [s for s in json.loads(out)["sessions"] if s["pid"] == process.pid]
    tap.ok(mine and mine[0]["programs"] is None and mine[0]["user"] == "root", "another user sees the session without its programs", out, err)
    rc, out, err = tool("session", "links", "-S", str(process.pid), env=env, user=65534)
    tap.ok(rc == 1 and "you have no running session" in err, "and cannot query it", err)


def test_root():
    """Root queries the session of another user, and cannot join it as an application."""
    if os.geteuid() or subprocess.run([GPUBPF, "version"], stdout=subprocess.DEVNULL, user=65534, check=False).returncode:
        tap.skip("root and the session of another user", "needs root, and a build that other users can run")
        return
    runtime = os.path.join(tempfile.mkdtemp(dir="/tmp"), "run")
    os.chmod(os.path.dirname(runtime), 0o755)
    os.mkdir(runtime, 0o700)
    os.chown(runtime, 65534, 65534)
    process = subprocess.Popen([GPUBPF, "run", "-e", "gpu/entry/* { @ = count(); }", "--", "sleep", "1000"], stderr=subprocess.PIPE, text=True,
                               env={"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": runtime, "HOME": "/nonexistent"}, user=65534, start_new_session=True)
    path = os.path.join(runtime, "gpubpf", f"{process.pid}-0.sock")
    until(lambda: os.path.exists(path))
    rc, out, err = tool("session", "links", "-S", str(process.pid))
    tap.ok(rc == 0 and "entry_1" in out, "root queries the session of another user", out, err)
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(path)
    client.send(struct.pack("<IBBHIIII", 0x50425047, 3, 7, 1, 8, 1, 0, 0))
    tap.ok(client.recv(100) == b"", "root joins it as an application: the session closes the connection")
    os.killpg(process.pid, signal.SIGINT)
    err = process.communicate(timeout=60)[1]
    tap.ok("rejected a process of user 0" in err, "with a note", err)
    subprocess.run(["rm", "-r", os.path.dirname(runtime)], check=True)


def test_forged():
    """A socket that is no session, and one whose owner answers with nonsense."""
    os.makedirs(FOLDER, 0o700, exist_ok=True)
    path = os.path.join(FOLDER, f"{os.getpid()}-0.sock")
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.bind(path)
    server.listen(1)
    s = listed()[os.getpid()]
    tap.ok(s["programs"] is None and s["name"], "a socket that does not answer", s)
    server.close()
    tap.ok(os.getpid() not in listed() and os.path.exists(path), "when closed, it does not show; it stays, because its process runs")
    os.unlink(path)


test_none()
test_lists()
test_elsewhere()
test_root()
test_forged()
tap.plan()
