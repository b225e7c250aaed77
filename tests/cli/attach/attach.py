#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""attach.py GPUBPF LIVE IL RUNTIME: attaches to a running OpenCL application that checks its own results.

GPUBPF_TEST_ROUNDS is the number of attaches and detaches (default: 8). GPUBPF_TEST_KILLS is the number of times that the test kills the tool
(default: 25)."""
import glob
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

GPUBPF, LIVE, IL, RUNTIME = (*(os.path.abspath(p) for p in sys.argv[1:4]), sys.argv[4])
ROUNDS = int(os.environ.get("GPUBPF_TEST_ROUNDS", "8"))
KILLS = int(os.environ.get("GPUBPF_TEST_KILLS", "25"))
COUNT = ["-e", "gpu/entry/* { @[kernel] = count(); }"]
ITEMS = 256


def find_runtime():
    if RUNTIME == "pocl":
        return next(iter(sorted(glob.glob("/etc/OpenCL/vendors/pocl*.icd"))), None)
    library = os.environ.get("GPUBPF_TEST_INTEL", "")
    return library if os.path.exists(library) else None


SCRATCH = tempfile.TemporaryDirectory()
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if k not in ("GPUBPF_SESSION", "OPENCL_LAYERS", "GPUBPF_BACKEND")},
               "OCL_ICD_VENDORS": find_runtime() or "", "LIVE_IL": IL, "XDG_RUNTIME_DIR": SCRATCH.name, "XDG_CACHE_HOME": SCRATCH.name}


os.symlink(LIVE, os.path.join(SCRATCH.name, f"named-{RUNTIME}"))


class Application:
    """A running application that has printed its first line."""
    def __init__(self, *words, prefix=(), program=LIVE):
        self.process = subprocess.Popen([*prefix, program, *words], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        self.first = self.process.stdout.readline().strip()
        self.pid = self.process.pid

    def end(self, name):
        """Stop the application, and check that its results are right. Returns its number of launches."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGRTMIN)
        out = self.process.communicate(timeout=120)[0]
        found = re.search(r"launches (\d+) wrong 0$", out.strip())
        tap.ok(found and self.process.returncode == 0, f"{name}: the application's results are right", out, self.process.returncode)
        return int(found[1]) if found else 0

    def sizes(self):
        """Returns the numbers of descriptors, of mappings of files and memfds, and of threads."""
        maps = open(f"/proc/{self.pid}/maps", encoding="ascii").read()
        files = [line for line in maps.splitlines() if "/" in line and "kcache" not in line and ".so" not in line.split("/")[-1]]
        return len(os.listdir(f"/proc/{self.pid}/fd")), len(files), len(os.listdir(f"/proc/{self.pid}/task"))


def smallest(app):
    """The sizes once threads of earlier sessions have ended; the one of a killed tool waits 2 s."""
    sizes = app.sizes()
    for _ in range(80):
        time.sleep(0.05)
        sizes = min(sizes, app.sizes())
    return sizes


