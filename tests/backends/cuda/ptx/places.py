# SPDX-License-Identifier: Apache-2.0
"""places.py TOOL OBJECT... -- IMAGE...: tests the places of single instructions in PTX.

TOOL (places.c) makes a twin of each kernel of an image for each kind of place; its probe writes down its context. ptxas
must accept the twin. An interpreter (ptx_run.py) runs the kernel and the twin. Both must leave the same memory, and the
probe's records must equal the accesses that the interpreter saw in the kernel, in their order. The same holds for
barriers, branches, and the begin and end of blocks. Their numbers per warp must be those that the image's comments
state:
    // KERNEL KIND ACCESSES:BYTES ... or KERNEL KIND refused WORDS; instead of bytes the sum of barriers' ids, branches taken
Lines "//= KERNEL KIND ID LINE NAME" state the names of its places of lines and marks, and of some instructions. An
IMAGE may be random:SEED (places_random.py), or many:N, with N accesses by two lanes: more places than the twin has
inlined copies. The worker also makes twins with the programs of the OBJECTs; their maps must hold the sums over the
same accesses."""
import functools
import os
import re
import subprocess
import sys
import tempfile

import places_random
import ptx_run

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../..'))
from tap import ok, plan, ran, skip

SEEN = {'mem': (1,), 'mem_before': (1,), 'mem.shared': (2,), 'mem.local': (3,), 'mem.const': (4,),
        'mem.all': (0, 1, 2, 3, 4), 'mem_before.all': (0, 1, 2, 3, 4)}
SEEN['mem.capture'] = SEEN['mem']
SEEN['atomic'] = SEEN['mem.all']
PROGRAMS = {'mem': 'global', 'mem_before': 'by_access', 'mem.all': 'all', 'atomic': 'atomics', 'barrier': 'barriers', 'barrier_exit': 'passed',
            'branch': 'branches', 'block_begin': 'begun', 'block_end': 'ended', 'mem.shared': 'halves',
            'mem.local': 'at_once', 'mem_before.all': 'keyed', 'insn': 'insns', 'line': 'lines', 'mark': 'marks', 'mem.capture': 'captured'}
SUMMED = {'insn': 'operand', 'mark': 'mark', 'line': 'line', 'barrier': 'barrier.id', 'barrier_exit': 'barrier.id', 'branch': 'branch.taken'}
NAMED = 'insn', 'line', 'mark'
KEEP = {'revisits': 8, 'shared': 0} # per kernel: number of places in loops that accumulate adds to one of many map values
LARGE = [] # one bool per twin: true if a sum that is added to one of many map values exceeds 32 bits
KIND = r'((?:mem|atomic|barrier|branch|block|insn|line|mark)[\w.]*)'
MEETING = 'once', 'once_behind', 'sized' # kernels with one exit and without synchronising instructions
BLOCKS = [{}, {'backwards': True}, {'shape': (8, 2, 2)}, {'shape': (4, 8, 1), 'backwards': True}]


def ptxas():
    named = os.environ.get('GPUBPF_TEST_PTXAS')
    for path in [named] if named else ['/usr/local/cuda/bin/ptxas', '/usr/local/bin/ptxas', '/usr/bin/ptxas']:
        if os.access(path, os.X_OK):
            return path
    return None


def assemble(what, paths, arch):
    if not ptxas():
        skip(f'{what}: ptxas takes the twins', 'no ptxas here; GPUBPF_TEST_PTXAS names one')
        return
    bad = []
    for path in paths:
        run = subprocess.run([ptxas(), '-O0', '-arch=' + arch, '-o', '/dev/null', path], capture_output=True, text=True)
        if run.returncode:
            bad.append(os.path.basename(path) + ': ' + run.stderr)
    ok(not bad, f'{what}: ptxas takes {len(paths)} twins for {arch}', '\n'.join(bad))


as_it_is = functools.lru_cache(ptx_run.run)


def read_records(machine, words):
    """Yields the records that the probes wrote to gpubpf_log."""
    at = machine.variables['gpubpf_log'] - ptx_run.GLOBAL
    data, n = machine.global_, 8 * (len(words) + 1)
    size = int.from_bytes(data[at:at + 8], 'little')
    for first in range(at + 8, at + 8 + size, n):
        values = [int.from_bytes(data[i:i + 8], 'little') for i in range(first, first + n, 8)]
        yield dict(zip(words, values[1:]))


