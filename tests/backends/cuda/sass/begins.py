#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""begins.py EVERY FILE ARCH OBJECT: probes block_begin. In the twin, all lanes except the lane with all indices 0 must
leave the probe before it has an effect. The test checks the inserted code up to the first conditional branch. Prints
TAP. EVERY is sass-every."""
import pathlib
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))
import tap  # noqa: E402

BRA, S2R, PT = 0x947, 0x919, 7
INDICES = {0x21, 0x22, 0x23}  # SR_TID.X, .Y, .Z
READS = {0x919, 0x981, 0x983, 0x984, 0xb82}  # opcodes that read memory and special registers
LAST_ALU = 0x117


def field(insn, at, bits):
    return insn >> at & (1 << bits) - 1


def code(cubin):
    """Returns the instructions of the only twin in the cubin."""
    at, = struct.unpack_from("<Q", cubin, 40)
    size, n, names = struct.unpack_from("<HHH", cubin, 58)
    heads = [struct.unpack_from("<IIQQQQ", cubin, at + i * size) for i in range(n)]
    for name, _, _, _, off, length in heads:
        text = cubin[heads[names][4] + name:].split(b"\0", 1)[0]
        if text.startswith(b".text.gpubpf_twin_"):
            return [int.from_bytes(cubin[i:i + 16], "little") for i in range(off, off + length, 16)]
    return []


def target(insn, i, sm):
    """Returns the index of the instruction to which the branch insn at index i leads."""
    off = field(insn, 34, 48) << 8 | field(insn, 16, 8) if sm >= 90 else field(insn, 34, 48)
    off -= (1 << (56 if sm >= 90 else 48)) if off >> (55 if sm >= 90 else 47) else 0
    return i + 1 + off // 4


def leaves(insns, sm):
    """Returns the special registers that are read before the first conditional branch, and a message if a forbidden
    instruction precedes that branch."""
    i = next(i for i, insn in enumerate(insns) if field(insn, 0, 12) == BRA)
    i, read = target(insns[i], i, sm), set()
    while i < len(insns) and not (field(insns[i], 0, 12) == BRA and field(insns[i], 12, 4) != PT):
        opcode = field(insns[i], 0, 12)
        if opcode == S2R:
            read.add(field(insns[i], 72, 8))
        elif opcode & 0x1ff > LAST_ALU and opcode not in READS:
            return read, f"0x{opcode:03x} comes before"
        i += 1
    return read, ""


def main():
    every, file, arch, programs = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([every, file, arch, programs, "1", folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if made.returncode == 77:
            tap.skip_all("no assembler: libnvJitLink.so is not here")
        found = [leaves(code(p.read_bytes()), int(arch[3:])) for p in pathlib.Path(folder).glob("*.cubin") if p.stem.isdigit()]
    bad = [why or f"of special registers only {sorted(read)} are read" for read, why in found if why or not INDICES <= read]
    tap.ok(found and not bad, f"in {len(found)} twins one lane of a block goes on", *bad)
    tap.ran("sass", "block_begin")
    tap.plan()


main()
