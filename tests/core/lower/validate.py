#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""validate.py EMIT CLANG INCLUDE INTERP FOLDER [all]: checks lowered programs with each target's own tools.

INTERP is the folder tests/cli/conformance, whose cases are lowered unverified, all in one module. The oldest and
the newest processor of a family get all these cases. Processors in between get only one case per kind of
instruction; with `all` they get all cases too. The cases of this folder and the objects below FOLDER are loaded,
verified and lowered. A case with the words `mcpu v4` is compiled for v4 instead of v3. The folder filecheck has the
required text of some cases."""
import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
from tap import ok, plan, skip

emit, clang, include, interp, objects = sys.argv[1:6]
everything = sys.argv[6:] == ['all']
here = os.path.dirname(os.path.abspath(__file__))

ptxas = shutil.which('ptxas') or ('/usr/local/cuda/bin/ptxas' if os.path.exists('/usr/local/cuda/bin/ptxas') else None)
readelf = shutil.which('llvm-readelf-22')
objdump = shutil.which('llvm-objdump-22')
val = shutil.which('spirv-val')
dis = shutil.which('spirv-dis')

# the first uses a hash map and summed maps, the second a ring buffer and events
REPEATED = ['cuda-counter', 'kernelretsnoop']

TARGETS = [('spirv', '-', val), ('llvm', '-', 'none'), ('clc', '-', 'none')]
TARGETS += [('ptx', cpu, ptxas) for cpu in ('sm_75', 'sm_80', 'sm_90', 'sm_100')]
TARGETS += [('amdgpu', cpu, readelf and objdump) for cpu in ('gfx90a', 'gfx942', 'gfx1100', 'gfx1201')]

# The oldest and the newest processor of each family get all cases; in between, one case per kind of instruction is
# enough.
ENDS = [t for t in TARGETS if t[1] in ('-', 'sm_75', 'sm_100', 'gfx90a', 'gfx1201')]


def call(*args, **more):
    return subprocess.run(args, capture_output=True, text=True, errors='replace', timeout=800, **more)


def own_address(text, pointer):
    """Returns True if the pointer is computed from the lane's LocalInvocationId."""
    made = dict(re.findall(r'^ *(%\w+) = (.*)', text, re.M))
    seen, todo = set(), [pointer]
    while todo:
        of = todo.pop()
        if of == '%__spirv_BuiltInLocalInvocationId':
            return True
        if of not in seen:
            seen.add(of)
            todo += re.findall(r'%\w+', made.get(of, ''))
    return False


def check_spirv(path):
    run = call(val, '--target-env', 'spv1.4', path)
    text = call(dis, '--no-header', path).stdout if dis else ''
    names = re.findall(r'BuiltIn (\w+)', text)
    if len(names) != len(set(names)):
        return 'a BuiltIn has two variables: ' + ' '.join(sorted(names))
    if re.search(r'OpFunction .*DontInline', text):
        return 'a function is marked DontInline'
    if re.search(r'OpCompositeInsert', text):
        return 'there are structures in registers, of which LLVM 22 reads any member'
    if not all(own_address(text, p) for p in re.findall(r'OpAtomicCompareExchange %\w+ (%\w+)', text)):
        return "a compare-exchange's address is the same in all lanes: Intel's CPU runtime may do it once, before the loop that it is in"
    if re.search(r'OpMemoryBarrier (?!%\w+ %uint_520\b)', text):
        return 'a barrier is not of global memory, acquires and releases'
    if re.search(r'OpTypePointer Generic', text):
        return 'there are generic pointers'
    if not re.search(r'OpDecorate %gpubpf_site_0 LinkageAttributes "gpubpf_site_0" Export', text):
        return 'gpubpf_site_0 is not exported'
    return run.stdout + run.stderr if run.returncode else None


def check_ptx(path, cpu):
    run = call(ptxas, '-arch=' + cpu, path, '-o', '/dev/null')
    return run.stdout + run.stderr if run.returncode else None


def check_amdgpu(path, cpu):
    run = call(readelf, '-h', '-n', '-S', '--syms', path)
    if run.returncode or 'EM_AMDGPU' not in run.stdout or cpu not in run.stdout or run.stderr:
        return run.stdout[:600] + run.stderr
    run = call(objdump, '-d', '--mcpu=' + cpu, path)
    if run.returncode or run.stderr or '<unknown>' in run.stdout:
        return run.stderr or 'there are bytes that do not disassemble'
    return None


