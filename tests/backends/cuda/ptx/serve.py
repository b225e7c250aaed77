# SPDX-License-Identifier: Apache-2.0
"""serve.py PTX: interprets the resident kernel of executors (core/direct/serve.ptx) with ptx_run.py, and plays the host that
posts requests and increments the heartbeat. The function in which programs run stores its arguments."""
import os
import sys

import ptx_run
from ptx_parse import Module

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../..'))
from tap import ok, plan

BLOCK = 0x100000 # offset of the block in global memory
STOP, BEAT, LIMIT, DATA, QUEUE, STATE, ANSWERS, SLOTS = 1024, 1032, 1040, 4096, 2048, 512, 576, 64
KEY = 0x7672735f66706267
# gpubpf_serve_step() adds its arguments to words at the start of the block's page, and stores memory at `to`
STEP = '''{
	.reg .b64 %m, %s, %k, %t, %a;
	ld.param.u64 %m, [memory];
	ld.param.u64 %s, [size];
	ld.param.u64 %k, [key];
	ld.param.u64 %t, [to];
	mov.u64 %a, ''' + str(ptx_run.GLOBAL + BLOCK) + ''';
	red.global.add.u64 [%a], %s;
	red.global.add.u64 [%a+8], 1;
	st.global.u64 [%a+16], %k;
	st.global.u64 [%t], %m;
	ret;
}'''


class Host(ptx_run.Machine):
    """A machine whose memory a host changes while the kernel polls. It posts `requests` (offset, size) in the queue of
    block 0, at most one per slot. It increments the heartbeat for `beats` reads, and then stops or dies."""

    def __init__(self, requests=(), beats=0, stops=True, **how):
        super().__init__(**how)
        self.requests, self.beats, self.stops, self.posted, self.reads = list(requests), beats, stops, 0, 0
        self.global_[BLOCK:BLOCK + 0x10000] = bytes(0x10000)
        self.put(LIMIT, 5_000_000)

    def put(self, at, value):
        self.global_[BLOCK + at:BLOCK + at + 8] = value.to_bytes(8, 'little')

    def word(self, at):
        return int.from_bytes(self.global_[BLOCK + at:BLOCK + at + 8], 'little')

    def memory(self, lane, space, address):
        at = address - ptx_run.GLOBAL - BLOCK
        slot = (at - DATA) // 8
        if DATA <= at < DATA + 8 * SLOTS and self.posted < len(self.requests) and slot == self.posted % SLOTS:
            offset, size = self.requests[self.posted]
            number = self.posted // SLOTS % 255 + 1
            if self.posted < SLOTS or self.word(DATA + ANSWERS + 16 * slot) == (number - 2) % 255 + 1:
                self.put(DATA + 8 * slot, number << 56 | offset // 8 << 28 | size // 8)
                self.posted += 1
        if at == BEAT:
            self.reads += 1
            if self.reads <= self.beats:
                self.put(BEAT, self.reads)
            elif self.stops:
                self.put(STOP, 1)
        return super().memory(lane, space, address)


def serve(text, block=0, blocks=1, **how):
    host = Host(block=(block, blocks), **how)
    module = Module(text, host)
    args = {'block': ptx_run.GLOBAL + BLOCK, 'size': blocks * QUEUE, 'key': KEY}
    host.accesses = Drop()
    host.others = Drop()
    host.run(module.functions['gpubpf_direct_serve'], module, {k: bytearray(v.to_bytes(8, 'little')) for k, v in args.items()})
    return host


class Drop(list):
    """A list of events that no one reads."""

    def append(self, row):
        if not self:
            super().append(row)
        self[0] = row


def main():
    with open(sys.argv[1], encoding='utf-8') as f:
        text = f.read()
    assert text.count('{\n\tret;\n}') == 1
    text = text.replace('{\n\tret;\n}', STEP)
    requests = [(8 * i, 64 + 8 * i) for i in range(70)]
    h = serve(text, requests=requests, beats=3)
    ok(h.word(8) == 70 * 32 and h.word(0) == 32 * sum(size for _, size in requests), 'each thread runs each request once')
    ok(h.word(16) == KEY, 'the function has the key')
    ok([h.word(DATA + ANSWERS + 16 * i) for i in range(SLOTS)] == [2] * 6 + [1] * 58, 'each slot has the number of its last request')
    ok(all(h.word(DATA + ANSWERS + 16 * i + 8) == ptx_run.GLOBAL + BLOCK + QUEUE + (8 * (i + 64) if i < 6 else 8 * i) for i in range(SLOTS)),
       'the function has the memory of its request, and where its result belongs')
    ok(h.word(DATA + STATE) == 2, 'the state is ended')
    h = serve(text, shape=(1, 1, 1), requests=[(0, 8)] * (64 * 255 + 10), beats=3)
    ok(h.word(8) == 64 * 255 + 10, 'numbers of requests begin again after 255')
    h = serve(text, shape=(1, 1, 1), beats=3, stops=False)
    ok(h.word(DATA + STATE) == 2 and h.reads > 4, f'a heartbeat that stops ends the kernel after the limit ({h.reads} reads)')
    h = serve(text, shape=(1, 1, 1), beats=8000)
    ok(h.reads in (8001, 8002) and h.timer > h.word(LIMIT), f'a heartbeat keeps the kernel on the device beyond the limit ({h.timer} ns)')
    h = serve(text, block=1, blocks=2, requests=[(0, 8)] * 5, beats=3)
    ok(h.word(8) == 0 and h.word(DATA + QUEUE + STATE) == 2 and h.word(DATA + STATE) == 0, 'another block has its own queue')
    plan()


main()