HINTS = {'ca': 1, 'wb': 1, 'cg': 2, 'cs': 4, 'evict_first': 4, 'lu': 8, 'cv': 16, 'wt': 16, 'evict_last': 32, 'evict_unchanged': 64,
         'no_allocate': 128, 'nc': 256, 'volatile': 512, 'cache_hint': 1024}


def expected_records(machine, kind):
    """Yields the records that the probes must write, each with the instruction that causes it."""
    for what, lane, told_of, line, insn in machine.others:
        if what == kind and kind in NAMED:
            yield {'line': line, **told_of}, insn
        elif what == kind:
            yield {'line': line, **{f'{kind.split("_")[0]}.{k}': v for k, v in told_of.items()}}, insn
    for lane, access, space, addr, offset, size, elements, value, line, insn, *more in machine.accesses:
        if space in SEEN.get(kind, ()) and (kind != 'atomic' or access == 3):
            yield {**(dict(zip(('atomic.op', 'atomic.operand', 'atomic.old'), more[0])) if kind == 'atomic' else {}),
                   'line': line, 'mem.addr': addr, 'mem.offset': offset, 'mem.value': value & (1 << 64) - 1,
                   'mem.value+': value >> 64, 'mem.bytes': size, 'mem.access': access, 'mem.space': space,
                   'mem.count': elements, 'mem.hint': sum({HINTS.get(m.split('::')[-1], 0) for m in insn.mods})}, insn


def compare(name, kind, text, twin, words, expected):
    plain, probed = as_it_is(text, name, named=kind in NAMED), ptx_run.run(text, name, twin)
    seen = list(expected_records(plain, kind))
    got = list(read_records(probed, words))
    if name.startswith('calls') and kind == 'insn': # the insn place of a call with results precedes the call
        seen.sort(key=lambda s: str(sorted(s[0].items())))
        got.sort(key=lambda g: str(sorted((k, v) for k, v in g.items() if k != 'place')))
    ids = {} # instruction of each place id; each function numbers its own places
    wrong = [(g, s) for g, (s, i) in zip(got, seen) if any(g[k] != v for k, v in s.items()) or
             not name.startswith('calls') and
             ids.setdefault(g['place'], (i, s.get('mem.access'))) != (i, s.get('mem.access'))]
    ok(not wrong and len(got) == len(seen), f'{name}: gpu/{kind}/ has been told of each, {len(seen)}',
       wrong[:2] or f'{len(got)}')
    if name == 'calls_insns' and kind == 'insn':
        within = re.search(r'st\.param\.b32 \[given\].*ld\.param\.b32 %r2', twin, re.S)
        ok(within and '%gpubpf_' not in within[0], f'{name}: no code stands within a call', within and within[0])
    n = f'{len(got)}:{sum(g[SUMMED.get(kind, "mem.bytes")] for g in got)}'
    ok(n == expected, f'{name}: gpu/{kind}/ {expected}', n)
    ok(plain.global_[:plain.own] == probed.global_[:plain.own] and plain.const[:plain.next['const']] ==
       probed.const[:plain.next['const']], f'{name}: with gpu/{kind}/ the results are the same')


def compare_blocks(name, kind, text, twin, expected):
    """A block event must occur once. block_begin occurs in the first lane, before any lane has left. block_end occurs
    in the last lane, after all others have left or wait at the final barrier."""
    met = kind == 'block_end' and name in MEETING
    if kind == 'block_end':
        ok(('gpubpf_lanes' not in twin) == met, f'{name}: lanes are{" not" if met else ""} counted')
    for how in BLOCKS:
        plain, probed = as_it_is(text, name, **how), ptx_run.run(text, name, twin, **how)
        begins = [probed.notes[0][0] == 0] if kind == 'block_begin' else [probed.notes[0][1] + (probed.notes[0][2] if met else 0) == 31] if probed.notes else []
        ok(f'{len(probed.notes)}:0' == expected and all(begins), f'{name}: gpu/{kind}/ {how}', probed.notes[:4])
        ok(plain.global_[:plain.own] == probed.global_[:plain.own], f'{name}: with gpu/{kind}/ {how} the results are the same')