def check(target, cpu, path):
    if target == 'spirv':
        return check_spirv(path)
    if target == 'ptx':
        return check_ptx(path, cpu)
    if target == 'amdgpu':
        return check_amdgpu(path, cpu)
    return None if os.path.getsize(path) else 'nothing came out'


def emitted(how, targets, args, stdin=None):
    """Emits for all targets in one process; returns {(target, cpu): (output file or None, reason for a refusal)}."""
    out = tempfile.mkdtemp(dir=folder)
    files = {(target, cpu): os.path.join(out, target + cpu) for target, cpu in targets}
    run = call(emit, *how, *(word for of, path in files.items() for word in (*of, path)), *args, input=stdin)
    whys = {of: path + '.refused' if len(files) > 1 else None for of, path in files.items()}
    refusals = {of: open(why, encoding='utf-8').read() if why and os.path.exists(why) else run.stderr for of, why in whys.items()}
    return {of: (path if os.path.exists(path) else None, refusals[of] or f'exit status {run.returncode}') for of, path in files.items()}


def one(title, target, cpu, out):
    path, said = out
    wrong = check(target, cpu, path) if path else said
    ok(not wrong, title, wrong or '')


def each(name, args, stdin=None, targets=TARGETS):
    asked = [(target, cpu) for target, cpu, tool in targets if tool]
    outs = emitted(['-k'], asked, args, stdin) if asked else {}
    for target, cpu, tool in targets:
        if tool:
            one(f'{name}: {target}' + ('' if cpu == '-' else ' ' + cpu), target, cpu, outs[target, cpu])
        else:
            skip(f'{name}: {target} {cpu}', f'the checker of {target} is not installed')


def kinds(code):
    """Yields the kind of each instruction of a program: its bytes without registers and constants."""
    for op, registers, offset, imm in struct.iter_unpack('<BBhi', code):
        arithmetic, call, atomic, bytes_swapped = op & 7 in (4, 7), op == 0x85, op & 0xe7 == 0xc3, op in (0xd4, 0xd7, 0xdc)
        yield op, registers >> 4 if call else 0, offset if arithmetic else 0, imm if call or atomic or bytes_swapped else 0


def opcodes():
    """Returns two lists of programs of tests/cli/conformance, as lines of hex: all programs, and a subset. The subset
    has the shortest programs that together contain every kind of instruction."""
    sys.path.insert(0, interp)
    import assemble  # pylint: disable=import-outside-toplevel,import-error
    cases, few, seen = assemble.read(clang), [], set()
    for case in sorted(cases, key=lambda case: len(case['hex'])):
        new = set(kinds(bytes.fromhex(case['hex']))) - seen
        few += [case] * bool(new)
        seen |= new
    return [''.join(case['hex'] + '\n' for case in some) for some in (cases, few)]


def repeated(path):
    """Checks that the tenth module of a worker equals its first: LLVM must keep no state between modules."""
    for target in ('spirv', 'ptx', 'amdgpu'):
        outs = [os.path.join(folder, 'first'), os.path.join(folder, 'last')]
        runs = [call(emit, '-r', '0', target, '-', outs[0], path), call(emit, '-r', '10', target, '-', outs[1], path)]
        good = all(run.returncode == 0 for run in runs)
        good = good and open(outs[0], 'rb').read() == open(outs[1], 'rb').read()
        ok(good, f'{os.path.basename(path)}: {target}, again and again', ''.join(run.stderr for run in runs))


with tempfile.TemporaryDirectory() as folder:
    cases = sorted(os.listdir(os.path.join(here, 'cases')))
    for case in cases:
        path, compiled = os.path.join(here, 'cases', case), os.path.join(folder, case + '.o')
        source = open(path, encoding='utf-8').read()
        run = call(clang, '-g', '-O2', '-Wall', '-Werror', '-target', 'bpf', '-mcpu=v4' if 'mcpu v4' in source else '-mcpu=v3',
                   '-I', include, '-c', path, '-o', compiled)
        if run.returncode:
            ok(False, case, run.stderr)
            continue
        each(case.split('.')[0], [compiled])
    for path in sorted(glob.glob(os.path.join(objects, '*', '*.bpf.o'))):
        each(os.path.basename(path).split('.')[0], [path], targets=ENDS)
    for name in REPEATED:
        repeated(os.path.join(objects, name, name + '.bpf.o'))
    whole, few = opcodes()
    each('every instruction', ['-'], whole, targets=TARGETS if everything else ENDS)
    each('one of every instruction', ['-'], few, targets=[] if everything else [t for t in TARGETS if t not in ENDS])
plan()
