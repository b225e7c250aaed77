# SPDX-License-Identifier: Apache-2.0
"""Assembles the cases of this folder that are written in LLVM's assembler (docs/testing.md explains them), with
clang."""
import glob
import os
import re
import struct
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def find_cases(folder):
    """Returns the paths of the cases in the folder and its subfolders, in the order of their names."""
    return sorted(glob.glob(os.path.join(folder, '**', '*.data'), recursive=True), key=os.path.basename)


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


def source(cases):
    """Returns the text of an object with a section per case; the case's number makes its labels unique."""
    text = []
    for i, case in enumerate(cases):
        labels = set(re.findall(r'^(\w+):$', case['asm'], re.M))
        text.append(f'.section case_{i},"ax",@progbits\n')
        text.append(re.sub(r'\b[a-zA-Z_]\w*\b', lambda m, n=i, names=labels: f'c{n}_{m[0]}' if m[0] in names else m[0],
                           case['asm']))
    return ''.join(text)


def assemble(text, clang, target):
    with tempfile.NamedTemporaryFile('w', suffix='.s', encoding='ascii') as f:
        f.write(text)
        f.flush()
        subprocess.run([clang, '-target', 'bpf', '-mcpu=v4', '-c', f.name, '-o', target], check=True)


def add_code(cases, elf):
    """Stores each case's program in case['hex'], as a hexadecimal string read from the object."""
    table, = struct.unpack_from('<Q', elf, 40)
    size, number, names = struct.unpack_from('<HHH', elf, 58)
    sections = [struct.unpack_from('<IIQQQQIIQQ', elf, table + size * i) for i in range(number)]
    for section in sections:
        at = sections[names][4] + section[0]
        name = elf[at:elf.index(b'\0', at)].decode()
        if name.startswith('case_'):
            cases[int(name[5:])]['hex'] = elf[section[4]:section[4] + section[5]].hex()


def read(clang, group='*'):
    """Returns the cases of all groups in order, each with its program in case['hex']."""
    cases = [read_case(path) for folder in sorted(glob.glob(os.path.join(HERE, group))) for path in find_cases(folder)]
    with tempfile.NamedTemporaryFile(suffix='.o') as f:
        assemble(source(cases), clang, f.name)
        add_code(cases, f.read())
    return cases
