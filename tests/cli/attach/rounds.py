#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rounds.py GPUBPF LIVE APPLICATION ROUNDS HELD: many attaches to one application and detaches from it.

APPLICATION is unprepared, prepared (8 launching threads of LIVE), clpeak, ffmpeg or pyopencl. $GPUBPF_TEST_ROUNDS replaces ROUNDS. If APPLICATION is
stack, the test compares the stack of launches in a session with that of launches without one. If it is kills, the tool is killed or stopped at random
moments, two tools attach at once, and applications are killed. Then $GPUBPF_TEST_KILLS replaces ROUNDS. If it is held, the test compares the bytes that
the agent holds after rounds. The library HELD, preloaded into the application, measures them.

The test compares the application's output with that of an untouched run, and its counts between known launches. It also prints the longest gap between two
launches of a thread, and the gap of an untouched run."""
import collections
import contextlib
import ctypes
import glob
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
import tap
from sizes import Sized

GPUBPF, LIVE, WHICH = (*(os.path.abspath(p) for p in sys.argv[1:3]), sys.argv[3])
ROUNDS = int(os.environ.get("GPUBPF_TEST_KILLS" if WHICH == "kills" else "GPUBPF_TEST_ROUNDS", sys.argv[4]))
PROBES = ["-e", "gpu/entry/* { @[kernel] = count(); } gpu/entry/* /tid == 0/ { @first[kernel] = count(); }"]
ITEMS = 256  # threads of LIVE's kernel
LIMIT = 400  # seconds for each condition
THREADS = 8
WARM = min(max(ROUNDS // 5, 3), 100)  # rounds before memory is measured: the C library's heaps grow first
MEMORY_ROUNDS = 100  # in fewer rounds the heaps of 8 threads still grow, and HELD measures the agent's own bytes
MEMORY_MAX = 4 << 20  # bytes of growth after WARM
HELD = os.path.abspath(sys.argv[5])
HELD_MAX = 4096  # bytes that PoCL may hold in addition: each thread's last launch has an event
STACK_MAX = 2048  # bytes of the caller's stack that a session may use in addition
STOP, PAUSE = signal.SIGRTMIN, signal.SIGRTMIN + 1
SCRATCH = tempfile.TemporaryDirectory()
REPORT = os.path.join(SCRATCH.name, "report.json")
POCL = next(iter(sorted(glob.glob("/etc/OpenCL/vendors/pocl*.icd"))), None)
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if k not in ("GPUBPF_SESSION", "OPENCL_LAYERS", "GPUBPF_BACKEND")},
               "OCL_ICD_VENDORS": POCL or "", "XDG_RUNTIME_DIR": SCRATCH.name, "XDG_CACHE_HOME": SCRATCH.name, "PYOPENCL_NO_CACHE": "1"}
Counts = collections.namedtuple("Counts", "launches probed missed threads first")


def read_counts(report):
    kernels, maps = report["kernels"], {m["name"]: sum(int(e["value"]) for e in m["entries"]) for m in report["maps"]}
    return Counts(sum(k["launches"] for k in kernels), sum(k["probed"] for k in kernels), sum(sum(k["missed_by"].values()) for k in kernels),
                  maps.get("@", 0), maps.get("@first", 0))


class Tool:
    """gpubpf attach, until stop()."""
    def __init__(self, pid, *words):
        with contextlib.suppress(FileNotFoundError):
            os.remove(REPORT)
        self.done = None
        self.process = subprocess.Popen([GPUBPF, "attach", "-p", str(pid), "-j", "-r", REPORT, *PROBES, *words], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)

    def report(self):
        """The counts of the running session, or None."""
        done = subprocess.run([GPUBPF, "session", "report", "-j", "-S", str(self.process.pid)], capture_output=True, text=True, env=ENVIRONMENT, timeout=120,
                              check=False)
        return read_counts(json.loads(done.stdout)) if done.returncode == 0 else None

    def wait_probed(self):
        """Wait until a launch was probed. Returns false if the session ended."""
        while self.process.poll() is None:
            counts = self.report()
            if counts and counts.probed:
                return True
            time.sleep(0.01)
        return False

    def stop(self):
        """End the session. Returns its counts, or the tool's messages if it failed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.result()

    def result(self):
        if not self.done:
            err = self.process.communicate(timeout=LIMIT)[1]
            good = not self.process.returncode and os.path.exists(REPORT)
            self.done = (read_counts(json.load(open(REPORT, encoding="utf-8"))), err) if good else (None, f"status {self.process.returncode}: {err}")
        return self.done


