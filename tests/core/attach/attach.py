#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""attach.py TOOL VICTIM ODD PAYLOAD BOOT_LIBRARY: loads a library into running processes, and kills the tool while it does.

GPUBPF_TEST_KILLS is the number of kills per case (else 150)."""
import hashlib
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

TOOL, VICTIM, ODD, PAYLOAD, BOOT = (os.path.abspath(p) for p in sys.argv[1:6])
KILLS = int(os.environ.get("GPUBPF_TEST_KILLS", "150"))
NOBODY = 12345
LIMIT = 300  # seconds for each condition


def start(*command, **options):
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)


def start_victim(*prefix, threads):
    """Starts the victim, and waits until its threads run."""
    victim = start(*prefix, VICTIM, str(threads))
    victim.stdout.readline()
    return victim


def wait_until(condition):
    """Returns the condition's value once it is true, or after the time limit."""
    until = time.time() + LIMIT
    while not (value := condition()) and time.time() < until:
        time.sleep(0.02)
    return value


def attach(pid, rounds=1, prefix=(), expected="$^"):
    """Attaches. Repeats it if no thread stopped in time, unless the output is as expected: on a busy machine that happens."""
    def attempt():
        done = subprocess.run([*prefix, TOOL, str(pid), PAYLOAD, str(rounds)], capture_output=True, text=True, timeout=2 * LIMIT)
        results[:] = done.returncode, done.stdout.strip() + done.stderr.strip()
        return "try again" not in results[1] or re.search(expected, results[1])
    results = []
    wait_until(attempt)
    return results


def status_field(pid, name):
    """Returns a field of /proc/PID/status."""
    return re.search(rf"^{name}:\s*(\S*)", open(f"/proc/{pid}/status", encoding="utf-8").read(), re.M)[1]


def is_paused(pid):
    """Is the process in the system call pause(2)?"""
    return open(f"/proc/{pid}/syscall", encoding="ascii").read().startswith("34 ")


def user_ticks(pid):
    """The processor time outside of system calls, in ticks of 10 ms."""
    return int(open(f"/proc/{pid}/stat", encoding="utf-8").read().rpartition(")")[2].split()[11])


def children(pid):
    return [int(word) for word in open(f"/proc/{pid}/task/{pid}/children", encoding="ascii").read().split()]


def code_hash(pid):
    """Returns a hash of all mapped code of files. An attach must restore this code."""
    digest = hashlib.sha256()
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for line in open(f"/proc/{pid}/maps", encoding="ascii"):
            span, flags, *rest = line.split()
            if flags == "r-xp" and len(rest) > 3 and rest[3].startswith("/") and "gpubpf" not in line:
                begin, end = (int(x, 16) for x in span.split("-"))
                memory.seek(begin)
                digest.update(memory.read(end - begin))
    return digest.hexdigest()


def sizes(pid):
    """Returns the numbers of descriptors, of mappings of files and memfds, and of threads. None may grow."""
    maps = open(f"/proc/{pid}/maps", encoding="ascii").read()
    return len(os.listdir(f"/proc/{pid}/fd")), maps.count("/"), len(os.listdir(f"/proc/{pid}/task"))


def settled(pid, wanted):
    """Waits until the sizes are as wanted: threads of killed attaches give up after 2 s. Returns them."""
    wait_until(lambda: sizes(pid) == wanted and "gpubpf-boot" not in open(f"/proc/{pid}/maps", encoding="ascii").read())
    return sizes(pid)


def finish(victim, name, most=0):
    """Ends the victim by SIGTERM. Its results must be right; at most `most` calls may have returned EINTR."""
    victim.terminate()
    out = victim.communicate(timeout=LIMIT)[0]
    found = re.match(r"iterations (\d+) wrong (\d+) interrupted (\d+)", out)
    good = found and victim.returncode == 0 and int(found[1]) > 0 and int(found[3]) <= most
    tap.ok(good, f"{name}: the application's results are right, and at most {most} calls ended with EINTR", out, victim.returncode)


