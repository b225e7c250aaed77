#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""text.py PLUGIN CLANG: clang must compile the OpenCL C source that the target clc emits for the cases of
tests/cli/conformance, as OpenCL C 1.2 and 3.0, without a warning about the source."""
import os
import subprocess
import sys
import tempfile

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../cli/conformance')
sys.path.insert(0, folder)
import assemble  # noqa: E402  pylint: disable=wrong-import-position

plugin, clang = sys.argv[1:3]
everything = assemble.read(clang)
count = failed = 0
for proven in (False, True):
    usable = [c for c in everything if 'result' in c and not (proven and 'refused' in c)]
    for first in range(0, len(usable), 64):
        rows = ''.join(f'{c["name"]}\t{c.get("mem", "").replace(chr(10), " ").strip() or "-"}\t{c["hex"]}\n' for c in usable[first:first + 64])
        run = subprocess.run([plugin, '--batch', '--dump', '--target', 'clc'] + ([] if proven else ['--no-verify']),
                             input=rows, capture_output=True, text=True, check=False)
        for standard in ('CL1.2', 'CL3.0'):
            with tempfile.NamedTemporaryFile('w', suffix='.cl') as f:
                f.write(run.stdout)
                f.flush()
                check = subprocess.run(
                    [clang, '-fsyntax-only', '-x', 'cl', f'-cl-std={standard}', '-target', 'spir64', '-Wall', '-Werror',
                     '-Wno-unused', '-Xclang', '-finclude-default-header', f.name], capture_output=True, text=True, check=False)
            count += 1
            good = run.returncode == 0 and '__kernel' in run.stdout and check.returncode == 0
            failed += not good
            print(f'{"" if good else "not "}ok {count} - cases from {usable[first]["name"]} on as {standard}'
                  + (' (proven)' if proven else ''))
            for line in check.stderr.splitlines()[:20] if not good else []:
                print('# ' + line)
print(f'1..{count}')
sys.exit(failed != 0)
