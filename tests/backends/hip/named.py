#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""named.py TWIN LAUNCH CLANG OBJECT GFX: probes at named places in AMD machine code.

Compiles each of named/*.cl for GFX. Makes twins with the program of OBJECT at the places that each pattern of its lines
selects, at all instructions and lines, and at all places. It does the same with some of kernels/*.cl. Kernel and twin
run on a simulated GPU, with the launcher that $GPUBPF_AMD_SIM names. Both must leave the same memory. After //= the
lines state the expected sums of named.bpf.c for each place: KIND:PATTERN, with @ for the line's number, and values for
lane i of the launch and lane l of its group. `on` gives the active lanes (default all). `turns` is the maximum number
of executions, t the number of one execution. `a` to `d` are the operands (any: not compared), `mark` is the value of
the mark. Lines of a case:
  // launch X Y Z BX BY BZ   number of threads in total, and per group
  // refused PLACES: WHY     no twin with programs there is possible, and the reason contains these words
  // only GFX...             processors for which it is compiled"""
import re

from amd import each, line, make, ok, ran, run, shape

WORDS = ['lanes', 'ids', 'line', 'a', 'b', 'c', 'd', 'mark']
ALL = 'entry,exit,block_begin,block_end,mem.all,mem_before.all,atomic,barrier,barrier_exit,branch,insn:*,line:*,mark:*'
COMPILED = ['early.cl', 'local.cl', 'matrix.cl']
MOST = 1 << 64


def sums(fields, number, size):
    """Returns the expected sums of a place; a sum None is not compared."""
    out = dict.fromkeys(WORDS, 0)
    for i in range(size[0]):
        for t in range(int(fields.get('turns', '1'))):
            of = {'i': i, 'l': i % size[3], 't': t}
            if not eval(fields.get('on', 'True'), {}, of):
                continue
            more = {word: eval(fields[word], {}, of) for word in WORDS if fields.get(word, 'any') != 'any'}
            for word, n in {'lanes': 1, 'ids': i, 'line': number, **more}.items():
                out[word] += n
    return {word: None if fields.get(word) == 'any' else n % MOST for word, n in out.items()}


def expected(text, size):
    """Returns pattern -> expected sums of each of its places, in the order of the code."""
    out, statement = {}, 0
    for number, row in enumerate(text.splitlines(), 1):
        statement = number if re.search(r'__asm__|GPUBPF_MARK', row) else statement
        for part in row.split('//= ')[1:]:
            words = part.split()
            fields = dict(w.split('=', 1) for w in words[1:])
            out.setdefault(words[0].replace('@', str(number)), []).append(sums(fields, statement, size))
    return out


def check(name, base, where, want, size):
    told = run(name, base, make(name, base, where), size, WORDS)
    if told is None:
        return
    # ids count all places of a kind; at places with other names no program ran
    met = [t for t in told if t['lanes']]
    bad = [f'{t}, not {w}' for t, w in zip(met, want or []) if any(w[k] not in (None, t[k]) for k in WORDS)]
    if met and where != ALL:
        ran('amdgpu', where.split(':')[0])
    good = met if want is None else not bad and len(met) == len(want)
    ok(bool(good), f'{name}: {len(want or met)} places', '\n'.join(bad[:6]) + f'\n{len(met)} came')


def case(name, base, text):
    wants = expected(text, shape(text))
    refused, _, why = (line(text, 'refused') or '').partition(': ')
    if refused:
        make(f'{name} {refused}', base, refused, why)
    everything = {} if refused else {**({'insn:*': None, 'line:*': None} if wants else {}), ALL: None}
    for pattern, want in {**wants, **everything}.items():
        check(f"{name} {'everything' if pattern == ALL else pattern}", base, pattern, want, shape(text))


each('named', COMPILED, case)