def may_repeat(err):
    """Does the tool advise to try again? The last session may not have ended, or the process was too slow, as on a busy machine."""
    return "try again" in err or "did not end within" in err


def open_tool(app):
    """A tool whose session has probed a launch. Attach again while the tool advises it."""
    until = time.time() + LIMIT
    while True:
        tool = Tool(app.pid)
        if tool.wait_probed() or time.time() > until or not may_repeat(tool.result()[1]):
            return tool


class Process(Sized):
    """Figures of a process."""
    def __init__(self, pid):
        self.pid = pid

    def memory(self):
        """Private memory in bytes."""
        return int(re.search(r"^RssAnon:\s+(\d+)", open(f"/proc/{self.pid}/status", encoding="ascii").read(), re.M)[1]) * 1024

    def changed_code(self):
        """Returns the files whose code in memory differs from the file."""
        changed = set()
        for line in open(f"/proc/{self.pid}/maps", encoding="ascii"):
            span, flags, offset, _, _, *path = line.split(maxsplit=5)
            path = path[0].strip() if path else ""
            if flags != "r-xp" or not path.startswith("/") or not os.path.exists(path):
                continue
            begin, end = (int(x, 16) for x in span.split("-"))
            with open(f"/proc/{self.pid}/mem", "rb") as memory, open(path, "rb") as file:
                memory.seek(begin)
                file.seek(int(offset, 16))
                if memory.read(end - begin) != file.read(end - begin).ljust(end - begin, b"\0"):
                    changed.add(path)
        return changed


def end_with_parent():
    """Called in the child: the kernel kills it when this test dies, so that no launching threads stay behind."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Live(Process):
    """Threads of LIVE that launch until they are paused."""
    def __init__(self, prepared, mode="pause", threads=THREADS, **environment):
        prefix = [GPUBPF, "run", "--idle", "--"] if prepared else []
        self.process = subprocess.Popen([*prefix, LIVE, str(threads), mode], stdout=subprocess.PIPE, text=True, preexec_fn=end_with_parent,
                                        env={**ENVIRONMENT, "LD_BIND_NOW": "1", **environment})
        self.process.stdout.readline()
        self.stack, self.held = 0, None
        super().__init__(self.process.pid)

    def pause(self):
        """Returns the number of launches, the longest gap in us since the last pause, and the state of the dispatch table."""
        self.process.send_signal(PAUSE)
        line = self.process.stdout.readline()
        found = re.match(r"paused (\d+) gap (\d+) table (\w+) stack (\d+)(?: agent (-?\d+) runtime (-?\d+))?", line)
        self.stack = int(found[4]) if found else 0
        self.held = tuple(int(x) for x in found.groups()[4:]) if found and found[5] else None
        return (int(found[1]), int(found[2]), found[3]) if found else (0, 0, line)

    def run(self):
        self.process.send_signal(PAUSE)

    def end(self):
        self.process.send_signal(STOP)
        return self.process.communicate(timeout=LIMIT)[0].strip()


def check_known(app, tool):
    """The session counts each launch between two pauses once. Returns the longest gap and the fault."""
    before, gap, _ = app.pause()
    first = tool.report()
    app.run()
    time.sleep(0.02)
    after, later, _ = app.pause()
    second = tool.report()
    app.run()
    known = after - before
    good = first and second and second.launches - first.launches == known == second.probed - first.probed == second.first - first.first and \
        second.threads - first.threads == known * ITEMS
    return max(gap, later), None if good else (known, first, second)


def run_round(app, i):
    """One attach and detach, again while the tool advises it. Returns the longest gap and the fault."""
    until = time.time() + LIMIT
    while True:
        gap, wrong, err = try_round(app, i)
        if not wrong or not may_repeat(err) or time.time() > until:
            return gap, wrong


def try_round(app, i):
    """One attach and detach. Each tenth is checked between known launches. Returns the longest gap, the fault and the tool's messages."""
    known = i % 10 == 0
    tool = open_tool(app) if known else Tool(app.pid, "-d", "0.1")
    gap, bad = check_known(app, tool) if known and tool.process.poll() is None else (0, None)
    counts, err = tool.stop() if known else tool.result()
    last, after, table = app.pause()
    changed = app.changed_code() if known else None
    app.run()
    if bad or table != "same" or changed:
        return max(gap, after), (i, bad, table, changed, err), err
    if not counts or counts.launches != counts.probed + counts.missed or counts.first != counts.probed or counts.threads != counts.probed * ITEMS:
        return max(gap, after), (i, counts, err), err
    return max(gap, after), None, err