def attach(*words, probes=COUNT, timeout=120):
    done = subprocess.run([GPUBPF, "attach", *words, *probes], capture_output=True, text=True, env=ENVIRONMENT, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


def count_of(app, seconds):
    """Attach. Returns the exit status, [launches, probed, missed], the count of the probe, and the output."""
    status, out, err = attach("-p", str(app.pid), "-d", str(seconds), "-v")
    out += err
    row = re.search(r"^ +add +(\d+) +(\d+) +(\d+)", out, re.M)
    total = re.search(r"^@\[add\]: (\d+)", out, re.M)
    return status, [int(x) for x in row.groups()] if row else [0, 0, 0], int(total[1]) if total else 0, out


def count_until(app, seconds, done):
    """Like count_of(), in sessions until done(result): on a busy machine the first twin takes long."""
    until = time.time() + 120
    while True:
        result = count_of(app, seconds)
        if result[0] or done(result) or time.time() > until:
            return result
        seconds = min(seconds * 1.5, 20)


def probed_count(app, seconds=1):
    """A count in a session that has probed a launch."""
    return count_until(app, seconds, lambda result: result[1][1])


def wait_probed():
    """Wait until the session that runs has probed a launch."""
    for _ in range(600):
        done = subprocess.run([GPUBPF, "session", "report", "-j"], capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
        if re.search(r'"probed": *[1-9]', done.stdout):
            return
        time.sleep(0.1)


def test_rounds():
    name = f"{ROUNDS} rounds, 4 threads"
    app = Application("4")
    probed_count(app, 3)
    first, bad = smallest(app), []
    for _ in range(ROUNDS):
        status, (launches, probed, missed), total, out = probed_count(app, 0.5)
        if status or launches != probed + missed or total != probed * ITEMS or not probed:
            bad.append((status, launches, probed, missed, total, out))
    tap.ok(not bad, f"{name}: each count is the probed launches times {ITEMS}", *bad[:2])
    tap.ok(smallest(app) == first, f"{name}: descriptors, files and threads as after the first", first, app.sizes())
    app.end(name)


def test_short():
    """Sessions that are shorter than the build of their twin: each continues the build of the last one."""
    with tempfile.TemporaryDirectory() as cache:
        ENVIRONMENT["XDG_CACHE_HOME"] = cache
        app = Application("1")
        for n in range(1, 301):
            status, (launches, probed, missed), total, out = count_of(app, 0.1)
            if status or probed:
                break
        tap.ok(status == 0 and probed and total == probed * ITEMS, f"sessions of 0.1 s: session {n} probes", out)
        app.end("short sessions")
    ENVIRONMENT["XDG_CACHE_HOME"] = SCRATCH.name


def test_arguments():
    app = Application("2", "once")
    status, (launches, probed, missed), total, out = count_until(app, 3, lambda result: "an argument" in result[3])
    tap.ok(status == 0 and launches == missed and not probed and "an argument that the application set before the attach" in out,
           "arguments set once, before: missed, with the reason", out)
    app.end("arguments set once")


def test_new_objects():
    app = Application("2", "new")
    status, (launches, probed, missed), total, out = probed_count(app, 4)
    tap.ok(status == 0 and probed and total == probed * ITEMS, "programs and kernels created after the attach: probed", out)
    count_of(app, 1)
    app.end("programs created anew")


def test_forms():
    app = Application("1", "il")
    if app.first != "ready":
        tap.skip("a program from SPIR-V", "the runtime does not build it")
        app.process.communicate()
    else:
        status, (launches, probed, missed), total, out = probed_count(app, 4)
        tap.ok(status == 0 and probed and total == probed * ITEMS, "a program from SPIR-V: probed", out)
        app.end("SPIR-V")
    app = Application("1", "binary")
    status, (launches, probed, missed), total, out = count_until(app, 3, lambda result: "binary" in result[3])
    tap.ok(status == 0 and launches == missed and "created from a binary" in out, "a program from a binary: missed, with the reason", out)
    app.end("binary")


def test_late_runtime():
    app = Application("1", "late")
    tool = subprocess.Popen([GPUBPF, "attach", "-p", str(app.pid), *COUNT, "-v"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
    time.sleep(1)
    os.kill(app.pid, signal.SIGUSR1)
    wait_probed()
    tool.send_signal(signal.SIGINT)
    out = tool.communicate(timeout=120)[0]
    tap.ok(re.search(r"^ +add +\d+ +[1-9]", out, re.M), "OpenCL loaded after the attach: probed", out)
    app.end("OpenCL loaded later")


def test_end():
    app = Application("2", "100000000")
    tool = subprocess.Popen([GPUBPF, "attach", "-p", str(app.pid), *COUNT, "-v"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
    time.sleep(3)
    app.process.kill()
    out = tool.communicate(timeout=60)[0]
    tap.ok(tool.returncode == 0 and re.search(r"^ +add +\d+", out, re.M), "the application is killed: the tool ends with its report", out, tool.returncode)
    app.process.communicate()
    app = Application("2")
    tool = subprocess.Popen([GPUBPF, "attach", "-p", str(app.pid), *COUNT, "-v"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
    time.sleep(3)
    tool.send_signal(signal.SIGINT)
    out = tool.communicate(timeout=60)[0]
    tap.ok(tool.returncode == 0 and re.search(r"^ +add +\d+", out, re.M), "Ctrl-C ends it with its report", out, tool.returncode)
    app.end("Ctrl-C")


def test_two_sessions():
    app = Application("2")
    tool = subprocess.Popen([GPUBPF, "attach", "-p", str(app.pid), *COUNT, "-v"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
    time.sleep(2)
    status, out, err = attach("-p", str(app.pid), "-d", "1")
    tap.ok(status == 125 and f"process {app.pid} is in session {tool.pid} (live); end that session" in err, "a second session is refused, with the reason", out, err, status)
    tool.send_signal(signal.SIGINT)
    tool.communicate(timeout=60)
    status, (launches, probed, missed), total, out = probed_count(app, 2)
    tap.ok(status == 0 and probed and total == probed * ITEMS, "after the first it attaches", out)
    app.end("two sessions")
    app = Application("1", prefix=[GPUBPF, "run", "-q", *COUNT, "--"])
    child = int(open(f"/proc/{app.pid}/task/{app.pid}/children", encoding="ascii").read())
    status, out, err = attach("-p", str(child), "-d", "1")
    tap.ok(status == 125 and f"process {child} is in session {app.pid} (live)" in err, "a process of gpubpf run is refused, with the reason", out, err)
    os.kill(child, signal.SIGRTMIN)
    app.process.communicate(timeout=60)


def test_kills():
    name = f"{KILLS} kills of the tool"
    app = Application("3")
    probed_count(app, 2)
    first = smallest(app)
    for _ in range(KILLS):
        tool = subprocess.Popen([GPUBPF, "attach", "-p", str(app.pid), *COUNT, "-d", "0.2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        time.sleep(random.choice([random.uniform(0, 0.05), random.uniform(0, 0.5)]))
        tool.kill()
        tool.wait()
        if app.process.poll() is not None:
            break
    tap.ok(app.process.poll() is None, f"{name}: the application lives", app.process.poll())
    for _ in range(100):
        status, (launches, probed, missed), total, out = probed_count(app, 1)
        if status == 0:
            break
        time.sleep(0.1)
    tap.ok(status == 0 and probed and total == probed * ITEMS, f"{name}: the next tool's count is exact", out)
    tap.ok(smallest(app) == first, f"{name}: nothing is left", first, app.sizes())
    app.end(name)


def test_fork():
    app = Application("1", "fork")
    status, (launches, probed, missed), total, out = probed_count(app, 2)
    tap.ok(status == 0 and probed and total == probed * ITEMS, "an application that forks: probed", out)
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
            pids = []
            for _ in range(300 if option else 40):
                found = json.loads(subprocess.run([GPUBPF, "session", "list", "-j"], capture_output=True, text=True, env=ENVIRONMENT, check=True).stdout)["sessions"]
                mine = [s for s in found if s["pid"] == tool.pid]
                pids = [p["pid"] for s in mine for p in s["processes"] or [] if p["launches"]]
                if len(pids) == alive or not mine:
                    break
                time.sleep(0.1)
            want = (children(shell.pid) if name == "children" else [shell.pid]) if option else []
            tap.ok(sorted(pids) == sorted(want), f"{name}, {option or 'without --follow'}: {len(want)} of {alive} processes are probed", pids, want)
            for pid in children(shell.pid) + ([shell.pid] if name == "exec" else []):
                os.kill(pid, signal.SIGRTMIN)
            shell.communicate(timeout=60)
            err = tool.communicate(timeout=60)[1]
            tap.ok(tool.returncode == 0, f"{name}: the tool ends when all processes have ended", err, tool.returncode)


def test_kernel_list():
    """The duration doubles until a launch was probed: on a busy machine the first twin takes long."""
    app, seconds, probed = Application("1"), 2, None
    while not probed and seconds < 200:
        done = subprocess.run([GPUBPF, "kernel", "list", "-p", str(app.pid), "-d", str(seconds), "--places"], capture_output=True, text=True, env=ENVIRONMENT,
                              timeout=500, check=False)
        probed = re.search(r"^ +add +[1-9]\d* +256 +- +yes +as ", done.stderr, re.M)
        seconds *= 2
    tap.ok(done.returncode == 0 and probed and "gpu/exit/" in done.stderr, "kernel list -p: kernels and places", done.returncode, done.stdout, done.stderr)
    app.end("kernel list -p")


def test_several():
    apps = [Application("1"), Application("1")]
    status, out, err = attach("-p", f"{apps[0].pid},999999999,{apps[1].pid}", "-d", "2")
    tap.ok(status == 0 and "no such process" in err and "attached to 2 of 3 processes" in err, "two of three processes: attached to both, and the third is named", out, err)
    status, out, err = attach("-p", f"{apps[0].pid}", "-d", "1", "--no-inject")
    tap.ok(status == 125 and f"process {apps[0].pid} is not prepared" in err, "--no-inject refuses a process that is not prepared", out, err)
    tools = [subprocess.Popen([GPUBPF, "attach", "-p", str(app.pid), *COUNT, "-v", "-d", "4"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT) for app in apps]
    outs = [tool.communicate(timeout=120)[0] for tool in tools]
    tap.ok(all(tool.returncode == 0 for tool in tools) and all(re.search(r"^ +add +[1-9]", out, re.M) for out in outs), "two tools attach to two processes at once", *outs)
    for app in apps:
        app.end("several processes")


def test_usage():
    for words, status, pattern in ((["-p", "x"], 2, "must be ids of processes"), ([], 2, "use -p PID"), (["-p", "999999999"], 125, "no such process"),
                                   (["-p", "1", "true"], 2, "attach starts no application"), (["--name", "nothing-has-this-name"], 125, "no process that uses OpenCL or CUDA matches")):
        rc, out, err = attach(*words, "-d", "1", probes=COUNT)
        tap.ok(rc == status and re.search(pattern, err), f"attach {' '.join(words)}: status {status}: {err.strip()}", out, rc)
    rc, out, err = attach("-p", "1", probes=[])
    tap.ok(rc == 2 and "no probes" in err, f"attach without probes: {err.strip()}")
    app = Application("1", program=os.path.join(SCRATCH.name, f"named-{RUNTIME}"))
    until = time.time() + 120
    while True:
        status, out, err = attach("--name", f"named-{RUNTIME}*", "-d", "4", "-v")
        found = re.search(r"^ +add +\d+", out + err, re.M)
        if found or status or time.time() > until:
            break
    tap.ok(status == 0 and found, "--name: attached by name", out, err)
    app.end("--name")


if os.uname().machine != "x86_64":
    tap.skip_all("attach works on x86-64 only")
if not find_runtime():
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
