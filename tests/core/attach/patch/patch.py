#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""patch.py TOOL VICTIM: patches and restores functions with odd beginnings while threads call them.

GPUBPF_TEST_ROUNDS is the number of rounds (else 150), GPUBPF_TEST_KILLS the number of kills of the tool (else 100)."""
import atexit
import os
import pathlib
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))
import tap

TOOL, VICTIM = (os.path.abspath(p) for p in sys.argv[1:3])
ROUNDS = int(os.environ.get("GPUBPF_TEST_ROUNDS", "150"))
KILLS = int(os.environ.get("GPUBPF_TEST_KILLS", "100"))
HEADER, SITE, AT, NAME, WHY = 16, 216, 32, 64, 120 # sizes and offsets in bytes, of core/attach/journal.h
VICTIMS = []
atexit.register(lambda: [victim.kill() for victim in VICTIMS])


class Victim:
    """A process that calls the functions, and the functions' addresses and expected reasons."""
    def __init__(self, *words):
        self.process = subprocess.Popen([VICTIM, *words], stdout=subprocess.PIPE, text=True)
        VICTIMS.append(self.process)
        self.pid, self.functions = self.process.pid, {}
        while True:
            word, address, *why = self.process.stdout.readline().rstrip("\n").split(" ", 2)
            if word == "ready":
                break
            self.functions[word] = (int(address, 16), why[0] if why else "")
        self.journal = int(address, 16)
        self.before = self.code()

    def read(self, address, size):
        with open(f"/proc/{self.pid}/mem", "rb") as memory:
            memory.seek(address)
            return memory.read(size)

    def code(self):
        """Returns the code of the program's file in memory."""
        for line in open(f"/proc/{self.pid}/maps", encoding="ascii"):
            if " r-xp " in f" {line}" and line.rstrip().endswith("patch-victim"):
                begin, end = (int(x, 16) for x in line.split()[0].split("-"))
                return self.read(begin, end - begin)
        raise AssertionError("no code")

    def patched(self):
        return {name for name, (address, _) in self.functions.items()
                if self.read(address, 16) != self.before_of(address)}

    def before_of(self, address):
        for line in open(f"/proc/{self.pid}/maps", encoding="ascii"):
            if " r-xp " in f" {line}" and line.rstrip().endswith("patch-victim"):
                begin = int(line.split("-")[0], 16)
                return self.before[address - begin:address - begin + 16]
        raise AssertionError("no code")

    def reasons(self):
        found = {}
        for i in range(len(self.functions)):
            site = self.read(self.journal + HEADER + i * SITE, SITE)
            found[site[NAME:WHY].split(b"\0")[0].decode()] = site[WHY:].split(b"\0")[0].decode()
        return found

    def ticks(self):
        """The processor time of the process in ticks of 10 ms."""
        fields = open(f"/proc/{self.pid}/stat", encoding="utf-8").read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def wait_calls(self):
        """Wait until the threads have called all functions: until the process has used processor time for that."""
        before, until = self.ticks(), time.time() + 300
        while self.ticks() < before + 10 and time.time() < until:
            time.sleep(0.01)

    def end(self, name):
        self.process.terminate()
        out = self.process.communicate(timeout=300)[0]
        found = re.match(r"calls (\d+) wrong (\d+)", out)
        tap.ok(found and int(found[1]) and found[2] == "0" and self.process.returncode == 0, f"{name}: all results are right", out, self.process.returncode)
        return dict((w, int(n)) for w, n in re.findall(r"^(\w+) (\d+)$", out, re.M))