def test_rounds(threads, rounds):
    name = f"{threads} threads"
    victim = start_victim(threads=threads)
    before = code_hash(victim.pid)
    attach(victim.pid)
    first = sizes(victim.pid)
    status, out = attach(victim.pid, rounds)
    found = re.fullmatch(r"(\d+) attached, last byte (\d+)", out)  # each attach, and each attempt that came too late, adds 1 to the byte
    tap.ok(status == 0 and found and int(found[1]) == rounds < int(found[2]), f"{name}: {rounds} attaches, one library", out)
    tap.ok(settled(victim.pid, first) == first, f"{name}: descriptors, mappings and threads as after the first", first, sizes(victim.pid))
    tap.ok(code_hash(victim.pid) == before, f"{name}: the code in memory is as before")
    finish(victim, name)


def test_kills(threads):
    name = f"{threads} threads, {KILLS} kills of the tool"
    victim = start_victim(threads=threads)
    attach(victim.pid)
    first = sizes(victim.pid)
    for _ in range(KILLS):
        tool = start(TOOL, str(victim.pid), PAYLOAD, "1")
        time.sleep(random.uniform(0.0003, 0.008))
        tool.kill()
        tool.communicate()
        if victim.poll() is not None:
            break
    tap.ok(victim.poll() is None, f"{name}: the application lives", victim.poll())
    status, out = attach(victim.pid, 5)
    tap.ok(status == 0, f"{name}: the next tool attaches", out)
    tap.ok(settled(victim.pid, first) == first, f"{name}: nothing is left behind", first, sizes(victim.pid))
    finish(victim, name, KILLS) # a tool that dies between the stop and the repair leaves one EINTR, as SIGSTOP would


def test_two_tools():
    victim = start_victim(threads=4)
    before = code_hash(victim.pid)
    tools = [start(TOOL, str(victim.pid), PAYLOAD, "40") for _ in range(2)]
    outs = [tool.communicate(timeout=LIMIT)[0].strip() for tool in tools]
    tap.ok(all(tool.returncode == 0 for tool in tools), "two tools attach 40 times each, at once", outs)
    attach(victim.pid)
    tap.ok(code_hash(victim.pid) == before, "two tools: the code in memory is as before")
    finish(victim, "two tools")


# the state of a process of this kind; the others have it when they print their first line
STATES = {
    "stopped": lambda pid: status_field(pid, "State") == "T",
    "traced": lambda pid: status_field(pid, "TracerPid") != "0",
    "vfork": children,
    "handler": is_paused,
    "spin": lambda pid: user_ticks(pid) > 2,
}


def start_odd(kind, *prefix):
    process = start(*prefix, ODD, kind)
    process.stdout.readline()
    wait_until(lambda: kind not in STATES or STATES[kind](process.pid))
    return process


def odd(kind, pattern, prefix=()):
    """Checks that the tool refuses a process of that kind with a reason, and that the process still runs."""
    process = start_odd(kind, *prefix)
    status, out = attach(process.pid, prefix=prefix, expected=pattern)
    tap.ok(status == 1 and re.search(pattern, out), f"{kind}: refused: {out}", out, status)
    tap.ok(process.poll() is None, f"{kind}: it lives")
    process.kill()
    process.communicate()


def vfork_child():
    """A child of vfork() runs in its parent's memory."""
    process = start_odd("vfork")
    child = children(process.pid)[0]
    status, out = attach(child, expected="shares the memory")
    tap.ok(status == 1 and "shares the memory of its parent (vfork)" in out, f"a child of vfork: refused: {out}", out, status)
    os.kill(child, signal.SIGKILL)
    process.kill()
    process.communicate()


def works(kind):
    """Checks that the tool can attach to an odd process of that kind."""
    process = start_odd(kind)
    status, out = attach(process.pid, 5)
    tap.ok(status == 0 and process.poll() is None, f"{kind}: attached 5 times", out)
    process.kill()
    process.communicate()


