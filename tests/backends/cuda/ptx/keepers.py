# SPDX-License-Identifier: Apache-2.0
"""keepers.py TOOL OBJECT: at places that a whole warp passes once per launch, one lane accumulates the sums of all
lanes. TOOL (places.c) lets the worker make twins of kernels with the program of OBJECT (keepers.bpf.c). ptx_run.py
interprets each twin twice: once with single lanes and once as a full warp. The counted bytes per line must equal the
bytes that the interpreter saw the kernel load and store."""
import collections
import os
import re
import subprocess
import sys
import tempfile

import ptx_run

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../..'))
from tap import ok, plan

HEAD = '''.version 7.0
.target sm_80
.address_size 64
.file 1 "keepers.cu"
'''
BEGIN = '''.reg .pred %p;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
ld.param.u64 %rd1, [a];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 8;
add.s64 %rd1, %rd1, %rd2;
'''
CALL = '{\n.param .b64 at;\nst.param.b64 [at], %rd1;\ncall fetch, (at);\n}\n'
# loads, an atomic, a store, a loop, a function that is called twice (its places: kernels calls*), and two exits
SEVERAL = '''.func fetch(.param .b64 at)
{
.reg .b32 %r<4>;
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [at];
.loc 1 20 1
ld.global.u32 %r1, [%rd1];
.loc 1 21 1
ld.global.u64 %rd2, [%rd1+256];
ret;
}
.visible .entry calls_several(.param .u64 a, .param .u32 n)
{
''' + BEGIN + '''ld.param.u32 %r8, [n];
.loc 1 1 1
ld.global.u32 %r2, [%rd1];
.loc 1 2 1
ld.global.v2.u32 {%r3, %r4}, [%rd1+256];
.loc 1 3 1
atom.global.add.u32 %r5, [%rd1+512], 1;
''' + 2 * CALL + '''mov.u32 %r6, 0;
$again:
.loc 1 4 1
ld.global.u32 %r7, [%rd1+1024];
add.u32 %r6, %r6, 1;
setp.lt.u32 %p, %r6, 3;
@%p bra $again;
setp.gt.u32 %p, %r8, 3;
@%p bra $other;
.loc 1 5 1
st.global.u32 [%rd1+1280], %r2;
ret;
$other:
.loc 1 6 1
st.global.u64 [%rd1+1536], %rd2;
ret;
}
'''
# 20 places; lanes accumulate at only 16 of them
MANY = '.visible .entry many(.param .u64 a)\n{\n' + BEGIN + ''.join(
    f'.loc 1 {i + 1} 1\natom.global.add.u32 %r2, [%rd1+{256 * i}], 1;\n' for i in range(20)) + 'ret;\n}\n'
# places that a lane may reach again through an indirect branch
ANYWHERE = '.visible .entry anywhere(.param .u64 a)\n{\n' + BEGIN + '''mov.u32 %r2, 0;
mov.u32 %r5, 0;
$back:
.loc 1 1 1
ld.global.u32 %r3, [%rd1];
.loc 1 2 1
ld.global.u32 %r4, [%rd1+256];
add.u32 %r2, %r2, 1;
setp.gt.u32 %p, %r2, 2;
@%p ret;
ways: .branchtargets $back;
brx.idx %r5, ways;
}
'''
# places that only some lanes of the warp reach
PART = '.visible .entry part(.param .u64 a)\n{\n' + BEGIN + '''setp.lt.u32 %p, %r1, 20;
.loc 1 1 1
@%p ld.global.u32 %r3, [%rd1];
.loc 1 2 1
@%p ld.global.u32 %r4, [%rd1+256];
ret;
}
'''
# name: (PTX, number of places at which a lane accumulates the sums of all lanes)
KERNELS = {'calls_several': (SEVERAL, 7), 'many': (MANY, 16), 'anywhere': (ANYWHERE, 0), 'part': (PART, 2)}
KINDS = {'mem': lambda size, access: (size * (access != 2), size * (access != 1)), 'mem_before': lambda size, access: (2 * size, size)}

tool, program = sys.argv[1:]
for name, (kernel, places) in KERNELS.items():
    text = f'{HEAD}// {name} {" ".join(KINDS)} \n{kernel}'
    twins = {}
    with tempfile.TemporaryDirectory() as where:
        with open(f'{where}/in.ptx', 'w', encoding='ascii') as f:
            f.write(text)
        subprocess.run([tool, f'{where}/in.ptx', where, program], check=True)
        for kind in KINDS:
            with open(f'{where}/{name}.{kind}.worker', encoding='ascii') as f:
                twins[kind] = f.read()
        with open(f'{where}/maps', encoding='ascii') as f:
            arena, of = f.read().splitlines()
    data, copies, stride = map(int, of.split()[1:])
    for kind, of_one in KINDS.items():
        wanted = collections.Counter()
        for lane, access, space, addr, offset, size, elements, value, line, insn, *more in ptx_run.run(text, name).accesses:
            if space == 1:
                wanted[line, 0] += of_one(size, access)[0]
                wanted[line, 1] += of_one(size, access)[1]
        for how in [{}] if name == 'part' else [{}, {'whole': True}, {'whole': True, 'backwards': True}]:
            machine, moved = ptx_run.run(text, name, twins[kind], int(arena), **how), collections.Counter()
            for copy in range(copies):
                for i in range(128):
                    at = machine.arena - ptx_run.GLOBAL + data + copy * stride + i * 8
                    moved[i // 2, i % 2] += int.from_bytes(machine.global_[at:at + 8], 'little')
            ok(+moved == +wanted, f'{name}: gpu/{kind}/: bytes by line {how}', f'{+moved} {+wanted}')
        found = len(re.findall(r'mov\.b32 %gpubpf_keeper', twins[kind])), len(re.findall(r'mov\.b32 %gpubpf_keeps, 2;', twins[kind]))
        ok(found[1] == places if kind == 'mem' else not found[0],
           f'{name}: gpu/{kind}/: lanes keep for others at {places if kind == "mem" else 0} places', str(found))
plan()
