#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""blocks.py TWIN LAUNCH CLANG OBJECT GFX: probes where blocks begin and end, in AMD machine code.

Compiles each of blocks/*.cl for GFX and makes three twins with the programs of OBJECT: at the begin and end of blocks,
at the entry and exit of lanes too, and only at the begin of blocks. Kernel and twin run on a simulated GPU, with the
launcher that $GPUBPF_AMD_SIM names. Both must leave the same memory. blocks.bpf.c must see that the first lane of each
block began the block, and that the last lane of a wave ended the block after all its lanes had exited. Lines of a case:
  // launch X Y Z BX BY BZ   number of threads in total, and per group
  // refused WHY             no twin with gpu/block_end/ is possible, and the reason contains these words"""
from amd import LANES, each, line, make, ok, ran, run, shape

WORDS = ['begun', 'first', 'entered', 'left', 'ended', 'last', 'seen']


def expected(where, size):
    """Returns the expected values of each block, and the numbers of the last lanes of its waves (`last`)."""
    threads, block = size[0] * size[1] * size[2], size[3] * size[4] * size[5]
    count = {'begun': 1, 'first': 1000 * threads, 'entered': block, 'left': block, 'ended': 1, 'seen': block}
    need = {'begun': 'block_begin', 'first': 'block_begin', 'entered': 'entry', 'left': 'exit', 'ended': 'block_end'}
    one = {word: n if need.get(word, 'block_end') in where else 0 for word, n in count.items()}
    one['seen'] *= 'exit' in where
    return one, {min(LANES, block - at) - 1 for at in range(0, block, LANES)}, threads // block


def case(name, base, text):
    why = line(text, 'refused')
    for where in 'block_begin,block_end', 'entry,block_begin,exit,block_end', 'block_begin':
        this = f'{name} {where}'
        made = make(this, base, where, why if 'block_end' in where else None)
        blocks = run(this, base, made, shape(text), WORDS)
        if blocks is None:
            continue
        want, last, n = expected(where.split(','), shape(text))
        bad = [f'block {i}: {b}, not {want}, last of {last}' for i, b in enumerate(blocks[:n])
               if any(b[w] != want[w] for w in want) or (b['ended'] and b['last'] not in last)]
        for place in where.split(','):
            ran('amdgpu', place)
        ok(not bad and not any(any(b.values()) for b in blocks[n:]), f'{this}: {n} blocks, each once', '\n'.join(bad[:6]))


each('blocks', [], case)
