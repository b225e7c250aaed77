#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mem_trace.py [--png FILE] REPORT: heat maps of the accesses in a report of mem_trace.bpf.o (gpubpf run -j -r REPORT).

Prints one map for each allocation that was accessed. Accesses outside all allocations form regions of adjacent pages that
were used in the same way: only read, only written, or both. In a map, addresses grow from left to right, and time from top to
bottom. A darker cell stands for more bytes. The PNG has the same maps, one below the other. Loads are blue, stores and atomics
are red."""
import argparse
import json
import signal
import struct
import zlib

PAGE, GAP, COLUMNS, ROWS = 4096, 1 << 16, 64, 16
SHADES = " .:-=+*#%@"


def regions(accesses):
    """Returns (first address, end) of each region of accessed pages. A region has pages that are only read, only written, or both."""
    found = []
    writes = {}
    for a in accesses:
        writes.setdefault(a["addr"] // PAGE, set()).add(a["kind"] in (2, 3))
    for page, kinds in sorted(writes.items()):
        at = page * PAGE
        if found and at - found[-1][1] < GAP and found[-1][2] == kinds:
            found[-1][1] = at + PAGE
        else:
            found.append([at, at + PAGE, kinds])
    return [(first, end) for first, end, _ in found]


def allocations(accesses, memories):
    """Yields (title, first address, end, accesses) of each allocation, in order of allocation, then of each region outside of them."""
    by_number, others = {}, []
    for a in accesses:
        (by_number.setdefault(a["memory"], []) if a["memory"] in memories else others).append(a)
    for number, of_it in sorted(by_number.items()):
        base, size = int(str(memories[number]["base"]), 0), memories[number]["size"]
        yield f"allocation {number} from", base, base + size, of_it
    for first, end in regions(others):
        yield "in no allocation,", first, end, [a for a in others if first <= a["addr"] < end]


def cells(accesses, first, end, n):
    """Returns the number of bytes by row, column, and whether they are written. n: total number of accesses, over all maps."""
    grid = [[[0, 0] for _ in range(COLUMNS)] for _ in range(ROWS)]
    for a in accesses:
        row = a["number"] * ROWS // n
        column = min((a["addr"] - first) * COLUMNS // (end - first), COLUMNS - 1)
        grid[row][column][a["kind"] in (2, 3)] += a["bytes"]
    return grid


def text(grid):
    most = max(sum(cell) for row in grid for cell in row) or 1
    for row in grid:
        yield "  |" + "".join(SHADES[-(-sum(cell) * (len(SHADES) - 1) // most)] for cell in row) + "|"


def pixels(grid, scale=8):
    """Yields the rows of pixels as RGB. A cell without accesses is white."""
    most = max(max(cell) for row in grid for cell in row) or 1
    for row in grid:
        line = b""
        for loads, stores in row:
            red, blue = 255 - 255 * loads // most, 255 - 255 * stores // most
            line += bytes((red, min(red, blue), blue)) * scale
        yield from [line] * scale
    yield from [b"\0" * 3 * COLUMNS * scale] * 2


def png(lines, width):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", width, len(lines), 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + line for line in lines))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--png", metavar="FILE")
    arguments.add_argument("report")
    chosen = arguments.parse_args()
    with open(chosen.report, encoding="utf-8") as f:
        report = json.load(f)
    accesses = [e["value"] for e in report["events"] if e["map"] == "accesses"]
    for a in accesses:
        a["addr"] = int(str(a["addr"]), 0)
    told = next(m for m in report["maps"] if m["name"] == "accesses")
    print(f"{len(accesses)} accesses read, {told['dropped']} dropped")
    if not accesses:
        return
    accesses.sort(key=lambda a: a["ns"])
    for number, a in enumerate(accesses):
        a["number"] = number
    lines = []
    memories = {e["key"]: e["value"] for m in report["maps"] if m["name"] == "memories" for e in m["entries"]}
    for title, first, end, here in allocations(accesses, memories):
        loads = sum(a["kind"] == 1 for a in here)
        print(f"\n{title} {first:#x}, {(end - first) / 1024:g} KiB: {loads} loads, {len(here) - loads} stores and others, "
              f"in {(here[-1]['ns'] - here[0]['ns']) / 1e6:.1f} ms")
        grid = cells(here, first, end, len(accesses))
        print("\n".join(text(grid)))
        lines += pixels(grid)
    if chosen.png:
        with open(chosen.png, "wb") as f:
            f.write(png(lines, COLUMNS * 8))


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