def tool(victim, *words):
    done = subprocess.run([TOOL, str(victim.pid), *words], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout.strip() + done.stderr.strip()


def test_reasons():
    victim = Victim("2")
    wanted = {name for name, (_, why) in victim.functions.items() if not why}
    status, out = tool(victim, "count", "patch", "count")
    refused = len(victim.functions) - len(wanted)
    tap.ok(status == 0 and f"patched {len(wanted)} refused {refused} foreign 0" in out, "each function is patched or refused", out)
    tap.ok(victim.patched() == wanted, "the patched functions have other bytes, the refused functions have not", victim.patched() ^ wanted)
    reasons = victim.reasons()
    for name, (_, why) in victim.functions.items():
        tap.ok(reasons.get(name) == why, f"{name}: {why or 'patched'}", reasons.get(name))
    victim.wait_calls()
    status, out = tool(victim, "restore", "count")
    tap.ok(status == 0 and victim.code() == victim.before, "restored byte for byte", out)
    counts = victim.end("odd beginnings")
    tap.ok(all(counts[name] > 0 for name in wanted), "the hook of each patched function was called", counts)
    tap.ok(all(counts[name] == 0 for name in set(victim.functions) - wanted), "no hook of a refused function was called", counts)


def test_rounds(threads, *quiet):
    name = f"{threads} threads{' without signals' if quiet else ''}, {ROUNDS} rounds"
    victim = Victim(str(threads), *quiet)
    status, out = tool(victim, *["patch", "restore"] * ROUNDS)
    lines = out.splitlines()
    bad = [line for line in lines if not re.search(r"foreign 0 ", line)]
    tap.ok(status == 0 and not bad and len(lines) == 2 * ROUNDS, f"{name}: each works", *bad[:3])
    tap.ok(victim.code() == victim.before, f"{name}: the bytes are as before")
    times = sorted(int(line.split()[-1]) for line in lines if line.startswith("patch s"))
    print(f"# threads stopped for {times[len(times) // 2] / 1000:.0f} us (median), at least {times[0] / 1000:.0f} us" if times else "#")
    victim.end(name)


def test_kills():
    name = f"{KILLS} kills of the tool"
    victim = Victim("3")
    for _ in range(KILLS):
        process = subprocess.Popen([TOOL, str(victim.pid), *["patch", "restore"] * 50], stdout=subprocess.DEVNULL)
        time.sleep(random.uniform(0.001, 0.02))
        process.kill()
        process.wait()
        if victim.process.poll() is not None:
            break
    tap.ok(victim.process.poll() is None, f"{name}: the process lives")
    status, out = tool(victim, "restore")
    tap.ok(status == 0 and victim.code() == victim.before, f"{name}: the next tool restores the bytes", out)
    status, out = tool(victim, "patch", "restore")
    tap.ok(status == 0 and "foreign 0" in out and victim.code() == victim.before, f"{name}: and patches again", out)
    victim.end(name)


def write(victim, address, data):
    with open(f"/proc/{victim.pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(address)
        memory.write(data)


def test_other_tools():
    name, victim = "another program's bytes", Victim("1", "idle")
    tool(victim, "patch", "restore")
    many = victim.functions["many"][0]
    before = victim.read(many, 5)
    write(victim, many + 3, b"\x3e") # the fourth nop becomes a prefix of the push, which has no effect
    status, out = tool(victim, "patch")
    tap.ok(status == 0 and "foreign 1" in out and victim.read(many, 4) == b"\x90\x90\x90\x3e", f"{name}: not overwritten by a patch", out)
    write(victim, many + 3, b"\x90")
    tool(victim, "patch")
    jump = victim.read(many, 5)
    tool(victim, "restore")
    tap.ok(jump[0] == 0xe9 and victim.read(many, 5) == before, f"{name}: patched and restored when they are gone", jump)
    tool(victim, "patch")
    relative = victim.functions["relative"][0]
    jump = victim.read(relative, 5)
    write(victim, relative, before)
    status, out = tool(victim, "restore")
    tap.ok(status == 0 and "foreign 1" in out and victim.read(relative, 5) == before, f"{name}: not overwritten by a restore", out)
    write(victim, relative, jump)
    status, out = tool(victim, "restore")
    tap.ok(status == 0 and "foreign 0" in out and victim.code() == victim.before, f"{name}: restored byte for byte at last", out)
    victim.process.kill()
    victim.process.communicate()


def test_refusals():
    plain = subprocess.Popen(["sleep", "600"])
    for word in ("restore", "count", "patch"):
        status, out = tool(plain, word)
        tap.ok(status == 1 and f"{word} -2 process {plain.pid} has no patched functions" in out, f"{word} without a journal: refused", out)
    plain.kill()
    plain.wait()
    victim = Victim("1")
    tool(victim, "patch")
    write(victim, victim.journal + 12, b"\1\0\0\0")
    status, out = tool(victim, "restore")
    tap.ok(status == 1 and "a session uses its patched functions" in out, "a session that runs is not disturbed", out)
    write(victim, victim.journal + 12, b"\0\0\0\0")
    write(victim, victim.journal + 8, b"\xff\xff\xff\xff")
    status, out = tool(victim, "restore")
    tap.ok(status == 1 and "cannot be read" in out, "a wrong number of sites: refused", out)
    write(victim, victim.journal + 8, len(victim.functions).to_bytes(4, "little"))
    site = victim.journal + HEADER
    before = victim.read(site, SITE)
    for value in (0, 2 ** 64 - 3, victim.journal, 0xffffffffff600000):
        write(victim, site + AT, value.to_bytes(8, "little"))
        tool(victim, "restore", "patch")
        tap.ok(victim.process.poll() is None, f"a site at {value:#x}: the process lives")
        write(victim, site, before)
    status, out = tool(victim, "restore")
    tap.ok(status == 0 and victim.code() == victim.before, "restored byte for byte", out)
    victim.end("a hostile journal")


if os.uname().machine != "x86_64":
    tap.skip_all("patches are for x86-64 only")
test_reasons()
test_rounds(1)
test_rounds(8)
test_rounds(8, "quiet")
test_kills()
test_other_tools()
test_refusals()
tap.plan()