def untouched_gap(prepared, seconds):
    """The longest gap in a run of the same length, with the same pauses and no tool."""
    app, longest, until = Live(prepared), 0, time.time() + seconds
    while time.time() < until:
        time.sleep(0.3)
        longest = max(longest, app.pause()[1])
        app.run()
    return longest, app.end()


def test_live():
    app = Live(WHICH == "prepared")
    longest, bad, memories, begin, first = 0, [], [], time.time(), None
    counts, err = open_tool(app).stop()
    tap.ok(counts and counts.probed, "the first session probes", err)
    app.pause()
    app.run()
    for i in range(ROUNDS):
        gap, wrong = run_round(app, i)
        longest = max(longest, gap)
        bad += [wrong] if wrong else []
        if i % max(ROUNDS // 10, 1) == 0:
            memories.append(app.memory() >> 10)
        if i + 1 == min(WARM, ROUNDS):
            first = app.smallest(), app.memory()
    seconds = time.time() - begin
    tap.ok(not bad, f"{ROUNDS} rounds: the counts are exact, tables and code are restored", len(bad), *bad[:3])
    sizes, memory = app.smallest(), app.memory()
    tap.ok(sizes == first[0], f"{ROUNDS} rounds: descriptors, mappings and threads as after round {WARM}", first[0], sizes)
    if ROUNDS >= MEMORY_ROUNDS:
        tap.ok(memory - first[1] <= MEMORY_MAX, f"{ROUNDS} rounds: private memory grew from {first[1] >> 10} to {memory >> 10} KiB", first, memory)
    out = app.end()
    tap.ok(re.fullmatch(r"launches \d+ wrong 0", out.splitlines()[-1]), f"{ROUNDS} rounds: all results are right: {out}")
    print("# private memory in KiB after each tenth of the rounds:", *memories)
    native, out = untouched_gap(WHICH == "prepared", min(seconds, 60 if ROUNDS >= 100 else 5))
    print(f"# {ROUNDS} rounds in {seconds:.0f} s; longest gap between two launches of a thread: {longest / 1000:.1f} ms; untouched: {native / 1000:.1f} ms")


def random_moment():
    """Within the attach, or within a session of 0.2 s and its detach."""
    time.sleep(random.choice([random.uniform(0, 0.05), random.uniform(0, 0.5)]))


def end_tool(tool):
    """Kill the tool, or end it as Ctrl-C does. A tool that was refused has ended."""
    if tool.process.poll() is None:
        tool.process.send_signal(random.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT]))
    tool.process.communicate(timeout=300)


def kill_tool(app):
    tool = Tool(app.pid, "-d", "0.2")
    random_moment()
    tool.process.kill()
    tool.process.communicate(timeout=300)


def stop_tool(app):
    """The application may wait for a tool that is stopped while it stops threads, and must then go on."""
    tool = Tool(app.pid, "-d", "0.2")
    random_moment()
    tool.process.send_signal(signal.SIGSTOP)
    time.sleep(random.uniform(0, 0.2))
    if random.random() < 0.5:
        tool.process.send_signal(signal.SIGCONT)
        random_moment()
        end_tool(tool)
    else:
        tool.process.kill()
        tool.process.communicate(timeout=300)


def two_tools(app):
    """Two tools attach at once. One is refused, or attaches after the other."""
    tools = [Tool(app.pid, "-d", "0.2") for _ in range(2)]
    for tool in tools:
        random_moment()
        end_tool(tool)


def kill_application():
    """Returns true if the tool ends after the application's death."""
    app = Live(False)
    tool = Tool(app.pid)
    random_moment()
    app.process.kill()
    app.process.communicate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        tool.process.communicate(timeout=LIMIT)
        return True
    tool.process.kill()
    return False


def attach_again(app):
    """A round after the agent has ended the last session. Returns the fault, or None."""
    wrong = None
    for _ in range(100):
        _, wrong = run_round(app, 0)
        if not wrong:
            break
        time.sleep(0.1)
    return wrong


