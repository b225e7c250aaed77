# SPDX-License-Identifier: Apache-2.0
"""few.py TOOL IMAGE KERNEL KIND OBJECT [+|-]WORDS...: the twin of the kernel with the object's program at its places of that kind,
as TOOL (places.c) has the worker make it: what stands once at each place, in a body that ptxas would not make shorter. "+WORDS":
an instruction that is there; "-WORDS": none begins so."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import ok, plan

tool, image, kernel, kind, program, *wanted = sys.argv[1:]
with tempfile.TemporaryDirectory() as where:
    subprocess.run([tool, image, where, program], check=True)
    with open(f'{where}/{kernel}.{kind}.worker', encoding='ascii') as f:
        twin = f.read()
for words in wanted:
    found = re.search(r'^\s*(@!?\S+\s+)?' + re.escape(words[1:]) + r'.*$', twin, re.M)
    ok(bool(found) == (words[0] == '+'), f'{os.path.basename(program)}: {words}', found and found[0])
plan()
