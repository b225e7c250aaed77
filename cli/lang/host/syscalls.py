#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""syscalls.py OUT CC...: writes a C table with the name of each system call, from the header of the compiler's target."""
import re, subprocess, sys

out, compiler = sys.argv[1], sys.argv[2:]
text = subprocess.run(compiler + ['-E', '-dM', '-x', 'c', '-include', 'asm/unistd.h', '/dev/null'], check=True,
                      capture_output=True, text=True).stdout
calls = {int(number): name for name, number in re.findall(r'^#define __NR_(\w+) (\d+)$', text, re.M)}
with open(out, 'w') as file:
    print('/* made by cli/lang/host/syscalls.py */\nstatic const char *const syscalls[] = {', file=file)
    for number, name in sorted(calls.items()):
        print(f'\t[{number}] = "{name}",', file=file)
    print('};', file=file)