def test_kills():
    app, kinds, launches = Live(False), [kill_tool, kill_tool, stop_tool, two_tools], 0
    counts, err = open_tool(app).stop()
    tap.ok(counts and counts.probed, "the first session probes", err)
    first, stuck, done = app.smallest(), 0, collections.Counter()
    for i in range(ROUNDS):
        kind = random.choice(kinds)
        kind(app)
        done[kind.__name__] += 1
        if app.process.poll() is not None:
            break
        if i % 10 == 9:
            now = app.pause()[0]
            app.run()
            stuck += now <= launches
            launches = now
        if i % 100 == 99:
            print(f"# after {i + 1}: {dict(done)}, {app.sizes()}", flush=True)
    tap.ok(app.process.poll() is None and not stuck, f"{dict(done)}: the application lives and launches", app.process.poll(), stuck)
    wrong = attach_again(app)
    tap.ok(not wrong, f"{ROUNDS} kills and stops: the next session's counts are exact, tables and code are restored", wrong)
    sizes = app.smallest()
    tap.ok(sizes == first, f"{ROUNDS} kills and stops: descriptors, mappings and threads as before", first, sizes)
    out = app.end()
    tap.ok(re.fullmatch(r"launches \d+ wrong 0", out.splitlines()[-1]), f"{ROUNDS} kills and stops: all results are right: {out}")
    deaths = min(max(ROUNDS // 20, 2), 50)
    ended = [kill_application() for _ in range(deaths)]
    tap.ok(all(ended), f"{deaths} deaths of applications: the tool ends", ended)


def stack_of(app, seconds):
    """The most bytes of stack that a launch of the next seconds writes."""
    app.pause()
    app.run()
    time.sleep(seconds)
    app.pause()
    app.run()
    return app.stack


def test_stack():
    for prepared in (False, True):
        app = Live(prepared, "stack", 2)
        native = stack_of(app, 2)
        tool = open_tool(app)
        probed = tool.process.poll() is None
        time.sleep(1)
        app.pause()  # since the last pause: the attach, the first probed launch, and later launches
        app.run()
        attached = app.stack
        counts, err = tool.stop()
        later = stack_of(app, 1)
        what = "a prepared process" if prepared else "an unprepared process"
        tap.ok(probed and counts and 0 < attached <= native + STACK_MAX, f"{what}: launches write {native} bytes of stack, {attached} in a session", err)
        tap.ok(later <= native + STACK_MAX, f"{what}: {later} after the session")
        app.end()


def held_after(app, threads):
    """The bytes that the agent and PoCL hold once all threads of the session have ended. Then its records are released."""
    while app.process.poll() is None and app.sizes()[2] > threads:
        time.sleep(0.01)
    app.pause()
    app.run()
    return app.held


def test_held():
    for prepared in (False, True):
        what = f"{'a prepared' if prepared else 'an unprepared'} process"
        app, probed, held = Live(prepared, threads=2, LD_PRELOAD=HELD), 0, []
        app.pause()  # it measures from here on
        app.run()
        threads = app.sizes()[2]
        for i in range(ROUNDS):
            counts, _ = open_tool(app).stop()
            probed += bool(counts and counts.probed)
            if i + 1 in (ROUNDS // 3, ROUNDS):
                held.append(held_after(app, threads))
        first, last = held
        tap.ok(probed == ROUNDS and 0 <= first[0] == last[0], f"{what}: the agent holds {last[0]} bytes after {ROUNDS} rounds, as after {ROUNDS // 3}", held)
        tap.ok(0 <= last[1] <= first[1] + HELD_MAX, f"{what}: PoCL holds {last[1]} bytes, {last[1] - first[1]} more", held)
        app.end()


class Real(Process):
    """A program that runs until all rounds are done. It writes one line per result to a file."""
    def __init__(self, limit=None):
        self.out = tempfile.NamedTemporaryFile(dir=SCRATCH.name, delete=False).name
        self.process = subprocess.Popen(COMMANDS[WHICH](limit), stdout=open(self.out, "w", encoding="utf-8"), stderr=subprocess.STDOUT,
                                        stdin=subprocess.DEVNULL, env=ENVIRONMENT)
        super().__init__(self.process.pid)

    def lines(self):
        return open(self.out, encoding="utf-8", errors="replace").read().split("\n")[:-1]

    def wait_lines(self, n):
        while len(self.lines()) < n and self.process.poll() is None:
            time.sleep(0.05)


def ffmpeg_command(limit):
    frames = ["-frames:v", str(limit)] if limit else []
    return ["ffmpeg", "-nostdin", "-loglevel", "error", "-init_hw_device", "opencl=gpu", "-filter_hw_device", "gpu", "-f", "lavfi", "-i",
            "testsrc2=size=160x120:rate=25", "-vf", "format=yuv420p,hwupload,avgblur_opencl=4,hwdownload,format=yuv420p", *frames, "-flush_packets", "1",
            "-f", "framemd5", "-"]


PYOPENCL = """
import hashlib, sys
import numpy as np, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
program = cl.Program(context, '__kernel void advance(__global uint *a, uint n) { a[get_global_id(0)] = a[get_global_id(0)] * 1664525u + n; }').build()
a = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
values, limit, i, kernel = np.arange(1024, dtype=np.uint32), int(sys.argv[1]), 0, cl.Kernel(program, 'advance')
cl.enqueue_copy(queue, a, values)
while not limit or i < limit:
    for _ in range(20):
        kernel(queue, (1024,), None, a, np.uint32(i))
        i += 1
    cl.enqueue_copy(queue, values, a)
    print(i, hashlib.sha256(values.tobytes()).hexdigest()[:16], flush=True)
"""


def pyopencl_command(limit):
    python = next((p for p in (os.environ.get("GPUBPF_TEST_PYTHON", ""), "build/deps/python/bin/python3") if os.path.exists(p)), sys.executable)
    return [python, "-c", PYOPENCL, str(limit * 20 if limit else 0)]


def clpeak_command(limit):
    return ["clpeak", "--global-bandwidth", "--compute-sp", "--kernel-latency"]


COMMANDS = {"ffmpeg": ffmpeg_command, "pyopencl": pyopencl_command, "clpeak": clpeak_command}


def without_figures(lines):
    """clpeak prints measured values."""
    return [re.sub(r": [0-9.]+( us)?$", "", line) for line in lines] if WHICH == "clpeak" else lines


def is_consistent(counts):
    return counts and counts.probed and counts.launches == counts.probed + counts.missed and counts.first == counts.probed


def stop_real(app):
    """A session that has probed a launch. Again while the tool advises it. Returns the counts and messages of the last one."""
    until = time.time() + LIMIT
    while True:
        counts, err = open_tool(app).stop()
        if not may_repeat(err) or app.process.poll() is not None or time.time() > until:
            return counts, err


def test_real():
    untouched = None if WHICH == "clpeak" else Real()  # it runs as long as the application, because many results take long
    app, bad, first, last, begin = Real(), [], None, None, time.time()
    same = True
    app.wait_lines(5)
    i = 0
    while i < ROUNDS:
        if app.process.poll() is not None and WHICH != "clpeak":
            tap.ok(False, f"{WHICH} ended", app.process.returncode, *app.lines()[-5:])
            return
        if app.process.poll() is not None:
            same &= app.process.returncode == 0 and without_figures(app.lines()) == without_figures(expected(app))
            app, first = Real(), None
            app.wait_lines(5)
        counts, err = stop_real(app)
        if app.process.poll() is not None:
            continue
        if not is_consistent(counts):
            bad.append((i, counts, err))
        i += 1
        if WHICH != "clpeak" and i == min(WARM, ROUNDS):
            first = app.smallest(), app.memory()
    if first:
        last = app.smallest(), app.memory()
    changed = app.changed_code()
    app.process.send_signal(signal.SIGKILL)
    app.process.wait()
    seconds = time.time() - begin
    tap.ok(not bad and not changed, f"{ROUNDS} rounds in {seconds:.0f} s: the counts are exact, the code is restored", len(bad), *bad[:3], changed)
    if first:
        tap.ok(last[0] == first[0], f"{ROUNDS} rounds: descriptors, mappings and threads as after round {WARM}", first, last)
        if ROUNDS >= MEMORY_ROUNDS:
            tap.ok(last[1] - first[1] <= MEMORY_MAX, f"{ROUNDS} rounds: private memory grew from {first[1] >> 10} to {last[1] >> 10} KiB")
        untouched.wait_lines(len(app.lines()))
        same &= untouched.lines()[:len(app.lines())] == app.lines()
    if untouched:
        untouched.process.kill()
        untouched.process.wait()
    tap.ok(same, f"{ROUNDS} rounds: {len(app.lines())} lines of output are those of an untouched run", app.lines()[-3:])


def expected(app):
    """The output of an untouched run with as many results."""
    lines = app.lines()
    results = len([line for line in lines if not line.startswith("#")])
    run = Real(max(results, 1))
    run.process.wait(timeout=1200)
    return run.lines()[:len(lines)]


if os.uname().machine != "x86_64":
    tap.skip_all("attach works on x86-64 only")
if not POCL:
    tap.skip_all("PoCL is not installed")
if WHICH in ("clpeak", "ffmpeg") and not shutil.which(WHICH):
    tap.skip_all(f"{WHICH} is not installed")
if WHICH == "pyopencl" and subprocess.run([pyopencl_command(1)[0], "-c", "import pyopencl"], capture_output=True, check=False).returncode:
    tap.skip_all("pyopencl is not installed")
if WHICH in COMMANDS:
    test_real()
elif WHICH in ("kills", "stack", "held"):
    {"kills": test_kills, "stack": test_stack, "held": test_held}[WHICH]()
else:
    test_live()
tap.plan()
