#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""conformance.py PLUGIN RUN GFX: runs the verified programs of $GPUBPF_CORPUS/verifier/kernel_exec.tsv, lowered for
GFX, through HSA on a simulated GPU ($GPUBPF_AMD_SIM). Compares their results with the interpreter's."""
import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
import simulated

plugin, run, gfx = sys.argv[1:4]
sim = os.environ.get('GPUBPF_AMD_SIM')
corpus = os.path.join(os.environ.get('GPUBPF_CORPUS', '/nonexistent'), 'verifier', 'kernel_exec.tsv')
GROUP = 32


def call(args, text=None):
    return subprocess.run(args, input=text, capture_output=True, timeout=300).stdout


def batch(rows):
    return ''.join('\t'.join(row) + '\n' for row in rows).encode()


if not sim or not run or not os.path.exists(corpus):
    print('1..0 # SKIP GPUBPF_AMD_SIM names no simulator, GPUBPF_CORPUS has no verifier/kernel_exec.tsv, or no hsa.h was here')
    sys.exit(0)
lines = [line.rstrip('\n').split('\t') for line in open(corpus, encoding='utf-8') if not line.startswith('#')]
rows = [(line[0], '00' * 256, line[1]) for line in lines]
want = dict(line.split('\t', 1) for line in call([plugin, '--batch'], batch(rows)).decode().splitlines())
proven = [row for row in rows if not want.get(row[0], 'ERROR').startswith('ERROR')]
wrong, ran = [], 0
with tempfile.TemporaryDirectory() as folder:
    module = os.path.join(folder, 'module')
    for first in range(0, len(proven), GROUP):
        group = proven[first:first + GROUP]
        dumped = call([plugin, '--batch', '--dump', '--target', 'amdgpu', '--device', gfx], batch(group))
        with open(module, 'wb') as out:
            out.write(dumped)
        answers = simulated.run([sim, gfx, run, module, str(len(group))], text=True).stdout.split('\n')
        for i, row in enumerate(group):
            answer = answers[i] if i < len(answers) and answers[i] else 'nothing'
            ran += 1
            if answer != want[row[0]]:
                wrong.append(f'{row[0]}: want {want[row[0]]}, got {answer}')
print(f'{"not " if wrong or ran * 20 < len(rows) * 19 else ""}ok 1 - {ran - len(wrong)} of {len(rows)} programs, simulated {gfx}')
for text in wrong:
    print('# ' + text)
print('1..1')
