#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""forms.py FORMS GFX=SEEN:REFUSED:NONE...: checks that memory.def has all forms of memory instructions of AMD
processors.

LLVM's disassembler decodes each word whose prefix belongs to a memory unit, which gives the names of all instructions.
FORMS (forms.c) prints memory.def's result for each name. No name may be unknown, and the numbers of seen, refused and
none must match."""
import re
import shutil
import subprocess
import sys

sys.path.append(__file__.rsplit('/', 3)[0])
from tap import ok, plan, skip

# upper six bits of an encoding (ISA guides, "Microcode formats"): second words that are valid in this encoding
GFX9 = {0x30: (0, 0x10), 0x36: (0x00000200, 0x00040200), 0x37: (0x007f0200, 0x00000200, 0x00020200, 0x02020200), 0x38: (0x80000200, 0x80010200),
        0x3a: (0x80000200,), 0x3c: (0x00000200, 0x00010200)}
GFX11 = {0x3d: (0xf8000000, 0xf8000010), 0x36: (0x00000200, 0x02000200), 0x37: (0x007c0200, 0x007c0000, 0x02000200), 0x38: (0x80000200, 0x80010200),
         0x3a: (0x80000200,), 0x3c: (0x00000200,)}
GFX12 = {0x3d: (0xf8000000,), 0x36: (0x00000200, 0x02000200), 0x3b: (0x00000200, 0x00100200), 0x31: (0x00000200,), 0x34: (0x00000200,), 0x39: (0x00000200,)}
NOTHING = re.compile(r'(swizzle|permute|nop|inv|wb|gl[01]_inv)')


def names(gfx):
    """Returns name -> operands of one instruction with that name."""
    words = GFX12 if gfx.startswith('gfx12') else GFX11 if gfx.startswith('gfx11') else GFX9
    text = []
    for top, seconds in words.items():
        for second in seconds:
            for op in range(1 << 12):
                first = top << 26 | op << 14 | (0x7c if top in (0x3b, 0x31) else 0)  # no scalar register
                code = b''.join(w.to_bytes(4, 'little') for w in (first, second, 2))
                text.append(','.join(f'0x{b:02x}' for b in code))
    made = subprocess.run([shutil.which('llvm-mc-22'), '--disassemble', '-triple=amdgcn-amd-amdhsa', '-mcpu=' + gfx],
                          input='\n'.join(text), capture_output=True, text=True, check=False, timeout=100)
    out = {}
    for row in made.stdout.splitlines():
        found = re.match(r'\s+((?:global|flat|scratch|buffer|tbuffer|image|ds|lds|s)_\w+)\s*(.*)', row)
        if found:
            out.setdefault(found.group(1), found.group(2))
    return out


def check(tool, gfx, expected):
    found = names(gfx)
    asked = ''.join(f'{name} {operands}\n' for name, operands in found.items())
    said = dict(zip(found, subprocess.run([tool], input=asked, capture_output=True, text=True, check=True).stdout.splitlines()))
    memory = {n: s for n, s in said.items() if not n.startswith('s_') or n.startswith(('s_load', 's_buffer_', 's_store', 's_atomic', 's_scratch'))}
    unknown = [f'{n} {found[n]}' for n, s in memory.items() if 'unknown' in s]
    ok(not unknown, f'{gfx}: each of {len(memory)} forms is known', '\n'.join(unknown[:20]))
    nothing = [n for n, s in memory.items() if s.endswith('none')]
    ok(all(NOTHING.search(n) for n in nothing), f'{gfx}: what touches no memory', ' '.join(nothing))
    counts = ':'.join(str(sum(f' {what}' in s for s in memory.values())) for what in ('seen', 'refused', 'none'))
    ok(counts == expected, f'{gfx}: {expected} are seen, refused, none', counts)


if not shutil.which('llvm-mc-22'):
    skip('forms of memory instructions', 'no llvm-mc-22')
else:
    for arg in sys.argv[2:]:
        check(sys.argv[1], *arg.split('='))
plan()
