#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""session.py GPUBPF WORKLOAD CUBIN OBJECT...: runs sessions on machine code with the fake driver and the objects of the
conformance suite. Each kernel must be probed, or refused for a known lack of machine code. As on a GPU, maps have a
replica per multiprocessor, which static tests of twins do not have. A folder stands for its objects, except for the
objects that every target refuses. With --says TEXT no kernel may be probed, and a line must contain TEXT as the reason.
Prints TAP."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

CUBIN = '5'  # enum gpubpf_image_kind

LACKS = ['gpu/mark/ cannot be probed', 'reads arguments of a function', 'the result of a function', 'names of its parameters are not known',
         'ends threads (helper 507)']
ASKS_LINES = 'probes.lines'  # machine code in CUBIN has no line table

tool, workload, cubin, *objects = sys.argv[1:]
says = objects.pop(objects.index('--says') + 1) if '--says' in objects else None
objects = [o for o in objects if o != '--says']
if os.path.isdir(objects[0]):
    objects = sorted(glob.glob(os.path.join(objects[0], '*.bpf.o')))
    # programs of direct/ run without an application, so no kernel of one is probed
    objects = [o for o in objects if not os.path.basename(o).startswith('direct.') and
               not re.search(rb'refused [A-Z]|needs constants', open(o, 'rb').read())]


def outcome(path, folder):
    """Returns the kernel's outcome, or the reason of a failed session."""
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


def is_right(path, why):
    if says:
        return why == says
    return why == 'probed' or any(lack in why for lack in LACKS) or (why == 'seen' and ASKS_LINES in path)


print(f'1..{len(objects)}')
for i, (path, why) in enumerate(said.items(), 1):
    print(f"{'' if is_right(path, why) else 'not '}ok {i} - {os.path.basename(path)}" + ('' if why == 'probed' else f': {why}'))
sys.exit(not all(is_right(*one) for one in said.items()))
