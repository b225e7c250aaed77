# SPDX-License-Identifier: Apache-2.0
"""flat.py TOOL OBJECT: a twin with the programs of OBJECT (flat.bpf.c) has a second form for one-dimensional launches.
TOOL (places.c) lets the worker make the twins. ptx_run.py interprets both forms. They must leave the same memory of
maps and application, and the second form must read no other axis than x. Three kinds of kernels have no second form:
long kernels, kernels that declare a block of several dimensions, and kernels without a program at the first or last
lane of a block."""
import os
import re
import subprocess
import sys
import tempfile

import ptx_run

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../..'))
from tap import ok, plan

FORM = '$gpubpf_flat'
HEAD = '''.version 7.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 total[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
.shared .align 4 .b8 room[256];
.func fetch(.param .b64 at)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [at];
	ld.global.u32 %r1, [%rd1];
	st.global.u32 [%rd1+4], %r1;
	ret;
}
'''
TOP = '''	.reg .pred %p, %q;
	.reg .b32 %r<8>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [a];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd1, %rd1, %rd2;
'''
BODIES = {
    'straight': '''	setp.ge.u32 %p, %r1, 30;
	@%p bra $end;
	ld.global.u32 %r2, [%rd1];
	ld.global.u32 %r3, [%rd1+4096];
	add.u32 %r2, %r2, %r3;
	st.global.u32 [%rd1+8192], %r2;
$end:
''',
    'parted': '''	setp.lt.u32 %p, %r1, 5;
	@%p ret;
	ld.global.u32 %r2, [%rd1];
	setp.gt.u32 %q, %r1, 30;
	@%q bra $last;
	ret;
$last:
	st.global.u32 [%rd1+8192], %r2;
''',
    'waits': '''	.shared .align 4 .b8 own[256];
	mov.u32 %r4, own;
	st.shared.u32 [%r4], %r1;
	st.shared.u32 [room], %r1;
	bar.sync 0;
	ld.shared.u32 %r2, [room];
	st.global.u32 [%rd1+8192], %r2;
''',
    'bound': '''	ld.global.u32 %r2, [total+8];
	mov.u64 %rd3, total;
	st.global.u32 [%rd3+12], %r2;
	{
		.param .b64 at;
		st.param.b64 [at], %rd1;
		call fetch, (at);
	}
''',
    'long': '	add.u32 %r1, %r1, 1;\n' * 260,
}

tool, program = sys.argv[1:]


def twin_of(name, kinds, states=''):
    text = f'{HEAD}// {name} at_once {kinds} \n.visible .entry {name}(.param .u64 a)\n{states}\n{{\n{TOP}{BODIES[name]}\tret;\n}}\n'
    with tempfile.TemporaryDirectory() as where:
        with open(f'{where}/in', 'w', encoding='ascii') as f:
            f.write(text)
        subprocess.run([tool, '-r', '1', f'{where}/in', where, program], check=True, stdout=subprocess.DEVNULL)
        with open(f'{where}/{name}.at_once.worker', encoding='ascii') as f:
            twin = f.read()
        with open(f'{where}/maps', encoding='ascii') as f:
            return text, twin, int(f.readline())


for name in BODIES:
    for kinds in 'entry exit block_begin block_end mem', 'entry block_begin block_end', 'block_begin block_end', 'block_end':
        text, twin, arena = twin_of(name, kinds)
        form = twin.partition(name + FORM)[2]
        if name == 'long':
            ok(not form, f'{name}: {kinds}: none')
            continue
        ok(form and not re.search(r'%n?(ctaid|tid)\.[yz]', form), f'{name}: {kinds}: asks for one axis')
        ok(('@!%gpubpf_out' in form) == ('block_begin' in kinds), f'{name}: {kinds}: predicates stand for the short one\'s branch')
        for lanes, backwards in (32, False), (32, True), (64, False), (44, True), (5, False):
            how = {'shape': (lanes, 1, 1), 'backwards': backwards, 'block': (3, 5)}
            both = [ptx_run.run(text, name, twin, arena, form=f, **how) for f in ('', FORM)]
            first = both[0].arena - ptx_run.GLOBAL
            ok(any(both[0].global_[first:first + arena]) and both[0].global_ == both[1].global_,
               f'{name}: {kinds}: {lanes} lanes{", the last first" if backwards else ""}: memory is as by the twin')
ok(FORM not in twin_of('straight', 'entry exit mem')[1], 'without programs of blocks: none')
for states, has in (('.reqntid 32', True), ('.maxntid 8, 8, 1\n.reqntid 32, 1, 1', True), ('.reqntid 8, 8, 1', False), ('.reqntid 8,1,8', False),
                    ('.reqntid 4, 4', False), ('.blocksareclusters\n.reqntid 32, 1, 1\n.reqnctapercluster 1, 2, 1', False)):
    ok((FORM in twin_of('straight', 'block_begin', states)[1]) == has, f'a kernel that states "{states}": {"one" if has else "none"}')
plan()
