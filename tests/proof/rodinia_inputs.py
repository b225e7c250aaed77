#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rodinia_inputs.py FOLDER: writes the input files of lists/rodinia, which are the same in every run."""
import os
import random
import sys

SIDE, LAYERS = 64, 8                         # hotspot's grid
NODES, KEYS = 4096, 2000


def write(folder, name, lines):
    with open(os.path.join(folder, name), 'w', encoding='ascii') as file:
        file.writelines(f'{line}\n' for line in lines)


def make_graph(rng):
    """Yields the lines of bfs's input: number of nodes, first edge and number of edges per node, source, number of
    edges, edges."""
    edges = [[(rng.randrange(NODES), rng.randrange(1, 10)) for _ in range(rng.randrange(2, 8))] for _ in range(NODES)]
    yield NODES
    first = 0
    for own in edges:
        yield f'{first} {len(own)}'
        first += len(own)
    yield '\n0\n'
    yield first
    for own in edges:
        for target, cost in own:
            yield f'{target} {cost}'


def make_cells(rng, number, low, high):
    return (f'{rng.uniform(low, high):.6f}' for _ in range(number))


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    rng = random.Random(1)
    write(folder, 'graph', make_graph(rng))
    for suffix, cells in (('', SIDE * SIDE), ('3D', SIDE * SIDE * LAYERS)):
        write(folder, f'temp{suffix}', make_cells(rng, cells, 320, 345))
        write(folder, f'power{suffix}', make_cells(rng, cells, 0, 0.01))
    write(folder, 'keys', [KEYS, *(rng.randrange(10**6) for _ in range(KEYS))])
    write(folder, 'commands', ['j 100 50', 'k 200'])


main()
