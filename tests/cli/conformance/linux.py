#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""linux.py PLUGIN: checks that the Linux kernel also refuses the programs of the public suite bpf_conformance that
gpubpf's verifier refuses. Prints TAP.

The programs are data ($GPUBPF_CORPUS/conformance/tests.tsv). PLUGIN is the interpreter. For each program that
PLUGIN refuses, the test prepends a prologue that copies the program's input memory to the stack, and loads the
result with bpf(2). On the stack the Linux kernel refuses misaligned accesses too. The test is skipped if bpf(2) is
not permitted."""
import ctypes
import os
import platform
import re
import struct
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
import refused
from tap import ok, plan, skip_all

SYSCALL = {'x86_64': 321, 'aarch64': 280}
PROG_LOAD, KPROBE = 5, 2
LOG_SIZE = 1 << 16
libc = ctypes.CDLL(None, use_errno=True)
REASONS = [('opcode 0x8d', 'unknown opcode 8d|reserved field'), ('shifts', 'invalid shift'), ('a multiple of', 'misaligned')]


def insn(code, dst, src, off, imm):
    return struct.pack('<BBhi', code, dst | src << 4, off, imm)


def with_memory(program, mem):
    """Returns the program with a prologue that copies mem to the stack and sets r1 to its address and r2 to its
    length."""
    size = len(mem) + 7 & ~7
    before = b''
    for at in range(0, size, 8):
        low, high = struct.unpack('<ii', mem[at:at + 8].ljust(8, b'\0'))
        before += insn(0x18, 3, 0, 0, low) + insn(0, 0, 0, 0, high) + insn(0x7b, 10, 3, at - size, 0)
    before += insn(0xbf, 1, 10, 0, 0) + insn(0x07, 1, 0, 0, -size) + insn(0xb7, 2, 0, 0, len(mem))
    return before + program


def load(program):
    """Loads a program into the Linux kernel. Returns errno (0 on success) and the verifier's log."""
    code, text, log = ctypes.create_string_buffer(program), ctypes.create_string_buffer(b'GPL'), ctypes.create_string_buffer(LOG_SIZE)
    attr = struct.pack('<IIQQIIQ', KPROBE, len(program) // 8, ctypes.addressof(code), ctypes.addressof(text), 1, LOG_SIZE,
                       ctypes.addressof(log)).ljust(128, b'\0')
    fd = libc.syscall(SYSCALL[platform.machine()], PROG_LOAD, attr, len(attr))
    if fd >= 0:
        os.close(fd)
    return 0 if fd >= 0 else ctypes.get_errno(), log.value.decode(errors='replace')


corpus = os.environ.get('GPUBPF_CORPUS')
if not corpus:
    skip_all('GPUBPF_CORPUS names no folder')
if platform.machine() not in SYSCALL:
    skip_all(f'the number of bpf(2) on {platform.machine()} is not known')
why, _ = load(insn(0xb7, 0, 0, 0, 0) + insn(0x95, 0, 0, 0, 0))
if why:
    skip_all(f'bpf(2): {os.strerror(why)}')
with open(f'{corpus}/conformance/tests.tsv', encoding='ascii') as tests:
    rows = [line.rstrip('\n').split('\t') for line in tests]
cases = {row[0]: (row[7], row[8] if len(row) > 8 else '') for row in rows}
lines = ''.join(f'{name}\t{mem or "-"}\t{program}\n' for name, (program, mem) in cases.items())
run = subprocess.run([sys.argv[1], '--batch'], input=lines, capture_output=True, text=True, timeout=300, check=False)
ours = dict(line.split('\t', 1) for line in run.stdout.splitlines())
ok(len(ours) == len(cases), f'{len(cases)} programs, of which the interpreter has {len(ours)}', run.stderr)
for name, said in sorted(ours.items()):
    if not said.startswith('ERROR '):
        continue
    program, mem = map(bytes.fromhex, cases[name])
    theirs, log = load(with_memory(program, mem))
    words = next((word for ours_say, word in REASONS if ours_say in said), None)
    ok(refused.may_be(said) and theirs and words and re.search(words, log), f'{name}: {said.removeprefix("ERROR ")}; the kernel refuses it too',
       os.strerror(theirs) if theirs else 'it takes it', *log.splitlines()[-4:])
plan()
