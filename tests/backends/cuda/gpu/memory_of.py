# SPDX-License-Identifier: Apache-2.0
"""memory_of.py SCRIPT ARG...: runs a Python program, and writes its memory use in KiB as JSON to the file that
$MEMORY names. It writes the peak resident size, and the size of the pages that are mapped at the end, each divided by
the number of processes that share it. It lists gpubpf's mappings by name, and separately the pages of files and all other pages."""
import collections
import json
import os
import re
import runpy
import sys


def memory():
    status = open('/proc/self/status').read()
    kinds, name = collections.Counter(), ''
    for line in open('/proc/self/smaps'):
        head = re.match(r'[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \S+ *(.*)', line)
        if head:
            name = head[1].removesuffix(' (deleted)')
        elif line.startswith('Pss:'):
            ours = 'gpubpf' in name and os.path.basename(name)
            kinds[ours or ('files' if name.startswith('/') else 'the rest')] += int(line.split()[1])
    return {'most': int(re.search(r'VmHWM:\s*(\d+)', status)[1]), 'ours': {k: n for k, n in kinds.items() if 'gpubpf' in k},
            'files': kinds['files'], 'rest': kinds['the rest']}


where = os.environ['MEMORY']
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name='__main__')
finally:
    with open(where, 'w') as f:
        json.dump(memory(), f)