def test_refusals():
    odd("seccomp", "has a seccomp filter.*gpubpf run")
    odd("stopped", r"is stopped; continue it first \(kill -CONT")
    odd("spin", "no thread reached a system call")
    odd("handler", "no thread reached a system call")
    odd("vfork", "busy in the Linux kernel.*vfork")
    vfork_child()
    odd("traced", r"is traced by attach-odd \(pid \d+\)")
    odd("descriptors", "no free descriptors")
    works("leader")
    zombie = subprocess.Popen(["true"])
    wait_until(lambda: status_field(zombie.pid, "State") == "Z")
    status, out = attach(zombie.pid)
    tap.ok(status == 1 and "has ended" in out, f"zombie: refused: {out}")
    zombie.wait()
    status, out = attach(zombie.pid)
    tap.ok(status == 1 and "no such process" in out, f"gone: refused: {out}")


def test_other_libraries():
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "wait.c")
        with open(source, "w", encoding="ascii") as f:
            f.write("#include <unistd.h>\nint main(void) { for (;;) pause(); }\n")
        for name, compiler, pattern in (("static", ["cc", "-static"], "is linked statically"), ("musl", ["musl-gcc"], "uses the C library musl")):
            program = os.path.join(folder, name)
            if not shutil.which(compiler[0]) or subprocess.run([*compiler, source, "-o", program], capture_output=True).returncode:
                tap.skip(name, "cannot build such a program here")
                continue
            process = subprocess.Popen([program])
            wait_until(lambda: is_paused(process.pid))
            status, out = attach(process.pid)
            tap.ok(status == 1 and re.search(pattern, out) and process.poll() is None, f"{name}: refused: {out}", out)
            process.kill()
            process.wait()


def test_users():
    drop = ["setpriv", f"--reuid={NOBODY}", "--clear-groups"]
    if os.getuid() or subprocess.run([*drop, TOOL, "0", PAYLOAD], capture_output=True).returncode > 1:
        tap.skip("other users", "not root, or the tree is root's alone")
        return
    own = start_victim(threads=1)
    status, out = attach(own.pid, prefix=drop)
    tap.ok(status == 1 and "belongs to user 0" in out and "CAP_SYS_PTRACE" in out, f"another user's process: refused: {out}")
    finish(own, "another user's process")
    theirs = start_victim(*drop, threads=2)
    status, out = attach(theirs.pid, 10, prefix=drop)
    tap.ok(status == 0, "a user attaches to an own process", out)
    status, out = attach(theirs.pid, 10)
    tap.ok(status == 0, "root attaches to a user's process", out)
    finish(theirs, "a user's process")
    odd("nodump", "is not dumpable", drop)
    scope = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")
    if not scope.exists():
        tap.skip("yama", "this kernel has no Yama")


def test_namespaces():
    own = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if os.getuid() or subprocess.run([*own, "true"], capture_output=True).returncode:
        tap.skip("namespaces", "no unshare")
        return
    outer = start_victim(*own, threads=2)
    inner = children(outer.pid)[0]
    status, out = attach(inner, 20)
    tap.ok(status == 0, "another pid and mount namespace: attached 20 times", out)
    os.kill(inner, signal.SIGTERM)
    out = outer.communicate(timeout=LIMIT)[0]
    tap.ok(" wrong 0 interrupted 0" in out, "namespaces: the application's results are right", out)


def test_boot_code():
    """The boot code refers to nothing outside of itself, and has no data."""
    text = subprocess.run(["readelf", "-rSW", BOOT], capture_output=True, text=True).stdout
    lines = text.splitlines()
    targets = [line for part in text.split("Relocation section ")[1:] if "gpubpf_boot_page" in part.split("\n")[0] or "'.rela.text'" in part.split("\n")[0]
               for line in part.splitlines() if " R_X86_64_" in line]
    tap.ok(targets and all("gpubpf_boot_" in t and re.search("PC32|PLT32", t) for t in targets), "the boot code's relocations are its own", *targets)
    sections = [line for line in lines if re.search(r"\] \.(data|bss|rodata)\S* +(PROGBITS|NOBITS) +\S+ +\S+ (?!000000)", line)]
    tap.ok(not sections, "the boot code has no data", *sections)


if os.uname().machine != "x86_64":
    tap.skip_all("attach works on x86-64 only")
test_boot_code()
test_rounds(1, 100)
test_rounds(8, 100)
test_kills(1)
test_kills(8)
test_two_tools()
test_refusals()
test_other_libraries()
test_users()
test_namespaces()
tap.plan()
