# SPDX-License-Identifier: Apache-2.0
"""Functions that the tests of probes in AMD machine code share. The command line of these tests is TWIN LAUNCH CLANG
OBJECT GFX. They compile kernels for GFX, make twins with OBJECT's programs, and run kernels and twins on a simulated
GPU, with the launcher that $GPUBPF_AMD_SIM names."""
import glob
import os
import re
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(here, '../..'))
import simulated
from tap import ok, plan, ran, skip

twin, launch, clang, probe, gfx = sys.argv[1:6]
sim = os.environ.get('GPUBPF_AMD_SIM')
LANES = 64 if gfx.startswith('gfx9') else 32


def call(*args):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, errors='replace', timeout=60)


def kernel_path(name):
    return glob.glob(os.path.join(here, 'kernels/**', name), recursive=True)[0]


def line(text, key):
    """Returns the text after KEY in the case's line "// KEY", or None if there is no such line."""
    found = re.search(r'^// ' + key + r' ?(.*)$', text, re.M)
    return found.group(1) if found else None


def shape(text):
    """Returns the numbers of the case's launch line: threads in total per dimension, then threads per work-group."""
    return [int(word) for word in line(text, 'launch').split()]


def build(name, path, base):
    built = call(clang, '--target=amdgcn-amd-amdhsa', '-mcpu=' + gfx, '-x', 'cl', '-cl-std=CL2.0', '-nogpulib', '-O2', '-g', '-w',
                 '-mcode-object-version=4', '-I', os.path.dirname(path), '-I', os.path.join(here, '../../../include'), '-include',
                 os.path.join(here, 'kernels/prelude.h'), path, '-o', base)
    return not built.returncode or ok(False, f'{name}: clang', built.stderr)


def make(name, base, where, why=None):
    """Makes a twin with programs at these places. If `why` is set, expects a refusal with that reason. Returns the
    sizes of the twin's arena, or None if the twin must not be run."""
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
    """Runs the twin. Returns the programs' sums: for each element of their map a dict with the keys `words`. Returns
    None if the run failed, or if sizes is None."""
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
    """Runs case(name, base, text) for folder/*.cl and for the kernels/ in `compiled`, except for cases whose line
    "// only" names other processors."""
    with tempfile.TemporaryDirectory() as work:
        for path in sorted(glob.glob(os.path.join(here, folder, '*.cl'))) + [kernel_path(c) for c in compiled]:
            with open(path, encoding='utf-8') as f:
                text = f.read()
            name, base = f'{os.path.basename(path)[:-3]}, {gfx}', os.path.join(work, os.path.basename(path))
            only = line(text, 'only')
            if (not only or gfx in only.split()) and build(name, path, base):
                case(name, base, text)
    plan()
