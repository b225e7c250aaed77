#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""accept.py TOOL FROM COUNT: ptxas must accept the twins of COUNT random kernels (places_random.py), starting with
seed FROM. The seed also chooses the kind of place that the kernel's twin probes. One kernel in 64 has places of all
kinds. TOOL (places.c) makes the twins of many kernels in one call, and ptxas assembles them in one call. No twin is
run: places.py runs twins, which takes most of its time."""
import os
import random
import subprocess
import sys
import tempfile

from places_random import HEAD, KINDS, Kernel

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../..'))
from tap import ok, plan, skip_all

tool, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ptxas = os.environ.get('GPUBPF_TEST_PTXAS') or '/usr/local/cuda/bin/ptxas'
EACH = 64  # kernels per call


def select_kinds(seed):
    return ['at_once', *KINDS] if seed % 64 == 0 else [KINDS[seed % len(KINDS)]]


def twins(seeds, work):
    """Writes one file of twins per seed, with unique names. Returns the reasons of the kernels without a twin."""
    with open(f'{work}/image', 'w', encoding='ascii') as out:
        out.write('//\n')
        for seed in seeds:
            out.write(f'// calls_{seed} ' + ' '.join(f'{kind} 0:0' for kind in select_kinds(seed)) + '\n')
        out.write(HEAD)
        for seed in seeds:
            out.write(Kernel(random.Random(seed), f'calls_{seed}').text())
    subprocess.run([tool, f'{work}/image', work], check=True)
    paths, refused = [], []
    for seed in seeds:
        path = f'{work}/calls_{seed}.{select_kinds(seed)[0]}'
        if os.path.exists(path + '.refused'):
            with open(path + '.refused', encoding='ascii') as f:
                refused.append(f'{seed}: {f.read()}')
            continue
        with open(path + '.ptx', encoding='ascii') as f:
            text = f.read()
        with open(path + '.ptx', 'w', encoding='ascii') as out:
            out.write(text.replace('gpubpf_log', f'log_{seed}'))
        paths.append(path + '.ptx')
    return paths, refused


if not os.access(ptxas, os.X_OK):
    skip_all('no ptxas here; GPUBPF_TEST_PTXAS names one')
for start in range(first, first + count, EACH):
    seeds = range(start, min(start + EACH, first + count))
    with tempfile.TemporaryDirectory() as work:
        paths, refused = twins(seeds, work)
        said = subprocess.run([ptxas, '-O0', '-arch=sm_80', '-o', '/dev/null', *paths], capture_output=True, text=True)
    ok(not said.returncode and not refused, f'kernels of seeds {seeds[0]} to {seeds[-1]}: ptxas takes {len(paths)} twins',
       '\n'.join(refused) + said.stderr)
plan()
