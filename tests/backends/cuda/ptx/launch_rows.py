# SPDX-License-Identifier: Apache-2.0
"""launch_rows.py TOOL OBJECT: rows of launches on CUDA. TOOL (places.c) lets the worker make a twin with the programs of
OBJECT (launch_rows.bpf.c). ptx_run.py interprets the twin's blocks, in orders that CUDA allows. Blocks of launches
that overlap are mixed. A replay of a graph node begins when the replay before it has ended. All replays of a node have
the same grid id. Each launch and each replay must have one row with its blocks, begin and time."""
import os
import random
import struct
import subprocess
import sys
import tempfile

import ptx_run

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../..'))
from tap import ok, plan

ROWS, SLOTS = 2048, 256 # GPUBPF_LAUNCHES() of OBJECT; maps/kinds/launches.h
HEAD = '''.version 7.0
.target sm_80
.address_size 64
// replayed at_once entry exit 
.visible .entry replayed(.param .u64 a)
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [a];
	ld.global.u32 %r1, [%rd1];
	st.global.u32 [%rd1+128], %r1;
	ret;
}
'''

tool, program = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    with open(f'{folder}/in', 'w', encoding='ascii') as f:
        f.write(HEAD)
    subprocess.run([tool, '-r', '1', f'{folder}/in', folder, program], check=True, stdout=subprocess.DEVNULL)
    with open(f'{folder}/replayed.at_once.worker', encoding='ascii') as f:
        twin = f.read()
    with open(f'{folder}/maps', encoding='ascii') as f:
        arena, *maps = f.read().splitlines()
places = {name: tuple(map(int, rest)) for name, *rest in (line.split() for line in maps)}


class Launch:
    def __init__(self, grid, blocks):
        self.grid, self.blocks, self.next, self.begin, self.end = grid, blocks, 0, None, None


class Device:
    """A device that runs whole blocks. The twin of the first run made its memory."""
    def __init__(self, threads):
        self.machine = ptx_run.Machine(shape=(threads, 1, 1))
        self.module = ptx_run.Module(twin, self.machine)
        self.machine.arena = self.machine.room('global', 'arena', int(arena), '', 1)
        at = self.machine.variables['gpubpf_arena'] - ptx_run.CONST
        self.machine.const[at:at + 8] = self.machine.arena.to_bytes(8, 'little')
        self.function = self.module.functions['gpubpf_twin_replayed']
        self.args = ptx_run.arguments(self.module, 'gpubpf_twin_replayed')
        self.done = []

    def run_block(self, launch):
        m = self.machine
        m.block, m.grid, before = (launch.next, launch.blocks), launch.grid, m.timer
        m.run(self.function, self.module, self.args)
        m.accesses.clear()
        launch.begin = launch.begin or range(before, m.timer + 1)
        launch.end = range(before, m.timer + 1)
        launch.next += 1
        if launch.next == launch.blocks:
            self.done.append(launch)

    def words(self, offset, n):
        at = self.machine.arena - ptx_run.GLOBAL + offset
        return struct.unpack(f'<{n}Q', self.machine.global_[at:at + 8 * n])

    def rows(self):
        """Returns (blocks, begin, time, multiprocessors) of each row."""
        first = places['rows'][0] - ROWS * 64
        count = self.words(first - 128, 1)[0]
        return [self.words(first + 64 * i, 6) for i in range(count)]

    def are_slots_free(self):
        data, copies, stride = places['rows']
        return not any(self.words(data, SLOTS * 8 + copies * stride // 8))

    def times(self):
        data, copies, stride = places['times']
        return tuple(sum(self.words(data + c * stride + 8 * i, 1)[0] for c in range(copies)) for i in range(2))

    def check(self, what):
        rows = self.rows()
        good = len(rows) == len(self.done)
        for (kernel, number, begin, time, blocks, sms), launch in zip(rows, self.done):
            good &= blocks == launch.blocks and begin in launch.begin and begin + time in launch.end and 1 <= sms <= 4
        ok(good, f'{what}: {len(rows)} rows of {len(self.done)} launches', str([r for r in rows[:3]]))
        ok(self.are_slots_free() and self.times() == (len(rows), sum(r[3] for r in rows)),
           f'{what}: one thread of each launch gets its time, and no slot is in use', f'{self.times()}')


def run_mixed(device, streams, choose):
    """Runs the launches of several streams. The launches of a stream run one after another."""
    while any(streams):
        stream = choose([s for s in streams if s])
        device.run_block(stream[0])
        if stream[0].next == stream[0].blocks:
            stream.pop(0)


choose = random.Random(1).choice
for threads in 1, 2, 33:
    d = Device(threads)
    run_mixed(d, [[Launch(100 + i, 1 + i)] for i in range(32 if threads < 3 else 8)], choose)
    d.check(f'{threads} threads: launches in streams overlap')
d = Device(2)
run_mixed(d, [[Launch(7, 1 + i % 9) for i in range(200)]], choose)
d.check('replays of a node, whose grid changes')
d = Device(2)
run_mixed(d, [[Launch(node << 8, 3 + node) for i in range(30)] for node in range(6)], choose)
d.check('replays of six graphs overlap')
plan()
