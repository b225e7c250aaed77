#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lanes.py TWIN LAUNCH CLANG OBJECT GFX: tests helpers 511, 521 and 522, which exchange values between the lanes of an
AMD wave.

Compiles each of lanes/*.cl for GFX and makes a twin with the program of OBJECT at its stores. Kernel and twin run on a
simulated GPU, with the launcher that $GPUBPF_AMD_SIM names. Both must leave the same memory. The sums of lanes.bpf.c
must follow from the case's lines after //=: a condition that the lanes of a store fulfil, with TURN in a loop of at
most three rounds.
  // launch X Y Z BX BY BZ   number of threads in total, and per group"""
import re

from amd import LANES, each, make, ok, run, shape

WORDS = ['lanes', 'here', 'odd', 'like', 'here as bits', 'odd as bits', 'like as bits', 'first']


def bits(lanes):
    return sum(1 << l for l, _ in lanes)


def sum_lanes(lanes):
    """Returns the sums of lanes that are active together. A lane is (number in the wave, number in the launch)."""
    out = [0] * len(WORDS)
    odd = [at for at in lanes if at[1] & 1]
    for l, i in lanes:
        like = [at for at in lanes if at[1] // 5 == i // 5]
        out = [a + b for a, b in zip(out, (1, len(lanes), len(odd), len(like), bits(lanes), bits(odd), bits(like), like[0][0] == l))]
    return out


def expected(text, size):
    """Yields the expected sums of each store, in the order of the code."""
    for condition in re.findall(r'//= ?(.*)$', text, re.M):
        sums = [0] * len(WORDS)
        for turn in range(3 if 'TURN' in condition else 1):
            for group in range(0, size[0], size[3]):
                for first in range(0, size[3], LANES):
                    wave = [(l - first, group + l) for l in range(first, min(first + LANES, size[3]))
                            if not condition or eval(condition, {}, {'LOCAL': l, 'TURN': turn})]
                    sums = [a + b for a, b in zip(sums, sum_lanes(wave))]
        yield dict(zip(WORDS, (s % (1 << 64) for s in sums)))


def case(name, base, text):
    told = run(name, base, make(name, base, 'mem'), shape(text), WORDS)
    if told is None:
        return
    want, got = list(expected(text, shape(text))), [t for t in told if t['lanes']]
    ok(got == want, f'{name}: {len(want)} stores, each lane with the others of its wave', f'{got}\nnot {want}')


each('lanes', [], case)
