#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""top.py GPUBPF LOOP: tests gpubpf top on a pseudo-terminal, and its output without a screen. Prints TAP."""
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from screen import Terminal
from tap import ok, plan, skip_all

gpubpf, loop = sys.argv[1:]
icd = glob.glob("/etc/OpenCL/vendors/pocl*.icd")
if not icd or not os.access(loop, os.X_OK):
    skip_all("PoCL is not installed")
scratch = tempfile.TemporaryDirectory()
for name, folder in (("XDG_RUNTIME_DIR", "run"), ("XDG_CACHE_HOME", "cache")):
    os.environ[name] = os.path.join(scratch.name, folder)
    os.mkdir(os.environ[name], 0o700)
os.environ["OCL_ICD_VENDORS"] = icd[0]
for name in ("GPUBPF_SESSION", "GPUBPF_BACKEND", "NO_COLOR"):
    os.environ.pop(name, None)
stop = os.path.join(scratch.name, "stop")
ROW = re.compile(r"^step_one +(\S+ [num]*s) +(\d+\.\d) % +(\d+\.\d) +\S+ [num]*s +\S+ [num]*s +\S+ [num]*s")


def timed(rows):
    return next((match for row in rows if (match := ROW.match(row))), None)


def run(*arguments, **env):
    return subprocess.run([gpubpf, *arguments], capture_output=True, text=True, timeout=240, env={**os.environ, **env})


def links():
    return run("session", "links").stdout


def start(*options, launches="1", ms="5", lines=24, columns=80, **env):
    if os.path.exists(stop):
        os.unlink(stop)
    t = Terminal([gpubpf, "top", "-d", "0.2", *options, "--", loop, launches, ms], lines, columns, **{"LOOP_UNTIL": stop, **env})
    t.until(lambda rows: timed(rows) or t.wait(0) is not None)
    return t


def let_go():
    open(stop, "w", encoding="ascii").close()


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.1)
    return value


# the screen
t = start()
rows = t.screen.rows()
ok(timed(rows), "the table has a kernel with its times", "\n".join(rows))
ok(rows[0].startswith("gpubpf top: 1 kernel, 1 process, "), "the first line describes the session", rows[0])
ok(rows[3].split() == "KERNEL TIME SHARE LAUNCH/S MEAN P50 P99 GB/S".split(), "80 columns have these headings", rows[3])
ok(rows[23].startswith("q quit"), "the last line lists the keys", rows[23])
ok(timed(rows) and timed(rows)[2] == "100.0" and 5 < float(timed(rows)[3]) < 250, "share and rate are possible")
t.until(lambda rows: "idle >=" in rows[1])
ok(re.search(r"idle >= [0-9.]+ %", t.screen.rows()[1]), "idle time has a lower bound", t.screen.rows()[1])
t.send("h")
ok(t.until(lambda rows: rows[0] == "Keys" and rows[-1] == "Press a key."), "h shows the keys", "\n".join(t.screen.rows()))
t.send("x")
ok(t.until(timed), "a key returns to the table")
t.send("v")
ok(t.until(lambda rows: any(re.match(r"loop +\d+ +opencl:0 +\d", row) for row in rows)), "v shows processes", "\n".join(t.screen.rows()))
t.send("v>")
ok(t.until(lambda rows: "by SHARE" not in rows[2] and "by LAUNCH/S" in rows[2]), "> selects the next column that sorts", t.screen.rows()[2])
t.send("<r")
ok(t.until(lambda rows: "kernels by TIME, smallest first" in rows[2]), "< and r", t.screen.rows()[2])
t.send("fnothing")
ok(t.until(lambda rows: "filter: nothing" in rows[2] and not timed(rows)), "f hides other rows", "\n".join(t.screen.rows()))
t.send("\x7f" * 7 + "STEP\n")
ok(t.until(timed), "the filter ignores case")
t.send("\x1b")
ok(t.until(lambda rows: "filter" not in rows[2]), "Escape ends it", t.screen.rows()[2])
t.send("p")
ok(t.until(lambda rows: "PAUSED" in rows[0]), "p pauses")
before = t.screen.rows()
t.read(1)
ok(t.screen.rows() == before, "a paused screen does not change")
t.send("p")
ok(t.until(lambda rows: "PAUSED" not in rows[0] and rows != before), "p continues")

# ready probes
t.send("a")
ok(t.until(lambda rows: "  [x] kerneltime" in rows and "  [ ] launches" in rows), "a lists the ready probes", "\n".join(t.screen.rows()))
names = [row.split()[-1] for row in t.screen.rows() if re.match(r"  \[.\]", row)]
t.send("j" * names.index("launches") + "\n")
ok(t.until(lambda rows: "  [x] launches" in rows) and "count_launches" in links(), "Enter attaches one", links())
t.send("\n")
ok(t.until(lambda rows: "  [ ] launches" in rows) and "count_launches" not in links(), "and detaches it", links())
t.send("\x1b")

# the size
t.resize(16, 120)
ok(t.until(lambda rows: "LAUNCHES" in rows[3] and "RUNTIME" in rows[3] and len(rows) == 16 and rows[15].startswith("q quit")),
   "120 columns have more", "\n".join(t.screen.rows()))
t.resize(10, 40)
ok(t.until(lambda rows: rows[3].split() == "KERNEL TIME SHARE LAUNCH/S".split()), "40 columns have whole columns", "\n".join(t.screen.rows()))
t.resize(3, 8)
t.read(1)
t.resize(24, 80)
ok(t.until(timed), "a screen of 3 lines does no harm")

