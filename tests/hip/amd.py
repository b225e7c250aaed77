# SPDX-License-Identifier: Apache-2.0
"""Functions that the tests of probes in AMD machine code share. The command line is TWIN LAUNCH CLANG OBJECT GFX.
They compile kernels for GFX, make twins with OBJECT's programs, and run both on a simulated GPU, with the launcher
that $GPUBPF_AMD_SIM names."""
import glob
import os
import re
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(here, '..'))
import simulated
from tap import ok, plan, ran, skip

twin, launch, clang, probe, gfx = sys.argv[1:6]
sim = os.environ.get('GPUBPF_AMD_SIM')
LANES = 64 if gfx.startswith('gfx9') else 32


def call(*args):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, errors='replace', timeout=60)


def line(text, key):
    """Returns the rest of a case's line "// KEY"."""
    found = re.search(r'^// ' + key + r' ?(.*)$', text, re.M)
    return found.group(1) if found else None


def shape(text):
    """Returns the number of threads in total, and per group."""
    return [int(word) for word in line(text, 'launch').split()]


def build(name, path, base):
    built = call(clang, '--target=amdgcn-amd-amdhsa', '-mcpu=' + gfx, '-x', 'cl', '-cl-std=CL2.0', '-nogpulib', '-O2', '-g', '-w',
                 '-mcode-object-version=4', '-I', os.path.dirname(path), '-I', os.path.join(here, '../../include'), '-include',
                 os.path.join(here, 'kernels/prelude.h'), path, '-o', base)
    return not built.returncode or ok(False, f'{name}: clang', built.stderr)


def make(name, base, where, why=None):
    """Makes a twin with programs at these places; why: expects a refusal. Returns the sizes of its arena; None: do
    not run it."""
    made = call(twin, gfx, base, probe, 'k', where, base + '.twin')
    refused = made.returncode or made.stdout.startswith('refused')
    if why:
        ok(made.stdout.startswith('refused') and why in made.stdout, f'{name}: refused, {why}', made.stdout + made.stderr)
    elif refused:
        ok(False, f'{name}: a twin', made.stdout + made.stderr)
    elif not sim or not launch:
        skip(f'{name}: runs', 'GPUBPF_AMD_SIM names no simulator, or this was built without hsa.h')
    return None if why or refused or not sim or not launch else made.stdout.strip()


def run(name, base, sizes, size, words):
    """Returns the programs' sums, a dict of these words for each element of their map; None: a failure, or no sizes."""
    if sizes is None:
        return None
    ran = simulated.twin(gfx, launch, base, base + '.twin', sizes, size)
    lines = ran.stdout.splitlines()
    if ran.returncode or len(lines) != 3:
        ok(False, f'{name}: runs', ran.stdout + ran.stderr)
        return None
    ok(lines[1] == 'same', f'{name}: the same words')
    told = [int(w) for w in lines[2].split()]
    return [dict(zip(words, told[i:i + len(words)])) for i in range(0, len(told), len(words))]


def each(folder, compiled, case):
    """Runs case(name, base, text) for folder/*.cl and these of kernels/, except cases that are // only for others."""
    with tempfile.TemporaryDirectory() as work:
        for path in sorted(glob.glob(os.path.join(here, folder, '*.cl'))) + [os.path.join(here, 'kernels', c) for c in compiled]:
            with open(path, encoding='utf-8') as f:
                text = f.read()
            name, base = f'{os.path.basename(path)[:-3]}, {gfx}', os.path.join(work, os.path.basename(path))
            only = line(text, 'only')
            if (not only or gfx in only.split()) and build(name, path, base):
                case(name, base, text)
    plan()
