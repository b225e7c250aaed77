# SPDX-License-Identifier: Apache-2.0
"""The cases of this folder: text files with sections (run.py explains them), assembled by clang."""
import os
import re
import struct
import subprocess
import tempfile


def read_case(path):
    case, section = {'name': os.path.splitext(os.path.basename(path))[0]}, None
    for line in open(path, encoding='ascii'):
        head = re.match(r'-- (\w+)$', line)
        if head:
            section = head[1]
            case[section] = ''
        else:
            case[section] += line
    return case


def assemble(cases, clang):
    """One object with a section a case; labels are made unique by the case's number."""
    text = []
    for i, case in enumerate(cases):
        labels = set(re.findall(r'^(\w+):$', case['asm'], re.M))
        text.append(f'.section case_{i},"ax",@progbits\n')
        text.append(re.sub(r'\b[a-zA-Z_]\w*\b', lambda m, n=i, names=labels: f'c{n}_{m[0]}' if m[0] in names else m[0],
                           case['asm']))
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, 'cases.s'), os.path.join(folder, 'cases.o')
        with open(source, 'w', encoding='ascii') as f:
            f.writelines(text)
        subprocess.run([clang, '-target', 'bpf', '-mcpu=v4', '-c', source, '-o', target], check=True)
        elf = open(target, 'rb').read()
    table, = struct.unpack_from('<Q', elf, 40)
    size, number, names = struct.unpack_from('<HHH', elf, 58)
    sections = [struct.unpack_from('<IIQQQQIIQQ', elf, table + size * i) for i in range(number)]
    for section in sections:
        at = sections[names][4] + section[0]
        name = elf[at:elf.index(b'\0', at)].decode()
        if name.startswith('case_'):
            cases[int(name[5:])]['hex'] = elf[section[4]:section[4] + section[5]].hex()


def read(folder, clang):
    """the cases of `folder`/cases in order, each with its program as case['hex']"""
    folder = os.path.join(folder, 'cases')
    cases = [read_case(os.path.join(folder, name)) for name in sorted(os.listdir(folder))]
    assemble(cases, clang)
    return cases
