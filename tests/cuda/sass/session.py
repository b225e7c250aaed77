#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""session.py GPUBPF WORKLOAD CUBIN OBJECT...: sessions on the tests' driver, by machine code, with the conformance suite's objects: is
the kernel of each probed? Maps lie there as on a GPU, a copy a multiprocessor, which static tests of twins have not. As TAP."""
import json
import os
import re
import subprocess
import sys
import tempfile

CUBIN = '5'  # enum gpubpf_image_kind

tool, workload, cubin, *objects = sys.argv[1:]


def outcome(path, folder):
    """What became of the kernel, or why nothing did."""
    named = re.search(rb'workload (\w+)', open(path, 'rb').read())
    kernel = named.group(1).decode() if named else 'plain'
    report = os.path.join(folder, 'report.json')
    done = subprocess.run([tool, 'run', '--no-cache', '--route', 'sass', '-j', '-r', report, '-o', path, '--', workload, 'cuda', '-', '0',
                           CUBIN, cubin, kernel, '5,1,1', '64,1,1', '0', folder], capture_output=True, text=True)
    try:
        rows = [k for k in json.load(open(report))['kernels'] if k['name'] == kernel]
    except (OSError, ValueError):
        return done.stderr[-300:]
    return (rows[0]['reason'] or rows[0]['outcome']) if rows else 'it was not launched'


with tempfile.TemporaryDirectory() as folder:
    said = {path: outcome(path, folder) for path in objects}
if any('no assembler' in why for why in said.values()):
    print('1..0 # SKIP no assembler: libnvJitLink.so is not here')
    sys.exit(0)
print(f'1..{len(objects)}')
for i, (path, why) in enumerate(said.items(), 1):
    print(f"{'' if why == 'probed' else 'not '}ok {i} - {os.path.basename(path)}" + ('' if why == 'probed' else f': {why}'))
sys.exit(any(why != 'probed' for why in said.values()))
