#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""accept.py TOOL FROM COUNT: ptxas takes the twins of COUNT random kernels (places_random.py), the first of seed FROM: of each
kernel one for each kind of place, as TOOL (places.c) makes them, under names of their own. A call of ptxas is for those of
many kernels, and nothing is run, which is what takes places.py its time."""
import glob
import os
import random
import subprocess
import sys
import tempfile

from places_random import HEAD, KINDS, Kernel

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import ok, plan, skip_all

tool, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ptxas = os.environ.get('GPUBPF_TEST_PTXAS') or '/usr/local/cuda/bin/ptxas'
ASKED = '//\n// calls_random ' + ' '.join(f'{kind} 0:0' for kind in KINDS) + '\n'
EACH = 50  # kernels a call


def twins(seed, to):
    """Those of a seed's kernel, as files in `to`."""
    with tempfile.TemporaryDirectory() as made:
        with open(f'{made}/image', 'w', encoding='ascii') as out:
            out.write(ASKED + HEAD + Kernel(random.Random(seed), 'calls_random').text())
        subprocess.run([tool, f'{made}/image', made], check=True)
        for path in glob.glob(f'{made}/*.ptx'):
            name = f'{seed}_{os.path.basename(path)[:-4].split(".", 1)[1].replace(".", "_")}'
            with open(path, encoding='ascii') as f:
                text = f.read()
            with open(f'{to}/{name}.ptx', 'w', encoding='ascii') as out:
                out.write(text.replace('gpubpf_log', f'log_{name}').replace('gpubpf_twin_calls_random', f'twin_{name}'))
            yield f'{to}/{name}.ptx'


if not os.access(ptxas, os.X_OK):
    skip_all('no ptxas here; GPUBPF_TEST_PTXAS names one')
for start in range(first, first + count, EACH):
    seeds = range(start, min(start + EACH, first + count))
    with tempfile.TemporaryDirectory() as work:
        paths = [path for seed in seeds for path in twins(seed, work)]
        said = subprocess.run([ptxas, '-O0', '-arch=sm_80', '-o', '/dev/null', *paths], capture_output=True, text=True)
    ok(not said.returncode and len(paths) == len(seeds) * len(KINDS), f'kernels of seeds {seeds[0]} to {seeds[-1]}: ptxas takes '
       f'{len(paths)} twins', said.stderr)
plan()
