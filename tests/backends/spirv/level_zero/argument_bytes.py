#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""argument_bytes.py BUILD APP PRODUCT...: checks the arguments of twins under Intel's own driver. Prints TAP. The
driver writes all data that a GPU would see to a file (see intel.py): memory by physical address, page tables, and the
arguments of each launch in the layout of the compiled kernel. For each launch, the file must contain the arguments that
the application printed, and gpubpf's own: the arena's address, which the page tables map to the arena, the launch's
number, the process and the thread. The compiler chooses the offsets of arguments; they are equal in all launches of a
kernel."""
import ctypes
import json
import os
import re
import struct
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
from probing import Prober
from tap import skip_all

MEMORY_WRITE = 0xf706  # a packet of the file has a header, 4 words (2 for the address, the last for the size), and data
NOTHING = bytes(4096)
BLOCK = 128            # maximum size in bytes of a kernel's argument block
build, app = (os.path.abspath(path) for path in sys.argv[1:3])
try:
    ctypes.CDLL("libze_intel_gpu.so.1")
except OSError as e:
    skip_all(f"Intel's Level Zero driver: {e}")


def writes(path):
    """Returns the memory writes in the file as a list of (address, bytes)."""
    with open(path, "rb") as f:
        data = f.read()
    at, found = 0, []
    while at < len(data):
        (head,) = struct.unpack_from("<I", data, at)
        if head >> 16 == MEMORY_WRITE:
            low, high, _, size = struct.unpack_from("<4I", data, at + 4)
            what = data[at + 20:at + 20 + size]
            if what != NOTHING[:size]:
                found.append((low | high << 32, what))
        at += 4 * ((head & 0xffff) + 1)
    return found


def virtual(page, entries):
    """Returns the virtual addresses that four levels of page tables map to the page. `entries` maps the address of a
    page to the table entries that point to it."""
    found = {(page, 0)}
    for shift in (12, 21, 30, 39):
        found = {(at & ~0xfff, address | (at & 0xfff) // 8 << shift) for table, address in found for at in entries.get(table, [])}
    return {address for _, address in found}


def offsets(block, value):
    """Returns the offsets in the block at which the value occurs."""
    return {m.start() for m in re.finditer(b"(?=" + re.escape(value) + b")", block)}


def find_offsets(memory, launches, ours):
    """Returns for each argument of a kernel, and for gpubpf's own, the offsets that all its launches have in common,
    relative to the longest argument."""
    places = None
    for number, given in enumerate(launches):
        values = given + [value(number) for value in ours]
        anchor = max(given, key=lambda v: (len(v), v not in launches[number - 1]))
        found = [(data, at) for data in memory for at in offsets(data, anchor)]
        blocks = [data[max(at - BLOCK, 0):at].rjust(BLOCK, b"\xff") + data[at:at + BLOCK] for data, at in found]
        here = [{at for block in blocks for at in offsets(block, value)} for value in values]
        places = here if places is None else [a & b for a, b in zip(places, here)]
    return places


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    prober = Prober(build, "", dict(os.environ, NEOReadDebugKeys="1", SetCommandStreamReceiver="1", AUBDumpCaptureFileName="file"))
    for product in sys.argv[3:]:
        prober.env["ProductFamilyOverride"] = product
        out = prober.probe("report.json", [f"{build}/tests/real/count.bpf.o"], [app, f"{build}/tests/backends/spirv/level_zero", "compiles"])
        said = out[1].decode()
        with open("report.json", encoding="utf-8") as f:
            probed = {k["name"]: k["probed"] for k in json.load(f)["kernels"]}
        memory = writes("file")
        os.unlink("file")
        tables = {}
        for at, data in memory:
            if len(data) == 8 and data[0] & 1: # a present entry
                tables.setdefault(struct.unpack("<Q", data)[0] & 0xfffffffff000, set()).add(at)
        arenas = {a for at, data in memory if data.startswith(b"bpfarena") for a in virtual(at, tables)}
        prober.tap(len(arenas) == 1, f"{product}: the arena is in the file, by one address", arenas, out)
        pid, tid = map(int, re.search(r"^by (\d+) (\d+)$", said, re.M).groups())
        ours = [lambda _: struct.pack("<Q", min(arenas, default=0)), lambda n: struct.pack("<Q", n), lambda _: struct.pack("<II", tid, pid)]
        given = {}
        for name, values in re.findall(r"^given (\S+) (.*)$", said, re.M):
            given.setdefault(name, []).append([bytes.fromhex(v) for v in values.split()])
        for name, launches in given.items():
            places = find_offsets([data for _, data in memory if len(data) == 4096], launches, ours)
            n = len(places) - len(ours)
            prober.tap(probed.get(name) == len(launches) and all(places),
                       f"{product}: {len(launches)} launches of {name} have the {n} arguments that it was given, the arena, the number, the thread",
                       launches, places, probed, out[2])
prober.plan()
