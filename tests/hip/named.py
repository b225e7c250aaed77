#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Probes at places with names in AMD's machine code: named.py TWIN LAUNCH CLANG OBJECT GFX

Each of named/*.cl is compiled for GFX and gets a twin with the program of OBJECT at the places that each pattern of its lines
names, at all instructions and lines, and at all places that there are, as do some of kernels/*.cl; kernel and twin run on a simulated GPU, by the launcher that $GPUBPF_AMD_SIM names. The
same words must come out, and what named.bpf.c added up at each place is what the lines say behind //=: KIND:PATTERN (@: the
line's number), and for lane i of the launch, l of its group, on, the lanes that come (all), turns, how often at most, of which t
is the number, a to d, the operands (any: not looked at), and mark. A line of a case:
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
WORDS = ['lanes', 'ids', 'line', 'a', 'b', 'c', 'd', 'mark']
ALL = 'entry,exit,block_begin,block_end,mem.all,mem_before.all,atomic,barrier,barrier_exit,branch,insn:*,line:*,mark:*'
COMPILED = ['early.cl', 'local.cl', 'matrix.cl']
MOST = 1 << 64


def call(*args):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, errors='replace', timeout=60)


def sums(fields, number, shape):
    """At a place; None: not looked at."""
    out = dict.fromkeys(WORDS, 0)
    for i in range(shape[0]):
        for t in range(int(fields.get('turns', '1'))):
            of = {'i': i, 'l': i % shape[3], 't': t}
            if not eval(fields.get('on', 'True'), {}, of):
                continue
            more = {word: eval(fields[word], {}, of) for word in WORDS if fields.get(word, 'any') != 'any'}
            for word, n in {'lanes': 1, 'ids': i, 'line': number, **more}.items():
                out[word] += n
    return {word: None if fields.get(word) == 'any' else n % MOST for word, n in out.items()}


def expected(text, shape):
    """pattern -> sums of each place, in the order of the code"""
    out, statement = {}, 0
    for number, row in enumerate(text.splitlines(), 1):
        statement = number if re.search(r'__asm__|GPUBPF_MARK', row) else statement
        for part in row.split('//= ')[1:]:
            words = part.split()
            fields = dict(w.split('=', 1) for w in words[1:])
            out.setdefault(words[0].replace('@', str(number)), []).append(sums(fields, statement, shape))
    return out


def run(name, base, sizes, shape):
    ran = simulated.run([str(a) for a in (sim, gfx, launch, base, 'k', base + '.twin', base + '.twin.layout',
                                          base + '.twin.arena', sizes, *shape)], text=True)
    lines = ran.stdout.splitlines()
    if ran.returncode or len(lines) != 3:
        ok(False, f'{name}: runs', ran.stdout + ran.stderr)
        return []
    ok(lines[1] == 'same', f'{name}: the same words')
    words = [int(w) for w in lines[2].split()]
    return [dict(zip(WORDS, words[i:i + len(WORDS)])) for i in range(0, len(words), len(WORDS))]


def check(name, base, where, want, shape):
    made = call(twin, gfx, base, probe, 'k', where, base + '.twin')
    if made.returncode or made.stdout.startswith('refused'):
        ok(False, f'{name}: a twin', made.stdout + made.stderr)
    elif not sim or not launch:
        skip(f'{name}: runs', 'GPUBPF_AMD_SIM names no simulator, or this was built without hsa.h')
    else:
        # places are numbered among all of their kind: those of other names had no program
        met = [told for told in run(name, base, made.stdout.strip(), shape) if told['lanes']]
        bad = [f'{told}, not {w}' for told, w in zip(met, want or []) if any(w[k] not in (None, told[k]) for k in WORDS)]
        good = met if want is None else not bad and len(met) == len(want)
        ok(bool(good), f'{name}: {len(want or met)} places', '\n'.join(bad[:6]) + f'\n{len(met)} came')


def case(path, folder):
    with open(path, encoding='utf-8') as f:
        text = f.read()
    only = re.search(r'^// only (.*)$', text, re.M)
    if only and gfx not in only.group(1).split():
        return
    base, name = os.path.join(folder, os.path.basename(path)), f'{os.path.basename(path)[:-3]}, {gfx}'
    built = call(clang, '--target=amdgcn-amd-amdhsa', '-mcpu=' + gfx, '-x', 'cl', '-cl-std=CL2.0', '-nogpulib', '-O2', '-g', '-w',
                 '-mcode-object-version=4', '-I', os.path.join(here, '../../include'), '-include',
                 os.path.join(here, 'kernels/prelude.h'), path, '-o', base)
    if built.returncode:
        ok(False, f'{name}: clang', built.stderr)
        return
    shape = [int(w) for w in re.search(r'^// launch (.*)$', text, re.M).group(1).split()]
    wants = expected(text, shape)
    for pattern, want in {**wants, **({'insn:*': None, 'line:*': None} if wants else {}), ALL: None}.items():
        check(f"{name} {'everything' if pattern == ALL else pattern}", base, pattern, want, shape)


with tempfile.TemporaryDirectory() as work:
    for source in sorted(glob.glob(os.path.join(here, 'named/*.cl'))):
        case(source, work)
    for source in COMPILED:
        case(os.path.join(here, 'kernels', source), work)
plan()
