#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""forms.py FORMS CORE OPENCL SEEN:REFUSED:NONE: checks that isa.def has all forms of memory instructions in SPIR-V.
FORMS (forms.c) prints isa.def's result for each instruction in the grammars of the SPIR-V headers. An unknown
instruction is refused if a program probes memory. The script checks instructions that isa.def lists as accessing no
memory. If the class of such an instruction is related to memory, or if it is an OpenCL.std instruction with a pointer
parameter, it must be in the list below."""
import json
import re
import subprocess
import sys

sys.path.append(__file__.rsplit('/', 4)[0])
from tap import ok, plan

CLASSES = {'Memory', 'Atomic', 'Image', 'Pipe', 'Device-Side_Enqueue'}
# access no memory: these compute addresses, read properties of images, pipes or kernels, or manage packets and events
NOTHING = re.compile(r'Op(Variable|ImageTexelPointer|(InBounds)?(Ptr)?AccessChain|ArrayLength|GenericPtrMemSemantics|Ptr(Equal|NotEqual|Diff)'
                     r'|SampledImage|Image|ImageQuery\w+|ImageSparseTexelsResident|(Group)?(Reserve|Commit)(Read|Write)Pipe(Packets)?'
                     r'|IsValid(ReserveId|Event)|Get(Num|Max)PipePackets|ConstantPipeStorage|CreatePipeFromPipeStorage|GetKernel\w+'
                     r'|(Retain|Release)Event|CreateUserEvent|SetUserEventStatus|GetDefaultQueue|BuildNDRange)')

forms, core, opencl, expected = sys.argv[1:]
said = {}
for line in subprocess.run([forms], capture_output=True, text=True, check=True).stdout.splitlines():
    which, name, what = line.split()[:3]
    said[which, name] = what
with open(core, encoding='utf-8') as f:
    core = json.load(f)['instructions']
with open(opencl, encoding='utf-8') as f:
    opencl = json.load(f)['instructions']

memory = {i['opname'] for i in core if i['class'] in CLASSES and ('core', i['opname']) in said}
silent = sorted(n for n in memory if said['core', n] == 'none' and not NOTHING.fullmatch(n))
ok(len(memory) > 90 and not silent, f'each of {len(memory)} instructions of memory, images, pipes and queues is seen or refused, or listed here', ' '.join(silent))
atomics = {i['opname'] for i in core if i['class'] == 'Atomic'} & memory
ok(len(atomics) > 20 and all(said['core', n] == 'seen' for n in atomics), f'each of {len(atomics)} atomics is seen',
   ' '.join(n for n in atomics if said['core', n] != 'seen'))
pointers = {i['opname'] for i in opencl for o in i['operands'] if o.get('name', '').strip("'") in ('ptr', 'exp', 'signp', 'quo', 'cosval')
            or o.get('name') == "'p'" and "'offset'" in (other.get('name') for other in i['operands'])}
silent = sorted(n for n in pointers if said['OpenCL.std', n] != 'seen')
ok(len(pointers) > 15 and not silent, f'each of {len(pointers)} functions of OpenCL.std that take a pointer is seen', ' '.join(silent))
missing = sorted(i['opname'] for i in opencl if said['OpenCL.std', i['opname']] == 'unknown')
ok(not missing, f'each of {len(opencl)} functions of OpenCL.std is known', ' '.join(missing))
of = [said['core', n] for n in memory] + [said['OpenCL.std', n] for n in pointers]
counts = ':'.join(str(n) for n in (of.count('seen'), of.count('refused') + of.count('unknown'), of.count('none')))
ok(counts == expected, f'{expected} are seen, refused, none', counts)
plan()
