#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""covered.py SOURCE OBJECTS CLANG: checks that the suite has a case for each instruction form, helper, map type,
place, and context field of a place. Prints TAP. Instructions and helpers come from the code of the objects, map
types from the definitions of maps as clang expands them, and fields from their names in the source. KERNEL lists
helpers that only the Linux kernel has."""
import glob
import os
import re
import struct
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
from tap import ok, plan

source, objects, clang = sys.argv[1:4]
CALL, PROGBITS, EXECINSTR = 0x85, 1, 4
MADE_OF = {525: 12} # loading an object replaces the first helper by the second
KFUNCS = range(540, 560) # loading gives these numbers to kernel functions, which an object calls by name


def read(path):
    with open(f'{source}/{path}', encoding='utf-8') as f:
        return f.read()


def insns(path):
    """Yields each instruction of an object as (opcode, source register, offset, immediate)."""
    with open(path, 'rb') as f:
        data = f.read()
    table, (count,) = struct.unpack_from('<Q', data, 0x28)[0], struct.unpack_from('<H', data, 0x3c)
    for i in range(count):
        _, kind, flags, _, at, size = struct.unpack_from('<IIQQQQ', data, table + 64 * i)
        for pc in range(at, at + size, 8) if kind == PROGBITS and flags & EXECINSTR else ():
            opcode, registers, off, imm = struct.unpack_from('<BBhi', data, pc)
            yield opcode, registers >> 4, off, imm


def forms():
    """Yields each instruction form of core/model/opcodes.def as (name, opcode, offset, immediate). Offset or immediate
    is None if any value belongs to the form."""
    text = read('core/model/opcodes.def')
    offsets = {'SDIV': {'32': [1], '64': [1]}, 'SMOD': {'32': [1], '64': [1]}, 'MOVSX': {'32': [8, 16], '64': [8, 16, 32]}}
    for name, code in re.findall(r'^GPUBPF_ALU\((\w+), +0x(\w+),', text, re.M):
        code = int(code, 16) & 0xff
        for width, bits in ('32', 4), ('64', 7):
            for source in (0,) if name == 'NEG' else (0, 8) if name != 'END' or width == '32' else (0,):
                for off in offsets[name][width] if name in offsets else (0,):
                    for imm in (16, 32, 64) if name == 'END' else (None,):
                        if name != 'MOVSX' or source:
                            yield f'{name}{width}', code | bits | source, off, imm
    for name, code in re.findall(r'^GPUBPF_JMP\((\w+), +0x(\w+),', text, re.M):
        for width, bits in ('32', 6), ('64', 5):
            for source in (0,) if name in ('JA', 'CALL', 'EXIT', 'MAY_GOTO') else (0, 8):
                if width == '64' or name not in ('CALL', 'EXIT', 'MAY_GOTO'):
                    yield f'{name}{width}', int(code, 16) | bits | source, None, None
    for size, bits in ('8', 0x10), ('16', 8), ('32', 0), ('64', 0x18):
        for name, code in ('LDX', 0x61), ('LDXS', 0x81), ('ST', 0x62), ('STX', 0x63):
            if name != 'LDXS' or size != '64':
                yield f'{name}{size}', code | bits, None, None
        for name, imm in ('LOAD_ACQ', 0x100), ('STORE_REL', 0x110):
            yield f'{name}{size}', 0xc3 | bits, None, imm
    for name, imm in re.findall(r'^GPUBPF_ATOMIC\((\w+), +0x(\w+),', text, re.M):
        for width, bits in ('32', 0xc3), ('64', 0xdb):
            yield f'{name}{width}', bits, None, int(imm, 16)
    yield 'LDDW', 0x18, None, None


def types(path):
    """Returns the types of the maps that a case defines: names for types of the Linux kernel, numbers for gpubpf's
    own."""
    text = subprocess.run([clang, '-E', '-P', '-target', 'bpf', f'-I{source}/include', path], capture_output=True, text=True, check=True).stdout
    return re.findall(r'\(\*type\)\[(?:BPF_MAP_TYPE_)?(\w+)\]', text)


built = [path for path in glob.glob(f'{objects}/*.o') if not re.search(r'\.p/', path)]
used = {insn for path in built for insn in insns(path)}
called = {imm for opcode, source, _, imm in used if opcode == CALL and source == 0}
for name, opcode, off, imm in forms():
    ok(any(opcode == insn[0] and off in (None, insn[2]) and imm in (None, insn[3]) for insn in used),
       f'{name}, opcode 0x{opcode:02x}{"" if off is None else f", offset {off}"}{"" if imm is None else f", immediate 0x{imm:x}"}, has a case')
images = []
for path in built:
    with open(path, 'rb') as file:
        images.append(file.read())
helpers = re.findall(r'^GPUBPF_HELPER\((\d+), (\w+), (\w+)', read('include/gpubpf/helpers.def'), re.M)
ok(len(helpers) > 40 and len(built) > 50, f'{len(helpers)} helpers, {len(built)} objects')
for number, name, kind in helpers:
    if kind != 'KERNEL':
        kfunc = int(number) in KFUNCS and any(f'bpf_{name}\0'.encode() in image for image in images)
        ok(kfunc or MADE_OF.get(int(number), int(number)) in called, f'helper {number}, {name}, has a case')

cases = sorted(glob.glob(f'{source}/tests/cli/conformance/*/**/*.bpf.c', recursive=True))
defined = {name for path in cases for name in types(path)}
rows = re.findall(r'^GPUBPF_(?:OWN_)?MAP_TYPE\((\d+), (\w+)', read('include/gpubpf/map_types.def'), re.M)
for number, name in rows:
    ok({number, name, 'GPUBPF_MAP_TYPE_' + name} & defined, f'maps of type {number}, {name}, have a case')

code = ''.join(read(os.path.relpath(path, source)) for path in sorted(glob.glob(f'{source}/tests/cli/conformance/*/**/*.[ch]', recursive=True)))
for name in re.findall(r'^GPUBPF_PLACE\(\w+, \d+, "([^"]+)"', read('core/model/places.def'), re.M):
    ok(f'SEC("gpu/{name}/' in code, f'place gpu/{name}/ has a case')

text = ''.join(code for code in (read(os.path.relpath(path, source)) for path in cases) if 'needs gpu/' in code)
fields = re.findall(r'^GPUBPF_CTX_FIELD\(([\w.]+), \d+, \d+, (\w+)\)', read('core/model/ctx_fields.def'), re.M)
for name, origin in fields:
    # tests/cli/host checks the fields of host places: the suite's programs run in kernels
    if origin in ('PLACE', 'LANES') and not name.startswith(('host.', 'done.')):
        ok(re.search(rf'\bctx->{re.escape(name)}\b', text), f'field {name}, of a place, has a case')
plan()
