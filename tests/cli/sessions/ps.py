#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ps.py GPUBPF LIVE: lists GPU processes, and restores processes that killed tools changed. Only the last test needs an OpenCL runtime (PoCL)."""
import glob
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
import tap

GPUBPF, LIVE = (os.path.abspath(p) for p in sys.argv[1:3])
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable # other users may not read the folder of this one
SCRATCH = tempfile.TemporaryDirectory()
RUNTIME = os.path.join(SCRATCH.name, "run")
os.makedirs(os.path.join(RUNTIME, "gpubpf"), 0o700)
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if k not in ("GPUBPF_SESSION", "OPENCL_LAYERS", "GPUBPF_BACKEND")},
               "XDG_RUNTIME_DIR": RUNTIME, "XDG_CACHE_HOME": SCRATCH.name}
# A process that maps files, takes a name, and waits.
MAPS = """import mmap, sys
files = [open(path, "rb") for path in sys.argv[2:]]
kept = [mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) for file in files]
open("/proc/self/comm", "w").write(sys.argv[1])
print("ready", flush=True)
sys.stdin.read()
"""


def tool(*words, user=None):
    done = subprocess.run([GPUBPF, *words], capture_output=True, text=True, env=ENVIRONMENT, timeout=120, user=user, check=False)
    return done.returncode, done.stdout, done.stderr


def listed(**options):
    return {p["pid"]: p for p in json.loads(tool("ps", "-j", **options)[1])["processes"]}


class Process:
    """A process that has mapped empty-looking files with these names."""
    def __init__(self, *names, comm="maps-files", user=None):
        paths = []
        for name in names:
            paths.append(os.path.join(SCRATCH.name, name))
            os.makedirs(os.path.dirname(paths[-1]), exist_ok=True)
            pathlib.Path(paths[-1]).write_bytes(b"x" * 4096)
        self.process = subprocess.Popen([PYTHON, "-c", MAPS, comm, *paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=user)
        assert self.process.stdout.readline() == "ready\n"
        self.pid = self.process.pid

    def end(self):
        self.process.communicate("", timeout=60)


def runtimes(*names):
    """The runtimes that ps finds in a process with these files; None: it does not list the process."""
    p = Process(*names)
    found = listed().get(p.pid)
    p.end()
    return found and found["runtimes"]


def test_runtimes():
    for names, want in ((["libcuda.so.1"], ["CUDA"]), (["libcuda.so.580.95.05"], ["CUDA"]), (["libamdhip64.so.6"], ["HIP"]), (["libze_loader.so.1.9"], ["Level Zero"]),
                        (["libOpenCL.so.1", "libpocl.so.2.10.0"], ["OpenCL", "PoCL"]), (["libpocl-2.9.0.so.1"], ["PoCL"]),
                        (["libOpenCL.so.1", "libintelocl.so"], ["OpenCL", "Intel CPU OpenCL"]), (["libOpenCL.so.1", "libnvidia-opencl.so.1", "libcuda.so.1"],
                                                                                                ["CUDA", "OpenCL", "NVIDIA OpenCL"])):
        found = runtimes(*names)
        tap.ok(found == want, f"a process with {', '.join(names)}: {', '.join(want)}", found)
    for names in (["libcudart.so.12"], ["libcuda.so.7/readme"], ["x libcuda.so.1"], ["libcuda-so"], ["libcuda"], ["notlibcuda.so"]):
        found = runtimes(*names)
        tap.ok(found is None, f"a process with {', '.join(names)} is not listed", found)
    found = runtimes("a\nlibcuda.so.8/b", "c\n7f0000000000-7f0000001000 r-xp 00000000 00:00 1 libcuda.so.1")
    tap.ok(found is None, "a path with a newline is one path", found)
    found = runtimes("with blank/libcuda.so.1 (deleted)", "libOpenCL.so")
    tap.ok(found == ["CUDA", "OpenCL"], "a path with blanks", found)
    p = Process("libgpubpf-idle.so")
    found = listed().get(p.pid)
    p.end()
    tap.ok(found and found["prepared"] and not found["agent"], "a prepared process", found)


def test_text():
    p = Process("libcuda.so.1", comm="\x1b[31mred")
    rc, out, err = tool("ps")
    row = next((line for line in out.splitlines() if line.split()[:1] == [str(p.pid)]), "")
    tap.ok(rc == 0 and re.search(r"^ +PID +USER +(CONTAINER +)?STATE +LAUNCH/S +SESSION +RUNTIMES +COMMAND$", out, re.M), "the headings", out)
    tap.ok(" CUDA " in row and re.search(r" - +- +- +CUDA ", row), "no state, no rate, no session", row)
    found = listed()[p.pid]
    tap.ok("\x1b" not in out and "\x1b" not in found["name"] and found["name"] == "?[31mred", "a name with an escape sequence", found)
    wide = subprocess.run(["script", "-qec", f"stty cols 60; {GPUBPF} ps", "/dev/null"], capture_output=True, text=True, env={**ENVIRONMENT, "TERM": "xterm"}, check=False)
    rows = [line.rstrip("\r") for line in wide.stdout.splitlines()]
    tap.ok(any(str(p.pid) in line for line in rows) and max(map(len, rows)) <= 60, "a terminal with 60 columns: no line is wider", wide.stdout)
    tap.ok(any(len(line) > 60 for line in out.splitlines()), "a pipe gets whole lines")
    tap.ok("\x1b" not in wide.stdout, "no colours")
    p.end()


def test_users():
    if os.geteuid() or subprocess.run([GPUBPF, "version"], stdout=subprocess.DEVNULL, user=65534, check=False).returncode:
        tap.skip("processes of other users", "needs root, and a build that other users can run")
        return
    os.chmod(SCRATCH.name, 0o755)
    mine, other = Process("libcuda.so.1"), Process("libcuda.so.1", user=65534)
    found, seen = listed(), listed(user=65534)
    tap.ok(found[other.pid]["user"] == "nobody" and mine.pid in found, "root sees the processes of all users", found)
    tap.ok(other.pid in seen and mine.pid not in seen, "a user sees own processes", seen)
    mine.end()
    other.end()
    os.chmod(SCRATCH.name, 0o700)


def stub_code():
    """The bytes of the start code, from the tool's symbols."""
    out = subprocess.run(["nm", "-n", GPUBPF], capture_output=True, text=True, check=True).stdout
    begin, end = (int(re.search(rf"^([0-9a-f]+) . gpubpf_boot_stub{s}$", out, re.M)[1], 16) for s in ("", "_end"))
    sections = subprocess.run(["readelf", "-lW", GPUBPF], capture_output=True, text=True, check=True).stdout
    for offset, address, size in re.findall(r"LOAD +0x([0-9a-f]+) 0x([0-9a-f]+) 0x[0-9a-f]+ 0x([0-9a-f]+)", sections):
        if int(address, 16) <= begin < int(address, 16) + int(size, 16):
            with open(GPUBPF, "rb") as f:
                f.seek(int(offset, 16) + begin - int(address, 16))
                return f.read(end - begin)
    return b""


def plant_stub(pid, code):
    """Write the start code where a tool that was killed leaves it. Returns its address."""
    size = (len(code) + 15) & ~15
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "r+b", buffering=0) as mem:
        for line in maps:
            word = line.split()
            if len(word) < 6 or word[1] != "r-xp" or word[5][0] != "/" or "/ld-linux" in word[5]:
                continue
            address = int(word[0].split("-")[1], 16) - size
            mem.seek(address)
            if mem.read(size) == bytes(size):
                mem.seek(address)
                mem.write(code)
                return address
    return 0


