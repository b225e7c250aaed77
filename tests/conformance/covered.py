#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has each helper, each kind of maps, each place and each field that a place gives a case of the suite? covered.py SOURCE OBJECTS CLANG (TAP).
Helpers by the calls in the objects; kinds by the definitions of maps, as clang expands them; fields by their names. KERNEL's helpers are
the Linux kernel's alone. """
import glob
import os
import re
import struct
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import ok, plan

source, objects, clang = sys.argv[1:4]
CALL, PROGBITS, EXECINSTR = 0x85, 1, 4
MADE_OF = {525: 12} # when an object is loaded


def read(path):
    with open(f'{source}/{path}', encoding='utf-8') as f:
        return f.read()


def calls(path):
    """The helpers that an object calls."""
    with open(path, 'rb') as f:
        data = f.read()
    table, (count,) = struct.unpack_from('<Q', data, 0x28)[0], struct.unpack_from('<H', data, 0x3c)
    for i in range(count):
        _, kind, flags, _, at, size = struct.unpack_from('<IIQQQQ', data, table + 64 * i)
        for pc in range(at, at + size, 8) if kind == PROGBITS and flags & EXECINSTR else ():
            opcode, registers, _, helper = struct.unpack_from('<BBhi', data, pc)
            if opcode == CALL and registers >> 4 == 0:
                yield helper


def types(path):
    """The types of the maps that a case defines: names of the kernel's, numbers of our own."""
    text = subprocess.run([clang, '-E', '-P', '-target', 'bpf', f'-I{source}/include', path], capture_output=True, text=True, check=True).stdout
    return re.findall(r'\(\*type\)\[(?:BPF_MAP_TYPE_)?(\w+)\]', text)


built = [path for path in glob.glob(f'{objects}/*.o') if not re.search(r'\.p/', path)]
called = {helper for path in built for helper in calls(path)}
helpers = re.findall(r'^GPUBPF_HELPER\((\d+), (\w+), (\w+)', read('include/gpubpf/helpers.def'), re.M)
ok(len(helpers) > 40 and len(built) > 50, f'{len(helpers)} helpers, {len(built)} objects')
for number, name, kind in helpers:
    if kind != 'KERNEL':
        ok(MADE_OF.get(int(number), int(number)) in called, f'helper {number}, {name}, has a case')

cases = sorted(glob.glob(f'{source}/tests/conformance/*/*.bpf.c'))
defined = {name for path in cases for name in types(path)}
rows = re.findall(r'^GPUBPF_(?:OWN_)?MAP_TYPE\((\d+), (\w+)', read('include/gpubpf/map_types.def'), re.M)
for number, name in rows:
    ok({number, name, 'GPUBPF_MAP_TYPE_' + name} & defined, f'maps of type {number}, {name}, have a case')

code = ''.join(read(os.path.relpath(path, source)) for path in sorted(glob.glob(f'{source}/tests/conformance/*/*.[ch]')))
for name in re.findall(r'^GPUBPF_PLACE\(\w+, \d+, "([^"]+)"', read('core/places.def'), re.M):
    ok(f'SEC("gpu/{name}/' in code, f'place gpu/{name}/ has a case')

text = ''.join(code for code in (read(os.path.relpath(path, source)) for path in cases) if 'needs gpu/' in code)
fields = re.findall(r'^GPUBPF_CTX_FIELD\(([\w.]+), \d+, \d+, (\w+)\)', read('core/ctx_fields.def'), re.M)
for name, origin in fields:
    if origin == 'PLACE':
        ok(re.search(rf'\bctx->{re.escape(name)}\b', text), f'field {name}, of a place, has a case')
plan()