# the end
t.send("\x03")
ok(t.wait() == 0, "Ctrl-C ends top", t.status)
ok(t.echoes() and "\x1b[?1049l" in t.raw, "and restores the terminal")
output = re.search(r"runs on \(process group (\d+)\); its output goes to (\S+)", t.raw)
ok(output, "the application runs on, and its output has a place", t.raw[-300:])
ok(wait_for(lambda: "kernel" not in links()), "without probes", links())
let_go()
text = wait_for(lambda: output and (text := open(output[2], encoding="utf-8").read()) and "launches: " in text and text)
ok(text, "to its end", text)
if output:
    os.unlink(output[2])

for number in (signal.SIGTERM, signal.SIGHUP):
    t = start()
    os.kill(t.pid, number)
    ok(t.wait() == 0 and t.echoes(), f"{number.name} restores the terminal", t.status)
    let_go()
    wait_for(lambda: "no running session" in run("session", "links").stderr)

t = start(launches="300", LOOP_UNTIL="/")
ok(t.wait() == 42, "top ends with the application, with its exit status", t.status)
ok(re.search(r"step_one .*\n\r?\n?.*the table counts from its start", t.raw, re.S) and "300 launches: ff467000" in t.raw, "and prints the totals and the output", t.raw[-900:])

# colours, and terminals without a screen
for env, wanted in (({}, True), ({"NO_COLOR": "1"}, False)):
    # the runtime measures kerneltime's launches without a twin; only the twin with bytes costs time
    t = start("-s", "2", "--probe", "kerneltime,bytes", **env)
    t.until(lambda rows: "above 5 %" in rows[1])
    ok((33 in t.screen.styles) == wanted, f"a warning is{'' if wanted else ' not'} coloured: {env}", t.screen.rows()[1])
    t.send("q")
    ok(t.wait() == 0, "q ends top")
    let_go()
    wait_for(lambda: "no running session" in run("session", "links").stderr)
t = Terminal([gpubpf, "top", "-d", "0.2", "--", loop, "100", "10"], TERM="dumb")
ok(t.wait() == 42 and "\x1b" not in t.raw and t.raw.count("KERNEL") > 1 and "step_one" in t.raw, "TERM=dumb has tables", t.raw[-900:])

# --once
def once(*options, **env):
    """Runs top --once with an application that runs until the answer has arrived. Its output does not hold up the test."""
    if os.path.exists(stop):
        os.unlink(stop)
    with open(os.path.join(scratch.name, "err"), "w+", encoding="utf-8") as errors:
        r = subprocess.run([gpubpf, "top", "--once", *options, "--", loop, "1", "5"], stdout=subprocess.PIPE, stderr=errors, text=True,
                           timeout=240, env={**os.environ, "LOOP_UNTIL": stop, **env})
        let_go()
        wait_for(lambda: "no running session" in run("session", "links").stderr)
        errors.seek(0)
        return r, errors.read()


r, errors = once("-d", "1", "-j", "--probe", "kerneltime,bytes")
figures = json.loads(r.stdout or "{}")
kernel = figures.get("kernels", [{}])[0]
ok(r.returncode == 0 and kernel.get("name") == "step_one" and kernel["share"] == 1 and figures["interval_s"] > 0.9, "--once -j", r.stdout, errors)
ok("runs on (process group" in errors, "the application runs on", errors)
ok(0 < kernel["p50_ns"] <= kernel["p99_ns"] and kernel["mean_ns"] > 0, "has times", kernel)
# each launch loads and stores 1,024 integers; a reading may have counted the bytes of a launch and not yet the launch
ok(abs(kernel["bytes_per_s"] / kernel["launches_per_s"] / 8192 - 1) < 0.2, "bytes per second fit to the launches", kernel)
ok(figures["processes"][0]["program"].endswith("/loop") and figures["processes"][0]["launches"] > 0, "and processes", figures["processes"])
name = "a_kernel_with_a_name_that_is_much_longer_than_its_column_of_the_table"
r, errors = once("-d", "0.2", LOOP_NAME=name)
ok(r.returncode == 0 and re.search(r"^a_kernel_with\w*\.\.\w*table ", r.stdout, re.M), "a long name keeps both ends", r.stdout, errors)
r = subprocess.run([gpubpf, "top", "--once", "-d", "0.2", "--", "sh", "-c", f"{loop} 3 0; sleep 15"], capture_output=True, text=True, timeout=240)
ok(re.search(r"^step_one +[1-9][0-9.]* [num]?s .* 3 +100", r.stdout, re.M), "after the last launch, the table counts from the start", r.stdout, r.stderr)
wait_for(lambda: "no running session" in run("session", "links").stderr)

# mistakes
for arguments, status, says in (
        (["-j"], 2, "--json needs --once"),
        (["--session", "x", "--", "true"], 2, "cannot be combined"),
        (["-s", "2"], 2, "need an application"),
        (["-d", "x"], 2, "must be a number of seconds"),
        (["--once"], 1, "you have no running session"),
        (["--session", "/nowhere"], 1, "no session answers"),
        (["--", "/nowhere"], 127, "/nowhere: cannot be run"),
        (["--probe", "kerneltim", "--", "true"], 2, "did you mean kerneltime?")):
    r = run("top", *arguments)
    ok(r.returncode == status and says in r.stderr, f"{arguments}: {says}", r.returncode, r.stderr)
plan()
