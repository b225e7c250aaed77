#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""edges.py FOLDER CLANG: checks that the cases of isa/ give the results of RFC 9669 and cover its corner cases. Prints
TAP.

An independent interpreter of RFC 9669 runs each case and records the operands and branch directions of each
instruction form. Arithmetic instructions must see the operands 0, 1, all ones, the smallest and the largest signed
number. Shifts must also see the width minus one as the count. Each jump must be taken and fall through. Some jumps
must have equal operands, and some must have operands whose signed and unsigned order differ."""
import collections
import os
import struct
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
import assemble
from tap import ok, plan

folder, clang = sys.argv[1:3]
MEM, STACK, FRAME = 0x100000, 0x200000, 512
ALU = 'ADD SUB MUL DIV OR AND LSH RSH NEG MOD XOR MOV ARSH END'.split()
JMP = 'JA JEQ JGT JGE JSET JNE JSGT JSGE CALL EXIT JLT JLE JSLT JSLE'.split()
BYTES = {0: 4, 8: 2, 0x10: 1, 0x18: 8}
DIVIDES = ('DIV', 'SDIV', 'MOD', 'SMOD')
BIG = 1 << 20  # limit of executed instructions, which no case reaches


def unsigned(v, bits):
    return v & ((1 << bits) - 1)


def signed(v, bits):
    v = unsigned(v, bits)
    return v - (1 << bits) if v >> (bits - 1) else v


def towards_zero(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def arithmetic(name, off, a, b, bits):
    """Returns the result of an ALU operation on operands of this width; RFC 9669, 4.1."""
    sa, sb, shift = signed(a, bits), signed(b, bits), b & (bits - 1)
    if name == 'DIV':
        return 0 if not b else towards_zero(sa, sb) if off else a // b
    if name == 'MOD':
        return a if not b else sa - towards_zero(sa, sb) * sb if off else a % b
    if name == 'MOV':
        return signed(b, off) if off else b
    return {'ADD': a + b, 'SUB': a - b, 'MUL': a * b, 'OR': a | b, 'AND': a & b, 'XOR': a ^ b, 'NEG': -a,
            'LSH': a << shift, 'RSH': a >> shift, 'ARSH': sa >> shift}[name]


def decides(name, a, b, bits):
    sa, sb = signed(a, bits), signed(b, bits)
    return {'JEQ': a == b, 'JNE': a != b, 'JSET': a & b != 0, 'JGT': a > b, 'JGE': a >= b, 'JLT': a < b, 'JLE': a <= b,
            'JSGT': sa > sb, 'JSGE': sa >= sb, 'JSLT': sa < sb, 'JSLE': sa <= sb}[name]


def swapped(v, wide):
    return int.from_bytes(unsigned(v, wide).to_bytes(wide // 8, 'little'), 'big')


class Machine:
    def __init__(self, code, mem, seen):
        self.code, self.seen, self.pc = code, seen, 0
        self.areas = {MEM: bytearray(mem), STACK: bytearray(FRAME)}
        self.r = [0, MEM, len(mem), 0, 0, 0, 0, 0, 0, 0, STACK + FRAME]

    def place(self, address, size):
        address = unsigned(address, 64)
        for base, area in self.areas.items():
            if base <= address and address + size <= base + len(area):
                return area, address - base
        raise IndexError(f'pc {self.pc}: {size} bytes at {address:#x}')

    def load(self, address, size):
        area, at = self.place(address, size)
        return int.from_bytes(area[at:at + size], 'little')

    def store(self, address, size, v):
        area, at = self.place(address, size)
        area[at:at + size] = unsigned(v, 8 * size).to_bytes(size, 'little')

    def compute(self, opcode, dst, src, off, imm):
        name, bits = ALU[opcode >> 4], 64 if opcode & 7 == 7 else 32
        if name == 'END': # 32-bit class: bit 3 selects big endian, otherwise little endian; 64-bit class: always swaps
            self.r[dst] = swapped(self.r[dst], imm) if opcode & 8 or bits == 64 else unsigned(self.r[dst], imm)
            return
        a, b = unsigned(self.r[dst], bits), unsigned(self.r[src] if opcode & 8 else imm, bits)
        kind = 'S' + name if off and name != 'MOV' else f'MOVSX{off}' if off else name
        self.seen[kind, bits, bool(opcode & 8)].append((a, unsigned(b, off) if kind.startswith('MOVSX') else b))
        self.r[dst] = unsigned(arithmetic(name, off, a, b, bits), bits)

    def jump(self, opcode, dst, src, off, imm):
        name, bits = JMP[opcode >> 4], 64 if opcode & 7 == 5 else 32
        if name == 'JA':
            self.pc += off if bits == 64 else imm
            return
        a, b = unsigned(self.r[dst], bits), unsigned(self.r[src] if opcode & 8 else imm, bits)
        taken = decides(name, a, b, bits)
        self.seen[name, bits, bool(opcode & 8)].append((a, b, taken))
        self.pc += off if taken else 0

    def atomic(self, size, dst, src, off, imm):
        if imm == 0x100:
            self.r[dst] = self.load(self.r[src] + off, size)
            return
        at, v = self.r[dst] + off, unsigned(self.r[src], 8 * size)
        if imm == 0x110:
            self.store(at, size, v)
            return
        old = self.load(at, size)
        if imm == 0xf1:
            self.store(at, size, v if old == unsigned(self.r[0], 8 * size) else old)
            self.r[0] = old
            return
        self.store(at, size, {0: old + v, 0x40: old | v, 0x50: old & v, 0xa0: old ^ v, 0xe0: v}[imm & ~1])
        if imm & 1:
            self.r[src] = old

    def access(self, opcode, dst, src, off, imm):
        size, how = BYTES[opcode & 0x18], (opcode & 7, opcode >> 5)
        if how == (3, 6):
            self.atomic(size, dst, src, off, imm)
        elif how in ((1, 3), (1, 4)):
            v = self.load(self.r[src] + off, size)
            self.r[dst] = unsigned(signed(v, 8 * size), 64) if how[1] == 4 else v
        elif how in ((2, 3), (3, 3)):
            self.store(self.r[dst] + off, size, imm if how[0] == 2 else self.r[src])
        else:
            raise ValueError(f'pc {self.pc}: opcode {opcode:#x}')

    def run(self):
        for _ in range(BIG):
            opcode, registers, off, imm = struct.unpack_from('<BBhi', self.code, 8 * self.pc)
            dst, src = registers & 15, registers >> 4
            self.pc += 1
            if opcode == 0x95:
                return self.r[0]
            if opcode == 0x18:
                self.r[dst] = unsigned(imm, 32) | struct.unpack_from('<I', self.code, 8 * self.pc + 4)[0] << 32
                self.pc += 1
            elif opcode & 7 in (4, 7):
                self.compute(opcode, dst, src, off, imm)
            elif opcode & 7 in (5, 6):
                self.jump(opcode, dst, src, off, imm)
            else:
                self.access(opcode, dst, src, off, imm)
        raise OverflowError('it does not end')


def sections(path):
    """Returns the sections of an object as a dictionary of names and bytes."""
    with open(path, 'rb') as f:
        data = f.read()
    table, (count, names) = struct.unpack_from('<Q', data, 0x28)[0], struct.unpack_from('<HH', data, 0x3c)
    heads = [struct.unpack_from('<IIQQQQ', data, table + 64 * i) for i in range(count)]
    begin = heads[names][4]
    return {data[begin + h[0]:data.index(b'\0', begin + h[0])].decode(): data[h[4]:h[4] + h[5]] for h in heads}


def edges(kind, bits, register, right):
    """Returns the operand values that the cases must cover. Immediates are signed 32-bit numbers, and the verifier
    refuses a division by immediate 0."""
    if kind.startswith('MOVSX'):
        wide = int(kind[5:])
        return {0, (1 << wide) - 1, 1 << (wide - 1), (1 << (wide - 1)) - 1} if right else set()
    if kind == ('MOV', 'NEG')[right]: # MOV ignores its left operand, NEG its right one
        return set()
    if right and kind in ('LSH', 'RSH', 'ARSH'):
        return {0, 1, bits - 1}
    least = 1 << (31 if right and not register else bits - 1)
    return {0, 1, unsigned(-1, bits), unsigned(-least, bits), least - 1} - ({0} if right and not register and kind in DIVIDES else set())


def main():
    cases = [assemble.read_case(path) for path in assemble.find_cases(folder)]
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, 'all.o')
        assemble.assemble(assemble.source(cases), clang, path)
        code = sections(path)
    seen = collections.defaultdict(list)
    for i, case in enumerate(cases):
        if 'result' in case:
            try:
                got = Machine(code[f'case_{i}'], bytes.fromhex(case.get('mem', '')), seen).run()
            except (IndexError, ValueError, OverflowError) as why:
                got = why
            ok(got == int(case['result'], 16), f'isa/{case["name"]} gives what RFC 9669 says', f'{got} instead of {case["result"]}')
    for (kind, bits, register), met in sorted(seen.items()):
        what = f'{kind} of {bits} bits, {"register" if register else "immediate"}'
        if kind.startswith('J'):
            ways = {taken for _, _, taken in met}
            alike = any(a == b for a, b, _ in met)
            turned = any((a < b) != (signed(a, bits) < signed(b, bits)) for a, b, _ in met)
            ok(ways == {True, False} and (alike or kind == 'JSET') and (turned or kind in ('JEQ', 'JNE', 'JSET')),
               f'{what}: both ways, alike, and ordered otherwise by the sign', f'{ways}, alike {alike}, otherwise {turned}')
            continue
        lacks = [(side, v) for side in (0, 1) for v in edges(kind, bits, register, side) - {m[side] for m in met}]
        ok(not lacks, f'{what}: at the edges', ' '.join(f'{"ab"[side]} {v:#x}' for side, v in sorted(lacks)))
    plan()


main()
