#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""build.py CLANG GROUP-FOLDER OBJECT DEPFILE: builds the object of one group of assembler cases, with their expected
results.

Each case N has two sections: case_N holds the program, expect_N holds lines `WORD TEXT`, where WORD is name, mem,
result, error or refused."""
import os
import sys

import assemble

clang, folder, target, depfile = sys.argv[1:5]
paths = assemble.find_cases(folder)
cases = [assemble.read_case(path) for path in paths]
text = assemble.source(cases)
for i, case in enumerate(cases):
    lines = [f'{word} {" ".join(case[word].split())}' for word in ('name', 'mem', 'result', 'error', 'refused') if word in case]
    quoted = '\\n'.join(line.replace('\\', '\\\\').replace('"', '\\"') for line in lines)
    text += f'.section expect_{i},"",@progbits\n.ascii "{quoted}\\n"\n'
assemble.assemble(text, clang, target)
folders = [path for path, _, _ in os.walk(folder)]
with open(depfile, 'w', encoding='ascii') as f: # adding or removing a case changes the time stamp of its folder
    f.write(f'{target}: {" ".join([*folders, *paths])}\n')
