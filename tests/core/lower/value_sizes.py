#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""value_sizes.py GPUBPF CLANG INCLUDE VALUES.bpf.c: code for large values must not be larger than code for small ones.
Prints TAP.

Compiles bench/values, with values of 8 bytes to 64 KiB in a hash table and an array. In PTX no lane may use local
memory. In OpenCL C a private copy may have at most 64 bytes. The number of statements must be about the same for
each size. An earlier version copied whole values, and run time grew sharply from some size on."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
from tap import ok, plan

gpubpf, clang, include, source = sys.argv[1:5]
SIZES = [8, 64, 72, 512, 4096, 16384, 65536]
# limit: statements relative to values of 72 bytes, the smallest that are not copied; a copy of 64 bytes has 1.18
MORE = 1.25
WORDS = 8    # in a private copy


def dumped(path, target):
    return subprocess.run([gpubpf, 'prog', 'dump', '-T', target, path], capture_output=True, text=True, check=True).stdout


def shape(folder, table, work, size):
    """Returns the number of statements and of uses of local memory in PTX, and the words of the largest private copy
    in OpenCL C."""
    path = f'{folder}/values.bpf.o'
    subprocess.run([clang, '-g', '-O2', '-target', 'bpf', '-mcpu=v3', f'-I{include}', f'-DTABLE=BPF_MAP_TYPE_{table}', f'-DVALUE={size}', f'-D{work}',
                    '-c', source, '-o', path], check=True)
    ptx = dumped(path, 'ptx')
    copies = [int(n) for n in re.findall(r'\bulong t\d\[(\d+)\]', dumped(path, 'clc'))]
    return ptx.count(';'), len(re.findall(r'\.local\b', ptx)), max(copies, default=0)


with tempfile.TemporaryDirectory() as folder:
    for table in 'HASH', 'ARRAY':
        for work in 'LOOKUP', 'UPDATE':
            shapes = {size: shape(folder, table, work, size) for size in SIZES}
            for size, (statements, local, words) in shapes.items():
                ok(not local and words <= WORDS and statements <= MORE * shapes[72][0],
                   f'{table}, {work}, {size} bytes: {statements} statements, {local} uses of local memory, a copy of {words} words')
plan()
