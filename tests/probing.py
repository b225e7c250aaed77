# SPDX-License-Identifier: Apache-2.0
"""Runs applications without and with probes: common code of tests with whole applications.

An application prints its results, and `kernel NAME launches N items M` for each kernel it launches. Under
the probes of tests/real/count.bpf.c its output and exit status must stay the same, every launch must be probed, and the
probes at entry and exit must count each thread once. Some kernels may be refused, with a reason; then the
application must run as without probes."""
import json
import re
import subprocess
import tempfile

import simulated
from tap import ok, plan, skip


class Prober:
    def __init__(self, build, where, env, may_refuse=(), before=()):
        """`where` is the device's name in the tests' names. `before` is put in front of each command: the launcher of a
        simulated GPU."""
        self.build, self.where, self.env, self.may_refuse = build, where, env, may_refuse
        self.before = list(before)
        self.cache = tempfile.TemporaryDirectory()
        self.env["XDG_CACHE_HOME"] = self.cache.name
        self.natives = {}

    tap, skip, plan = staticmethod(ok), staticmethod(skip), staticmethod(plan)

    def run(self, command):
        try:
            if self.before:
                p = simulated.run(command, env=self.env)
            else:
                p = subprocess.run(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
            return p.returncode, p.stdout, p.stderr.decode(errors="replace")
        except subprocess.TimeoutExpired as e:
            return "time-out", e.stdout or b"", (e.stderr or b"").decode(errors="replace")

    def probe(self, report, objects, command, options=()):
        tool = [f"{self.build}/gpubpf", "run", "-j", "--report", report, *options]
        for path in objects:
            tool += ["-o", path]
        return self.run(tool + ["--"] + self.before + command)

    def native(self, command):
        """Returns the result of a run without probes, from a cache. Some runtimes crash at times, so there are three
        attempts."""
        key = (*self.before, *command, *sorted(self.env.items()))
        if key not in self.natives:
            self.natives[key] = self.run_native(command)
        return self.natives[key]

    def run_native(self, command):
        for _ in range(3):
            native = self.run(self.before + command)
            if not isinstance(native[0], int) or 0 <= native[0] < 128:
                break
            print(f"# {command[-1]} by itself ended with status {native[0]}")
        return native

    def check(self, name, command):
        native = self.native(command)
        if native[0] == 77:
            self.skip(f"{name} on {self.where}", native[2].strip())
            return
        report = f"{self.cache.name}/{name}.json"
        probed = self.probe(report, [f"{self.build}/tests/real/count.bpf.o"], command)
        ended = isinstance(native[0], int) and 0 <= native[0] < 128 # a normal exit and not a signal
        self.tap(native[:2] == probed[:2] and ended,
                 f"{name} on {self.where}: output and status {native[0]} as without probes", native, probed)
        try:
            with open(report, encoding="utf-8") as f:
                self.compare(name, read_launches(native[1]), json.load(f), probed[2])
        except (OSError, ValueError) as e:
            self.tap(False, f"{name} on {self.where}: a report", e, probed[2])

    def compare(self, name, want, r, log):
        kernels = {}
        for k in r["kernels"]:
            s = kernels.setdefault(k["name"], [0, 0])
            s[0] += k["launches"]
            s[1] += k["probed"]
        refused = [k for k in r["kernels"] if k["launches"] != k["probed"]]
        if name in self.may_refuse and refused:
            self.tap(all(k.get("reason") for k in refused), f"{name} on {self.where}: refused with a reason", refused)
            print("# " + refused[0]["reason"])
            return
        self.tap({k: v[0] for k, v in want.items()} == {k: v[1] for k, v in kernels.items()},
                 f"{name} on {self.where}: every launch was probed", want, r["kernels"], log)
        entries = {e["key"]: number(e["value"]) for m in r["maps"] if m["name"] == "threads" for e in m["entries"]}
        items = sum(v[1] for v in want.values())
        self.tap(entries == {0: items, 1: items}, f"{name} on {self.where}: {items} threads entered and left", entries)


def read_launches(out):
    """Returns {kernel: [launches, items]} from the application's output."""
    sums = {}
    for name, launches, items in re.findall(rb"^kernel (\S+) launches (\d+) items (\d+)$", out, re.M):
        s = sums.setdefault(name.decode(), [0, 0])
        s[0] += int(launches)
        s[1] += int(items)
    return sums


def number(value):
    return sum(value) if isinstance(value, list) else int(value)
