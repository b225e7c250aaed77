#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""validate.py EMIT CLANG INCLUDE INTERP FOLDER [all]: checks lowered programs with each target's own tools.

INTERP: the folder tests/conformance, whose cases are lowered unverified, all in one module. Targets inside of a family
get only one case per instruction; with `all` they get the same as the family's ends. The cases of this folder and the
objects below FOLDER are loaded, verified and lowered. Comments in a case may state the required output:

    expect TARGET COUNT REGEX        COUNT: a number, or <N for fewer
    refuse TARGET REGEX              the message that the target must give
    mcpu v4                          compiled for v4 instead of v3"""
import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import ok, plan, skip

emit, clang, include, interp, objects = sys.argv[1:6]
everything = sys.argv[6:] == ['all']
here = os.path.dirname(os.path.abspath(__file__))

ptxas = shutil.which('ptxas') or ('/usr/local/cuda/bin/ptxas' if os.path.exists('/usr/local/cuda/bin/ptxas') else None)
readelf = shutil.which('llvm-readelf-22')
objdump = shutil.which('llvm-objdump-22')
val = shutil.which('spirv-val')
dis = shutil.which('spirv-dis')

REPEATED = ['cuda-counter', 'kernelretsnoop']  # a hash map and sums, a ring and events

TARGETS = [('spirv', '-', val), ('llvm', '-', 'none'), ('clc', '-', 'none')]
TARGETS += [('ptx', cpu, ptxas) for cpu in ('sm_75', 'sm_80', 'sm_90', 'sm_100')]
TARGETS += [('amdgpu', cpu, readelf and objdump) for cpu in ('gfx90a', 'gfx942', 'gfx1100', 'gfx1201')]

# the oldest and the newest of each family: the cases, and all instructions, cover the differences between them
ENDS = [t for t in TARGETS if t[1] in ('-', 'sm_75', 'sm_100', 'gfx90a', 'gfx1201')]


def call(*args, **more):
    return subprocess.run(args, capture_output=True, text=True, errors='replace', timeout=800, **more)


def own_address(text, pointer):
    """Does the pointer depend on the lane's LocalInvocationId?"""
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


def readable(target, path):
    if target == 'spirv':
        return call(dis, path).stdout if dis else None
    if target == 'amdgpu':
        return call(objdump, '-d', path).stdout
    return open(path, encoding='utf-8').read()


def read_expectations(source, target):
    """Returns (count, regex) of the expect lines, and the regex of the refuse line."""
    expects = [(n, rx) for t, n, rx in re.findall(r'expect (\w+) (\S+) (.+?)(?: \*/)?$', source, re.M) if t == target]
    refuse = [rx for t, rx in re.findall(r'refuse (\w+) (.+?)(?: \*/)?$', source, re.M) if t == target]
    return expects, refuse[0] if refuse else None


def compare(text, expects):
    for number, regex in expects:
        found = len(re.findall(regex, text, re.M))
        if not (found < int(number[1:]) if number[0] == '<' else found == int(number)):
            return f'{found} times {regex}, expected {number}'
    return None


def emitted(how, targets, args, stdin=None):
    """Returns by target and CPU: the output file, and the reason if there is none. One process emits all."""
    out = tempfile.mkdtemp(dir=folder)
    files = {(target, cpu): os.path.join(out, target + cpu) for target, cpu in targets}
    run = call(emit, *how, *(word for of, path in files.items() for word in (*of, path)), *args, input=stdin)
    whys = {of: path + '.refused' if len(files) > 1 else None for of, path in files.items()}
    refusals = {of: open(why, encoding='utf-8').read() if why and os.path.exists(why) else run.stderr for of, why in whys.items()}
    return {of: (path if os.path.exists(path) else None, refusals[of] or f'exit status {run.returncode}') for of, path in files.items()}


