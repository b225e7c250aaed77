#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Probes at conditional branches of AMD's machine code: branches.py TWIN LAUNCH CLANG OBJECT GFX

Each of branches/*.cl is compiled for GFX and gets a twin with the program of OBJECT at its branches; kernel and twin run on a
simulated GPU, by the launcher that $GPUBPF_AMD_SIM names. The same words must come out, and what branches.bpf.c added up at
each branch is what the lines of the case say behind //= (asm.h). Of what a compiler makes of kernels/*.cl, the words alone are
known, and that each lane is told what the masks say. Lines of a case:
  // launch X Y Z BX BY BZ   threads in all, and of a group"""
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
WORDS = ['lanes', 'ids', 'line', 'taken', 'taken_ids', 'going', 'coming', 'wrong']
LANES = 64 if gfx.startswith('gfx9') else 32
COMPILED = ['early.cl', 'local.cl']


def call(*args):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, errors='replace', timeout=60)


def line(text, key):
    found = re.search(r'^// ' + key + r' ?(.*)$', text, re.M)
    return found.group(1) if found else None


def sums(fields, number, shape):
    """At a branch, over the waves and how often they come there."""
    out = dict.fromkeys(WORDS, 0)
    for first in range(0, shape[0], LANES):
        for t in range(int(fields.get('turns', '1'))):
            at = [{'i': i, 'l': i % shape[3], 'g': i // shape[3], 't': t} for i in range(first, first + LANES)]
            on = [of for of in at if eval(fields.get('on', 'True'), {}, of)]
            taken = [of for of in on if eval(fields['taken'], {}, of)]
            for word, n in {'lanes': len(on), 'ids': sum(of['i'] for of in on), 'line': number * len(on), 'taken': len(taken),
                            'taken_ids': sum(of['i'] for of in taken), 'going': len(on) * len(taken),
                            'coming': len(on) * len(on)}.items():
                out[word] += n
    return out


def expected(text, shape):
    """(line, sums) of each branch, in the order of the code."""
    out, statement = [], 0
    for number, row in enumerate(text.splitlines(), 1):
        statement = number if '__asm__' in row else statement
        found = re.search(r'//= (.*)$', row)
        if found:
            out.append((number, sums(dict(w.split('=', 1) for w in found.group(1).split()), statement, shape)))
    return out


def run(name, base, sizes, shape):
    """what each branch was told; None: that has failed"""
    ran = simulated.run([str(a) for a in (sim, gfx, launch, base, 'k', base + '.twin', base + '.twin.layout',
                                          base + '.twin.arena', sizes, *shape)], text=True)
    lines = ran.stdout.splitlines()
    if ran.returncode or len(lines) != 3:
        ok(False, f'{name}: runs', ran.stdout + ran.stderr)
        return None
    ok(lines[1] == 'same', f'{name}: the same words')
    words = [int(w) for w in lines[2].split()]
    return [dict(zip(WORDS, words[i:i + len(WORDS)])) for i in range(0, len(words), len(WORDS))]


def case(path, folder):
    with open(path, encoding='utf-8') as f:
        text = f.read()
    base, name = os.path.join(folder, os.path.basename(path)), f'{os.path.basename(path)[:-3]}, {gfx}'
    built = call(clang, '--target=amdgcn-amd-amdhsa', '-mcpu=' + gfx, '-x', 'cl', '-cl-std=CL2.0', '-nogpulib', '-O2', '-g', '-w',
                 '-mcode-object-version=4', '-I', os.path.dirname(path), '-include', os.path.join(here, 'kernels/prelude.h'),
                 path, '-o', base)
    if built.returncode:
        ok(False, f'{name}: clang', built.stderr)
        return
    made, shape = call(twin, gfx, base, probe, 'k', 'branch', base + '.twin'), [int(w) for w in line(text, 'launch').split()]
    if made.returncode or made.stdout.startswith('refused'):
        ok(False, f'{name}: a twin', made.stdout + made.stderr)
    elif not sim or not launch:
        skip(f'{name}: runs', 'GPUBPF_AMD_SIM names no simulator, or this was built without hsa.h')
    else:
        told, want = run(name, base, made.stdout.strip(), shape) or [], expected(text, shape)
        met = [t for t in told if t['lanes']]
        bad = [f'line {n}: {t}, not {w}' for t, (n, w) in zip(told, want) if t != w]
        if want:
            ok(not bad and len(met) == len(want), f'{name}: {len(want)} branches, each lane of each', '\n'.join(bad[:6]))
        else:
            ok(met and not any(t['wrong'] for t in told) and any(0 < t['taken'] < t['lanes'] for t in met),
               f'{name}: {len(met)} branches, with sense', told)


with tempfile.TemporaryDirectory() as work:
    for source in sorted(glob.glob(os.path.join(here, 'branches/*.cl'))):
        case(source, work)
    for source in COMPILED:
        case(os.path.join(here, 'kernels', source), work)
plan()
