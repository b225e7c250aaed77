#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""branches.py TWIN LAUNCH CLANG OBJECT GFX: probes at conditional branches of AMD machine code.

Compiles each of branches/*.cl for GFX and makes a twin with the program of OBJECT at its branches. Kernel and twin run
on a simulated GPU, with the launcher that $GPUBPF_AMD_SIM names. Both must leave the same memory. The sums of
branches.bpf.c for each branch must equal the sums that the case's lines state after //= (asm.h). For kernels/*.cl the
test checks only the memory, and that the direction of each lane agrees with the lane masks. Lines of a case:
  // launch X Y Z BX BY BZ   number of threads in total, and per group"""
import re

from amd import LANES, each, make, ok, ran, run, shape

WORDS = ['lanes', 'ids', 'line', 'taken', 'taken_ids', 'going', 'coming', 'wrong']
COMPILED = ['early.cl', 'local.cl']


def sums(fields, number, size):
    """Returns the expected sums of a branch over all waves and executions."""
    out = dict.fromkeys(WORDS, 0)
    for first in range(0, size[0], LANES):
        for t in range(int(fields.get('turns', '1'))):
            at = [{'i': i, 'l': i % size[3], 'g': i // size[3], 't': t} for i in range(first, first + LANES)]
            on = [of for of in at if eval(fields.get('on', 'True'), {}, of)]
            taken = [of for of in on if eval(fields['taken'], {}, of)]
            for word, n in {'lanes': len(on), 'ids': sum(of['i'] for of in on), 'line': number * len(on), 'taken': len(taken),
                            'taken_ids': sum(of['i'] for of in taken), 'going': len(on) * len(taken),
                            'coming': len(on) * len(on)}.items():
                out[word] += n
    return out


def expected(text, size):
    """Returns (line, expected sums) of each branch, in the order of the code."""
    out, statement = [], 0
    for number, row in enumerate(text.splitlines(), 1):
        statement = number if '__asm__' in row else statement
        found = re.search(r'//= (.*)$', row)
        if found:
            out.append((number, sums(dict(w.split('=', 1) for w in found.group(1).split()), statement, size)))
    return out


def case(name, base, text):
    told = run(name, base, make(name, base, 'branch'), shape(text), WORDS)
    if told is None:
        return
    ran('amdgpu', 'branch')
    want, met = expected(text, shape(text)), [t for t in told if t['lanes']]
    bad = [f'line {n}: {t}, not {w}' for t, (n, w) in zip(told, want) if t != w]
    if want:
        ok(not bad and len(met) == len(want), f'{name}: {len(want)} branches, each lane of each', '\n'.join(bad[:6]))
    else:
        ok(met and not any(t['wrong'] for t in told) and any(0 < t['taken'] < t['lanes'] for t in met),
           f'{name}: {len(met)} branches, with sense', told)


each('branches', COMPILED, case)