def read_memory(pid, address, size):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        mem.seek(address)
        return mem.read(size)


def test_clean():
    p, code = Process("libOpenCL.so.1"), stub_code()
    path = os.path.join(RUNTIME, "gpubpf", "4194304-0.sock") # no process has this pid
    subprocess.run([sys.executable, "-c", "import socket, sys; socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind(sys.argv[1])", path], check=True)
    if os.uname().machine == "x86_64":
        address = plant_stub(p.pid, code)
        tap.ok(address and read_memory(p.pid, address, len(code)) == code, "the start code of a killed tool is in a process")
        rc, out, err = tool("ps", "--clean")
        tap.ok(rc == 0 and f"process {p.pid}: removed the start code of a killed tool" in out and f"removed {path}" in out, "ps --clean removes it, and a socket", out, err)
        tap.ok(read_memory(p.pid, address, len(code)) == bytes(len(code)), "the bytes are zeros again")
    tap.ok(not os.path.exists(path), "the socket has gone")
    rc, out, err = tool("ps", "--clean", "-j")
    tap.ok(rc == 0 and not [c for c in json.loads(out)["cleaned"] if c["pid"] == p.pid], "then nothing is left", out, err)
    p.end()
    tap.ok(p.process.returncode == 0, "the process has lived")


def test_session():
    vendors = sorted(glob.glob("/etc/OpenCL/vendors/pocl*.icd"))
    if not vendors or os.uname().machine != "x86_64" or not os.path.exists(LIVE):
        tap.skip("a process in a session", "no PoCL")
        return
    app = subprocess.Popen([LIVE, "1"], stdout=subprocess.PIPE, text=True, env={**ENVIRONMENT, "OCL_ICD_VENDORS": vendors[0]})
    app.stdout.readline()
    session = subprocess.Popen([GPUBPF, "attach", "-q", "-p", str(app.pid), "-e", "gpu/entry/* { @ = count(); }"], env=ENVIRONMENT,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(300):
        found = listed().get(app.pid, {})
        if found.get("sessions") and found.get("launches_per_s"):
            break
        time.sleep(0.2)
    tap.ok(found["runtimes"] == ["OpenCL", "PoCL"] and found["agent"] and found["sessions"] == [str(session.pid)] and found["launches_per_s"] > 0,
           "a process in a session: its launches per second", found)
    rc, out, err = tool("ps")
    tap.ok(re.search(rf"^ +{app.pid} .* session +[1-9]\d* +{session.pid} +PoCL ", out, re.M), "as text", out)
    rc, out, err = tool("session", "links", "-p", str(app.pid))
    tap.ok(rc == 0 and "entry_1" in out, "-p PID selects its session", out, err)
    session.send_signal(signal.SIGINT)
    session.wait(timeout=60)
    found = listed().get(app.pid)
    tap.ok(found and found["agent"] and not found["sessions"] and found["launches_per_s"] is None, "after the session, its agent stays", found)
    app.send_signal(signal.SIGRTMIN)
    app.communicate(timeout=60)


test_runtimes()
test_text()
test_users()
test_clean()
test_session()
tap.plan()