def programs(name, kind, text, where):
    # the objects memory.bpf.c and control.bpf.c have a map for each of these kinds
    path = f'{where}/{name}.{kind}.worker'
    if not os.path.exists(path):
        ok(False, f'{name}: the worker makes a twin for gpu/{kind}/')
        return
    arena, *maps = open(f'{where}/maps', encoding='ascii').read().splitlines()
    plain = as_it_is(text, name, named=kind in NAMED)
    twin = open(path, encoding='ascii').read()
    probed = ptx_run.run(text, name, twin, int(arena))
    data, copies, stride = next([int(v) for v in m.split()[1:]] for m in maps if m.split()[0] == PROGRAMS[kind])
    first = probed.arena - ptx_run.GLOBAL + data
    width, n = {'mem.shared': (4, 2), 'mem_before': (8, 4), 'mem_before.all': (8, 64)}.get(kind, (8, 3))
    copied = [probed.global_[at:at + width * n] for at in range(first, first + copies * stride, stride)]
    got = [sum(int.from_bytes(v[i:i + width], 'little') for v in copied) & (1 << 8 * width) - 1
           for i in range(0, n * width, width)]
    weights = {'barrier.id': 23, 'barrier.kind': 29, 'branch.taken': 31, 'branch.lanes': 37, 'branch.active': 41,
               'atomic.op': 43, 'atomic.operand': 47, 'atomic.old': 53, 'mem.addr': 1, 'mem.offset': 3, 'mem.value': 5, 'mem.value+': 7, 'mem.access': 11, 'mem.space': 13,
               'mem.count': 17, 'line': 19, 'operand': 59, 'operand+7': 61, 'mark': 67}
    if kind == 'mem.capture':
        weights = {'mem.addr': 1, 'mem.access': 11}
    seen = [{}] if kind.startswith('block') else [s for s, i in expected_records(plain, kind)]
    sums = [len(seen), sum(s.get('mem.bytes', 0) for s in seen),
            sum(s.get(k, 0) * weight for s in seen for k, weight in weights.items()) & (1 << 64) - 1]
    if kind == 'mem_before':
        sums = [sum(s['mem.bytes'] for s in seen if s['mem.access'] == access) for access in range(4)]
    if kind == 'mem_before.all':
        sums = [sum(s['mem.bytes'] for s in seen if s['mem.offset'] >> 5 & 63 == key) * (0x155555555 if key & 2 else 0x15555555)
                for key in range(64)]
        LARGE.append(any(sum_ >> 32 for sum_ in sums))
    ok(got == sums[:n], f'{name}: gpu/{kind}/ by a program', f'{got} {sums}')
    if kind == 'mem_before.all':
        declared = len(re.findall(r'^\.reg \.b32 %gpubpf_key8_\d+_\d+;', twin, re.M))
        ok(declared == KEEP.get(name, declared), f'{name}: gpu/{kind}/ {declared} of its places keep a sum')
        return
    kept = not kind.startswith('block') and kind not in ('mem.local', 'barrier_exit') and '.func ends(' not in text and not name.startswith('many')
    ok(('%gpubpf_sum' in twin) == kept or not seen, f'{name}: gpu/{kind}/ its sums are{"" if kept else " not"} kept')