def one(title, target, cpu, out, readable_out, source):
    (path, said), (expects, refuse) = out, read_expectations(source, target)
    if refuse or not path:
        ok(refuse and not path and re.search(refuse, said), title + (' is refused' if refuse else ''), said)
        return
    wrong = check(target, cpu, path)
    if not wrong and expects:
        again, said = readable_out
        wrong = None if again else said
        text = readable(target, again) if again else None
        wrong = wrong or (compare(text, expects) if text is not None else None)
    ok(not wrong, title, wrong or '')


def each(name, source, args, stdin=None, targets=TARGETS):
    asked = [(target, cpu) for target, cpu, tool in targets if tool]
    outs = emitted(['-k'], asked, args, stdin) if asked else {}
    read = [of for of in asked if read_expectations(source, of[0])[0] and outs[of][0]]
    texts = emitted([], read, args) if read else {}
    for target, cpu, tool in targets:
        if tool:
            title = f'{name}: {target}' + ('' if cpu == '-' else ' ' + cpu)
            one(title, target, cpu, outs[target, cpu], texts.get((target, cpu)), source)
        else:
            skip(f'{name}: {target} {cpu}', f'the checker of {target} is not installed')


def kinds(code):
    """Yields the kinds of a program's instructions, ignoring registers and constants."""
    for op, registers, offset, imm in struct.iter_unpack('<BBhi', code):
        arithmetic, call, atomic, bytes_swapped = op & 7 in (4, 7), op == 0x85, op & 0xe7 == 0xc3, op in (0xd4, 0xd7, 0xdc)
        yield op, registers >> 4 if call else 0, offset if arithmetic else 0, imm if call or atomic or bytes_swapped else 0


def opcodes():
    """Returns the programs of tests/conformance as lines of hex; and a subset, the shortest first: programs with a
    kind of instruction that no earlier one has."""
    sys.path.insert(0, interp)
    import assemble  # pylint: disable=import-outside-toplevel,import-error
    cases, few, seen = assemble.read(clang), [], set()
    for case in sorted(cases, key=lambda case: len(case['hex'])):
        new = set(kinds(bytes.fromhex(case['hex']))) - seen
        few += [case] * bool(new)
        seen |= new
    return [''.join(case['hex'] + '\n' for case in some) for some in (cases, few)]


def repeated(path):
    """a worker's tenth module equals its first: LLVM keeps no state between them"""
    for target in ('spirv', 'ptx', 'amdgpu'):
        outs = [os.path.join(folder, 'first'), os.path.join(folder, 'last')]
        runs = [call(emit, '-r', '0', target, '-', outs[0], path), call(emit, '-r', '10', target, '-', outs[1], path)]
        good = all(run.returncode == 0 for run in runs)
        good = good and open(outs[0], 'rb').read() == open(outs[1], 'rb').read()
        ok(good, f'{os.path.basename(path)}: {target}, again and again', ''.join(run.stderr for run in runs))


def called(path):
    """functions that CPU compilers would inline at a high cost are marked noinline there; other devices get no mark"""
    for target, regex in (('spirv', r'OpFunction .*DontInline'), ('clc', r'noinline\)\) static s64 gpubpf_map\d+_update')):
        for how, title, times in ((['-x'], 'once on a CPU', 1), ([], 'nowhere else', 0)):
            out = os.path.join(folder, 'called')
            run = call(emit, *how, target, '-', out, path)
            text = readable(target, out)
            if text is None:
                skip(f'large operations are functions: {target}, {title}', 'spirv-dis is not installed')
            else:
                ok(not run.returncode and len(re.findall(regex, text)) == times, f'large operations are functions: {target}, {title}', run.stderr)


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
        each(case.split('.')[0], source, [compiled])
        if case == 'prefixes.bpf.c':
            called(compiled)
    for path in sorted(glob.glob(os.path.join(objects, '*', '*.bpf.o'))):
        each(os.path.basename(path).split('.')[0], '', [path], targets=ENDS)
    for name in REPEATED:
        repeated(os.path.join(objects, name, name + '.bpf.o'))
    whole, few = opcodes()
    each('every instruction', '', ['-'], whole, targets=TARGETS if everything else ENDS)
    each('one of every instruction', '', ['-'], few, targets=[] if everything else [t for t in TARGETS if t not in ENDS])
plan()
