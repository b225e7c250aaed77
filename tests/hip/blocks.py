#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Probes where blocks begin and end, in AMD's machine code: blocks.py TWIN LAUNCH CLANG OBJECT GFX

Each of blocks/*.cl is compiled for GFX and gets twins with the program of OBJECT where blocks begin and end, alone and with
those where lanes enter and leave; kernel and twin run on a simulated GPU, by the launcher that $GPUBPF_AMD_SIM names. The same
words must come out, and each block of blocks.bpf.c have been begun by its first lane, and ended by the last lane of a wave when
all of its lanes had left. Lines of a case:
  // launch X Y Z BX BY BZ   threads in all, and of a group
  // refused WHY             no twin with gpu/block_end/ can be made, and the reason holds these words"""
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import simulated
from tap import ok, plan, skip

twin, launch, clang, probe, gfx = sys.argv[1:6]
here = os.path.dirname(os.path.abspath(__file__))
sim = os.environ.get('GPUBPF_AMD_SIM')
WORDS = ['begun', 'first', 'entered', 'left', 'ended', 'last', 'seen']
LANES = 64 if gfx.startswith('gfx9') else 32


def call(*args):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, errors='replace', timeout=60)


def line(text, key):
    found = re.search(r'^// ' + key + r' ?(.*)$', text, re.M)
    return found.group(1) if found else None


def expected(where, shape):
    """what each block has; last: the last lanes of its waves"""
    threads, block = shape[0] * shape[1] * shape[2], shape[3] * shape[4] * shape[5]
    count = {'begun': 1, 'first': 1000 * threads, 'entered': block, 'left': block, 'ended': 1, 'seen': block}
    need = {'begun': 'block_begin', 'first': 'block_begin', 'entered': 'entry', 'left': 'exit', 'ended': 'block_end'}
    one = {word: n if need.get(word, 'block_end') in where else 0 for word, n in count.items()}
    one['seen'] *= 'exit' in where
    return one, {min(LANES, block - at) - 1 for at in range(0, block, LANES)}, threads // block


def run(name, where, base, sizes, shape):
    ran = simulated.run([str(a) for a in (sim, gfx, launch, base, 'k', base + '.twin', base + '.twin.layout',
                                          base + '.twin.arena', sizes, *shape)], text=True)
    lines = ran.stdout.splitlines()
    if ran.returncode or len(lines) != 3:
        ok(False, f'{name}: runs', ran.stdout + ran.stderr)
        return
    ok(lines[1] == 'same', f'{name}: the same words')
    words = [int(w) for w in lines[2].split()]
    blocks = [dict(zip(WORDS, words[i:i + len(WORDS)])) for i in range(0, len(words), len(WORDS))]
    want, last, n = expected(where, shape)
    bad = [f'block {i}: {b}, not {want}, last of {last}' for i, b in enumerate(blocks[:n])
           if any(b[w] != want[w] for w in want) or (b['ended'] and b['last'] not in last)]
    ok(not bad and not any(any(b.values()) for b in blocks[n:]), f'{name}: {n} blocks, each once', '\n'.join(bad[:6]))


def case(path, folder):
    with open(path, encoding='utf-8') as f:
        text = f.read()
    base = os.path.join(folder, os.path.basename(path))
    built = call(clang, '--target=amdgcn-amd-amdhsa', '-mcpu=' + gfx, '-x', 'cl', '-cl-std=CL2.0', '-nogpulib', '-O2', '-w',
                 '-mcode-object-version=4', '-include', os.path.join(here, 'kernels/prelude.h'), path, '-o', base)
    if built.returncode:
        ok(False, f'{os.path.basename(path)}, {gfx}: clang', built.stderr)
        return
    why = line(text, 'refused')
    shape = [int(word) for word in line(text, 'launch').split()]
    for where in 'block_begin,block_end', 'entry,block_begin,exit,block_end', 'block_begin':
        name = f'{os.path.basename(path)[:-3]}, {gfx} {where}'
        made = call(twin, gfx, base, probe, 'k', where, base + '.twin')
        if why and 'block_end' in where:
            ok(made.stdout.startswith('refused') and why in made.stdout, f'{name}: refused, {why}', made.stdout + made.stderr)
        elif made.returncode or made.stdout.startswith('refused'):
            ok(False, f'{name}: a twin', made.stdout + made.stderr)
        elif not sim or not launch:
            skip(f'{name}: runs', 'GPUBPF_AMD_SIM names no simulator, or this was built without hsa.h')
        else:
            run(name, where.split(','), base, made.stdout.strip(), shape)


with tempfile.TemporaryDirectory() as work:
    for source in sorted(glob.glob(os.path.join(here, 'blocks/*.cl'))):
        case(source, work)
plan()
