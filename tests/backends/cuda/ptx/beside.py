# SPDX-License-Identifier: Apache-2.0
"""beside.py TOOL OBJECT N: probes a kernel whose lanes exit at three places with the N programs of OBJECT
(bench/counters.bpf.c). TOOL (places.c) lets the worker make the twin, and ptx_run.py interprets the twin as one warp.
The map of each program must count each lane once. The maps are adjacent, so that one instruction per place can add to
all of them."""
import os
import re
import subprocess
import sys
import tempfile

import ptx_run

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../..'))
from tap import ok, plan

KERNEL = '''.version 7.0
.target sm_80
.address_size 64
// leaves exit counted
.visible .entry leaves(.param .u64 a)
{
	.reg .pred %p;
	.reg .b32 %r<2>;
	mov.u32 %r1, %tid.x;
	setp.lt.u32 %p, %r1, 5;
	@%p ret;
	setp.gt.u32 %p, %r1, 30;
	@%p bra $last;
	ret;
$last:
	ret;
}
'''

tool, program, n = sys.argv[1:]
with tempfile.TemporaryDirectory() as where:
    with open(f'{where}/leaves.in', 'w', encoding='ascii') as f:
        f.write(KERNEL)
    subprocess.run([tool, f'{where}/leaves.in', where, program], check=True)
    with open(f'{where}/leaves.exit.worker', encoding='ascii') as f:
        twin = f.read()
    with open(f'{where}/maps', encoding='ascii') as f:
        arena, *maps = f.read().splitlines()
for backwards in False, True:
    machine = ptx_run.run(KERNEL, 'leaves', twin, int(arena), backwards=backwards)
    counted = {}
    for name, *where in (m.split() for m in maps):
        data, copies, stride = map(int, where)
        first = machine.arena - ptx_run.GLOBAL + data
        counted[name] = sum(int.from_bytes(machine.global_[at:at + 8], 'little') for at in range(first, first + copies * stride, stride))
    ok(len(counted) == int(n) and set(counted.values()) == {32}, f'each of {n} counts each lane once', str(counted))
adds = len(re.findall(r'\bred\.', twin))
ok(adds == 4, f'{n} programs add by one instruction at each exit, and behind the last', str(adds))
plan()
