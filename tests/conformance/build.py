#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""build.py CLANG GROUP-FOLDER OBJECT DEPFILE: builds the object of one group of assembler cases, with their expected
results.

A case has two sections: case_N, its program, and expect_N, lines of `word text`: name, mem, result, error, refused."""
import glob
import os
import sys

import assemble

clang, folder, target, depfile = sys.argv[1:5]
paths = sorted(glob.glob(os.path.join(folder, '*.data')))
cases = [assemble.read_case(path) for path in paths]
text = assemble.source(cases)
for i, case in enumerate(cases):
    lines = [f'{word} {" ".join(case[word].split())}' for word in ('name', 'mem', 'result', 'error', 'refused') if word in case]
    quoted = '\\n'.join(line.replace('\\', '\\\\').replace('"', '\\"') for line in lines)
    text += f'.section expect_{i},"",@progbits\n.ascii "{quoted}\\n"\n'
assemble.assemble(text, clang, target)
with open(depfile, 'w', encoding='ascii') as f: # the folder: changes if a case is added or removed
    f.write(f'{target}: {" ".join([folder, *paths])}\n')