def image(tool, objects, path):
    text = open(path, encoding='ascii').read()
    arch = re.search(r'\.target\s+(\w+)', text)[1]
    with tempfile.TemporaryDirectory() as where:
        subprocess.run([tool, path, where, *objects], check=True)
        words = {line.split()[1]: line.split()[2:] for line in open(f'{where}/words', encoding='ascii')}
        said = [(line.split(' ', 1)[0], re.findall(KIND + r' (refused [^,]*|\d+:\d+)', line))
                for line in re.findall(r'^// (\w+ (?:mem|atomic|barrier|branch|block|insn|line|mark).*)', text, re.M)]
        names = re.findall(r'^//= (.*)', text, re.M)
        listed = open(f'{where}/names', encoding='ascii').read().splitlines()
        ok(not names or names == [n for n in listed if n.split()[1] != 'insn' or n in names],
           f'{os.path.basename(path)}: names of places', '\n'.join(listed))
        for end, of in ('.ptx', ''), ('.worker', ', by the worker'):
            taken = [f'{where}/{name}.{kind}{end}' for name, expected in said for kind, value in expected
                     if ':' in value and (not kind.startswith('mem') or kind.endswith('all'))]
            assemble(os.path.basename(path) + of, [t for t in taken if os.path.exists(t)], arch)
        for name, expected in said:
            for kind, value in expected:
                base = f'{where}/{name}.{kind}'
                if value.startswith('refused'):
                    why = open(base + '.refused').read() if os.path.exists(base + '.refused') else 'it was taken'
                    ok(value[8:].strip() in why, f'{name}: gpu/{kind}/ {value}', why)
                elif os.path.exists(base + '.refused'):
                    ok(False, f'{name}: gpu/{kind}/ {value}', open(base + '.refused').read())
                else:
                    try:
                        twin = open(base + '.ptx').read()
                        if kind.startswith('block'):
                            compare_blocks(name, kind, text, twin, value)
                        else:
                            compare(name, kind, text, twin, words[kind], value)
                        if kind in PROGRAMS:
                            programs(name, kind, text, where)
                        if value != '0:0':
                            ran('ptx', re.match(r'(?:mem|mem_before)\.[a-z]+|[a-z_]+', kind)[0])
                    except (KeyError, ValueError, AttributeError, StopIteration) as error:
                        ok(False, f'{name}: gpu/{kind}/ is interpreted', repr(error))


def expected_of(machine, kind):
    if kind.startswith('block'):
        return '1:0'
    seen = [s for s, _ in expected_records(machine, kind)]
    return f'{len(seen)}:{sum(s[SUMMED.get(kind, "mem.bytes")] for s in seen)}'


def random_image(tool, objects, seed):
    with tempfile.TemporaryDirectory() as made:
        path = f'{made}/random-{seed}.ptx'
        with open(path, 'w', encoding='ascii') as out:
            out.write(places_random.image(int(seed), expected_of))
        image(tool, objects, path)


def many_image(tool, objects, n):
    accesses = '\n'.join(f'ld.global.u32 %r2, [%rd1+{4 * (i % 50)}];\nst.global.u16 [%rd1+{4 * (i % 60)}], %r1;' for i in range(n // 2))
    text = f"""//
// many mem.all {2 * n}:{6 * n}
.version 7.4
.target sm_80
.address_size 64
.visible .entry many(.param .u64 a)
{{
.reg .pred %p<2>;
.reg .b32 %r<3>;
.reg .b64 %rd<3>;
ld.param.u64 %rd1, [a];
mov.u32 %r1, %tid.x;
setp.gt.u32 %p1, %r1, 1;
@%p1 ret;
mul.wide.u32 %rd2, %r1, 256;
add.s64 %rd1, %rd1, %rd2;
{accesses}
ret;
}}
"""
    with tempfile.TemporaryDirectory() as where:
        path = f'{where}/many.ptx'
        with open(path, 'w', encoding='ascii') as out:
            out.write(text)
        subprocess.run([tool, path, where, *objects], check=True)
        programs('many', 'mem.all', text, where)
        with open(f'{where}/many.mem.all.worker', encoding='ascii') as f:
            calls = f.read().count('call gpubpf_shared_0,')
        ok(calls == n, f'{n} places: one copy of the program, which is called', calls)
        assemble('many', [f'{where}/many.mem.all.worker'], 'sm_80')


first = sys.argv.index('--')
for file in sys.argv[first + 1:]:
    if file.startswith('many:'):
        many_image(sys.argv[1], sys.argv[2:first], int(file.split(':')[1]))
    elif file.startswith('random:'):
        random_image(sys.argv[1], sys.argv[2:first], file.split(':')[1])
    else:
        image(sys.argv[1], sys.argv[2:first], file)
ok(any(LARGE) or len(sys.argv) - first < 3, f'sums of many values beyond 32 bits in {sum(LARGE)} of {len(LARGE)} twins')
plan()
