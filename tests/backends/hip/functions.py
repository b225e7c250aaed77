#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""functions.py TWIN LAUNCH CLANG OBJECT COUNTS GFX: probes of functions in AMD machine code.

Compiles each of functions/*.cl for GFX. Makes twins with the program of OBJECT at calls and returns of its functions,
and at accesses of global memory, also in functions. Makes twins with the program of COUNTS, which reads no values, at
all places together. Kernel and twin run on a simulated GPU, with the launcher that $GPUBPF_AMD_SIM names. Both must
leave the same memory. The case computes the expected sums of functions.bpf.c in Python, in its lines //>. k(i) is lane
i of the launch, told(function, arguments, result) a call, mem(access, bytes) an access. IN(i) is a word of the input,
WAVE the number of lanes of a wave. Lines of a case:
  // launch X Y Z BX BY BZ   number of threads in total, and per group
  // options WORDS           compiler options, instead of -O2 -g and then -O0 -g
  // refused KINDS: WHY      no twin is possible, and the reason contains these words"""
import glob
import os
import re
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(here, '../..'))
import simulated
from tap import ok, plan, ran, skip

twin, launch, clang, values, counts, gfx = sys.argv[1:7]
sim = os.environ.get('GPUBPF_AMD_SIM')
FUNCTIONS, WORDS = 26, 8
OTHERS = 'mem.all,mem_before.all,atomic,barrier,barrier_exit,branch,line:*,insn:*'


def call(*args, timeout=120):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, errors='replace', timeout=timeout)


def lines(text, key):
    return [found.strip() for found in re.findall(r'^// ' + key + r' ?(.*)$', text, re.M)]


def expected(text, kinds, reads):
    """Returns the expected words of the map; a word None is not compared."""
    at = [[0] * WORDS for _ in range(FUNCTIONS)]
    memory = dict.fromkeys('LSA', 0)
    size = 0

    def told(name, args, result):
        f = at[ord(name[0]) - ord('a')]
        if 'call' in kinds:
            f[0] += 1
            f[1] += lane
            for n, arg in enumerate(args[:4]):
                f[2 + n] = None if arg is None or f[2 + n] is None else f[2 + n] + arg * reads
        if 'call_exit' in kinds:
            f[6] += 1
            f[7] += result * reads
        return result

    def mem(access, n):
        nonlocal size
        memory[access] += 'mem' in kinds
        size += n * ('mem' in kinds)

    names = {'told': told, 'mem': mem, 'M': 0xffffffff, 'IN': lambda i: (i * 2654435761 & 0xffffffff) >> 7,
             'WAVE': 64 if gfx.startswith('gfx9') else 32}
    exec('\n'.join(re.findall(r'^//> (.*)$', text, re.M)), names)
    for lane in range(int(lines(text, 'launch')[0].split()[0])):
        names['k'](lane)
    words = [w if w is None else w % (1 << 64) for f in at for w in f] + list(memory.values()) + [size]
    return words if reads else [None if i < FUNCTIONS * WORDS and i % WORDS in (2, 3, 4, 5, 7) else w for i, w in enumerate(words)]


def run(name, kinds, text, base, sizes, reads):
    shape = [int(word) for word in lines(text, 'launch')[0].split()]
    p = simulated.twin(gfx, launch, base, base + '.twin', sizes, shape)
    out = p.stdout.splitlines()
    if p.returncode or len(out) != 3:
        ok(False, f'{name}: runs', p.stdout + p.stderr)
        return
    ok(out[1] == 'same', f'{name}: the same words')
    got, want = [int(w) for w in out[2].split()], expected(text, kinds, reads)
    bad = [f'word {i % WORDS} of {chr(ord("a") + i // WORDS)}: {g}, not {w}' for i, (g, w) in enumerate(zip(got, want))
           if w not in (None, g)]
    ok(not bad, f'{name}: each call', '\n'.join(bad[:8]))
    if ',' in kinds[-1]:
        ok(got[-1] > 0, f'{name}: and places of other kinds')
    for kind in kinds:
        if ',' not in kind:
            ran('amdgpu', kind)


def case(path, folder, options):
    text, base = open(path, encoding='utf-8').read(), os.path.join(folder, os.path.basename(path))
    label = f'{os.path.basename(path)[:-3]} {options}, {gfx}'
    built = call(clang, '--target=amdgcn-amd-amdhsa', '-mcpu=' + gfx, '-x', 'cl', '-cl-std=CL2.0', '-nogpulib', '-w',
                 *options.split(), '-mcode-object-version=4', '-include', os.path.join(here, 'kernels/prelude.h'), path, '-o', base)
    if built.returncode:
        ok(False, f'{label}: clang', built.stderr)
        return
    refused = {kind: why for row in lines(text, 'refused') for kind in row.partition(': ')[0].split()
               for why in [row.partition(': ')[2]]}
    for kinds, probe in ((['call'], values), (['call_exit'], values), (['call', 'mem'], values), (['call'], counts),
                         (['call', 'call_exit', 'mem', OTHERS], counts)):
        name = f'{label} {",".join(kinds)}{"" if probe == values else ", counts"}'
        made = call(twin, gfx, base, probe, 'k', ','.join(kinds), base + '.twin')
        whys = [refused[k] for k in kinds if k in refused and not ('(-g)' in refused[k] and probe == counts)]
        if whys:
            ok(made.stdout.startswith('refused') and any(w in made.stdout for w in whys), f'{name}: refused, {whys[0]}',
               made.stdout + made.stderr)
        elif made.returncode or made.stdout.startswith('refused'):
            ok(False, f'{name}: a twin', made.stdout + made.stderr)
        elif '-O0' in options and gfx == 'gfx90a':  # the simulator crashes on these kernels, with and without a twin
            ok(True, f'{name}: a twin')
        elif not sim or not launch:
            skip(f'{name}: runs', 'GPUBPF_AMD_SIM names no simulator, or this was built without hsa.h')
        else:
            run(name, kinds, text, base, made.stdout.strip(), probe == values)


with tempfile.TemporaryDirectory() as work:
    for source in sorted(glob.glob(os.path.join(here, 'functions/*.cl'))):
        for words in lines(open(source, encoding='utf-8').read(), 'options') or ['-O2 -g', '-O0 -g']:
            case(source, work, words)
plan()
