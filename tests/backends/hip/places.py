#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""places.py TWIN LAUNCH CLANG OBJECT GFX: probes at single instructions of AMD machine code.

Compiles each of places/*.cl for GFX and makes a twin with the program of OBJECT at its places of each kind. Kernel and
twin run on a simulated GPU, with the launcher that $GPUBPF_AMD_SIM names. Both must leave the same memory. After //=
the case's lines state the expected sums of places.bpf.c for each place (forms.h): ACCESS (L, S or A) with BYTES, then
SPACE (G, S or P), then NAME=VALUE for lane i (any: not compared). After //+ they state the lanes whose memory is in
another space. The test ignores places without active lanes: loads of the kernel's arguments, which the runtime
wrote. Lines of a case:
  // launch X Y Z BX BY BZ   number of threads in total, and per group
  // refused KINDS: WHY      no twin is possible, and the reason contains these words
  // only GFX...             processors for which it is compiled"""
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
import simulated
from tap import ok, plan, ran, skip

twin, launch, clang, probe, gfx = sys.argv[1:6]
here = os.path.dirname(os.path.abspath(__file__))
sim = os.environ.get('GPUBPF_AMD_SIM')
WORDS = ['lanes', 'ids', 'offset', 'address', 'what', 'v', 'w', 'op', 'operand', 'old', 'line', 'barrier', 'hint']
KINDS = {'mem': 'LSA', 'mem_before': 'LSA', 'mem.shared': 'LSA', 'mem.local': 'LSA', 'mem.all': 'LSA', 'mem_before.all': 'LSA',
         'mem.capture': 'LSA', 'atomic': 'A', 'barrier': 'B', 'barrier_exit': 'B'}
IN = {'mem': 'G', 'mem.capture': 'G', 'mem_before': 'G', 'mem.shared': 'S', 'mem.local': 'P'}
ACCESS, SPACE = {'L': 1, 'S': 2, 'A': 3}, {'G': 1, 'S': 2, 'P': 3}
OPS = {name: i + 1 for i, name in enumerate(('add', 'sub', 'and', 'or', 'xor', 'min', 'max', 'exchange', 'compare', 'inc', 'dec'))}
EACH = ('group', 'atomic', 'flat', 'private', 'barriers', 'scalar', 'buffer')  # on gfx90a these cases try all kinds of places
MOST = 1 << 64
lanes = 64 if gfx.startswith('gfx9') else 32


def call(*args, timeout=60):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, errors='replace', timeout=timeout)


def line(text, key):
    found = re.search(r'^// ' + key + r' ?(.*)$', text, re.M)
    return found.group(1) if found else None


def sum_place(kind, number, words, fields, shape):
    """Returns the expected sums of a place over its active lanes."""
    access, size, space = (re.fullmatch(r'([LSA])(\d+)', words[0]).groups() + (words[1],)) if words[0] != 'B' else ('B', 0, '')
    sums = dict.fromkeys(WORDS, 0)
    for i in range(shape[0]):
        of = {'i': i, 'l': i % shape[3], 'FIRST': i % 64 % lanes == (5 if i % 64 < lanes else 0)}
        values = {name: eval(text, {}, of) for name, text in fields.items() if name != 'op' and text != 'any'}
        if not values.pop('on', True) or space not in IN.get(kind, 'GSP'):
            continue
        size = int(size)
        what = 0 if access == 'B' else size + (ACCESS[access] << 8) + (SPACE[space] << 16) + \
            ((size // 4 if size > 4 and access != 'A' else 1) << 24)
        for name, value in {'lanes': 1, 'ids': i, 'offset': values.pop('off', 0), 'what': what, 'line': number,
                            'barrier': access == 'B', **values}.items():
            sums[name] += value
        if kind == 'atomic':
            sums['op'] += OPS[fields['op']]
    if kind == 'mem.capture':  # the program of this kind sees the address as its first argument
        sums['offset'] = 0
    if kind != 'atomic':
        sums.update(op=0, operand=0, old=0)
    return [None if fields.get({'offset': 'off'}.get(w, w), 'any' if w == 'hint' else '') == 'any' else sums[w] % MOST for w in WORDS]


def expected(kind, text, shape):
    """Returns (line of the file, expected sums) of each place, in the order of the code."""
    out, statement = [], 0
    for number, row in enumerate(text.splitlines(), 1):
        statement = number if '__asm__' in row else statement
        for part in re.findall(r'//([=+][^/]*)', row):
            words = part[1:].split()
            if words[0][0] not in KINDS[kind]:
                continue
            fields = dict(w.split('=', 1) for w in words[1 if words[0] == 'B' else 2:])
            sums = sum_place(kind, statement if row.lstrip().startswith(('"', 'CMPST', 'MEET')) else number, words, fields, shape)
            if part[0] == '+' and out and out[-1][0] == number:
                out[-1] = (number, [None if a is None else a + b for a, b in zip(out[-1][1], sums)])
            elif sums[0]:
                out.append((number, sums))
    return out


def compare(name, got, want):
    bad = [f'line {number}: ' + ' '.join(f'{w} {g}, not {s}' for w, g, s in zip(WORDS, have, sums) if s not in (None, g))
           for (number, sums), have in zip(want, got) if any(s not in (None, g) for g, s in zip(have, sums))]
    ok(not bad and len(got) == len(want), f'{name}: {len(want)} places, each lane of each',
       '\n'.join(bad[:6]) + f'\n{len(got)} came, not {len(want)}')


def run(name, kind, text, base, sizes):
    shape = [int(word) for word in line(text, 'launch').split()]
    ran = simulated.twin(gfx, launch, base, base + '.twin', sizes, shape)
    lines = ran.stdout.splitlines()
    if ran.returncode or len(lines) != 3:
        ok(False, f'{name}: runs', ran.stdout + ran.stderr)
        return
    words = [int(w) for w in lines[2].split()]
    places = [words[i:i + len(WORDS)] for i in range(0, len(words), len(WORDS))]
    ok(lines[1] == 'same', f'{name}: the same words')
    compare(name, [p for p in places if p[0]], expected(kind, text, shape))


def case(path, folder):
    text, base = open(path, encoding='utf-8').read(), os.path.join(folder, os.path.basename(path))
    if line(text, 'only') and gfx not in line(text, 'only').split():
        return
    built = call(clang, '--target=amdgcn-amd-amdhsa', '-mcpu=' + gfx, '-x', 'cl', '-cl-std=CL2.0', '-nogpulib', '-O2', '-g', '-w',
                 '-mcode-object-version=4', '-I', os.path.dirname(path), '-include', os.path.join(here, 'kernels/prelude.h'),
                 path, '-o', base)
    if built.returncode:
        ok(False, f'{os.path.basename(path)}, {gfx}: clang', built.stderr)
        return
    refused, _, why = (line(text, 'refused') or '').partition(': ')
    for kind in KINDS if gfx == 'gfx90a' and os.path.basename(path)[:-3] in EACH else ('mem.all', 'mem.shared', 'atomic', 'barrier'):
        name = f'{os.path.basename(path)[:-3]}, {gfx} gpu/{kind}/'
        where = IN.get(kind, 'GSP')
        if kind not in refused.split() and not re.search(rf'//= [{KINDS[kind]}](\d+ [{where}]|$)', text, re.M):
            continue
        made = call(twin, gfx, base, probe, 'k', kind, base + '.twin')
        if kind in refused.split():
            ok(made.stdout.startswith('refused') and why in made.stdout, f'{name}: refused, {why}', made.stdout + made.stderr)
        elif made.returncode or made.stdout.startswith('refused'):
            ok(False, f'{name}: a twin', made.stdout + made.stderr)
        elif not sim or not launch:
            skip(f'{name}: runs', 'GPUBPF_AMD_SIM names no simulator, or this was built without hsa.h')
        else:
            run(name, kind, text, base, made.stdout.strip())
            ran('amdgpu', kind)


with tempfile.TemporaryDirectory() as work:
    for source in sorted(glob.glob(os.path.join(here, 'places/*.cl'))):
        case(source, work)
plan()
