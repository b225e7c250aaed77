#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The suite's kernels as NVIDIA machine code. Only ptxas can assemble them, so the repository contains its output in
tests/cli/conformance/cubins, and every build installs the same code.

cubins.py make SOURCE PTX: assembles the files again from the build's PTX, after a change of SOURCE (workload.cl)
cubins.py check SOURCE PTX GPUBPF: checks the files against the list in `made`; prints TAP
$GPUBPF_TEST_PTXAS or /usr/local/cuda/bin/ptxas: the assembler. If its release differs from that in `made`, the
comparison is skipped."""
import glob
import hashlib
import os
import re
import subprocess
import sys

ARCHS = ['sm_75', 'sm_80', 'sm_86', 'sm_87', 'sm_89', 'sm_90', 'sm_100', 'sm_103', 'sm_110', 'sm_120']
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'cubins')
PTXAS = os.environ.get('GPUBPF_TEST_PTXAS') or '/usr/local/cuda/bin/ptxas'


def sha256(path):
    with open(path, 'rb') as f:
        return hashlib.sha256(f.read()).hexdigest()


def release():
    """Returns the release of ptxas, or None if ptxas is not installed."""
    if not os.access(PTXAS, os.X_OK):
        return None
    said = subprocess.run([PTXAS, '--version'], capture_output=True, text=True, check=True).stdout
    return re.search(r'release [\d.]+, V[\d.]+', said)[0]


def assemble(ptx, arch):
    """Returns the machine code. Uses a temporary file, since ptxas seeks in its output and cannot write to a pipe."""
    path = f'{ptx}.{arch}.{os.getpid()}'
    try:
        subprocess.run([PTXAS, '--gpu-name', arch, ptx, '-o', path], check=True)
        with open(path, 'rb') as f:
            return f.read()
    finally:
        if os.path.exists(path):
            os.remove(path)


def make(source, ptx):
    for path in glob.glob(os.path.join(FOLDER, '*.cubin')):
        os.remove(path)
    lines = ['# SPDX-License-Identifier: Apache-2.0', '# by tests/cli/conformance/cubins.py, of the source, by way of the PTX',
             f'source {sha256(source)}', f'ptx {sha256(ptx)}', f'ptxas {release()}']
    for arch in ARCHS:
        name = f'workload.{arch}.cubin'
        with open(os.path.join(FOLDER, name), 'wb') as f:
            f.write(assemble(ptx, arch))
        lines.append(f'{name} {sha256(os.path.join(FOLDER, name))}')
    with open(os.path.join(FOLDER, 'made'), 'w', encoding='ascii') as f:
        f.write('\n'.join(lines) + '\n')


def ok(good, name):
    ok.n += 1
    ok.failed |= not good
    print(f'{"ok" if good else "not ok"} {ok.n} - {name}')


def check_again(made, ptx):
    name = 'made again they are the same'
    if made['ptxas'] != release() or made['ptx'] != sha256(ptx):
        ok.n += 1
        print(f'ok {ok.n} - {name} # SKIP another ptxas, or clang: {release()}')
        return
    ok(all(hashlib.sha256(assemble(ptx, arch)).hexdigest() == made[f'workload.{arch}.cubin'] for arch in ARCHS), name)


def check(source, ptx, gpubpf):
    with open(os.path.join(FOLDER, 'made'), encoding='ascii') as f:
        made = dict(line.rstrip('\n').split(' ', 1) for line in f if not line.startswith('#'))
    paths = sorted(glob.glob(os.path.join(FOLDER, '*.cubin')))
    ok(made['source'] == sha256(source), 'they were made of this source (else: cubins.py make)')
    ok({os.path.basename(p): sha256(p) for p in paths} == {k: v for k, v in made.items() if k.endswith('.cubin')},
       'there are those that were made, and no others')
    ok([f'workload.{arch}.cubin' for arch in ARCHS] == [k for k in made if k.endswith('.cubin')], 'of each architecture one')
    for path in paths:
        with open(path, 'rb') as f:
            code = f.read()
        said = subprocess.run([gpubpf, 'kernel', 'inspect', path], capture_output=True, text=True, check=False).stdout
        name = os.path.basename(path)
        ok(b'__internal' not in code and b'__cuda_' not in code, f'{name}: no routine of the assembler\'s own')
        ok(re.search(r': (\d+) kernels, \1 can be probed', said), f'{name}: every kernel can be probed')
    check_again(made, ptx)
    print(f'1..{ok.n}')


ok.n, ok.failed = 0, False
if sys.argv[1] == 'make':
    make(*sys.argv[2:])
else:
    check(*sys.argv[2:])
    sys.exit(ok.failed)
