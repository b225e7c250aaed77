# SPDX-License-Identifier: Apache-2.0
"""few.py TOOL IMAGE KERNEL KIND OBJECT [+|-]WORDS...: makes the twin of the kernel with the object's program at its
places of KIND; TOOL (places.c) has the worker make it. Checks the instructions per place, in a body that ptxas would
not shorten. "+WORDS" means that this instruction occurs, "-WORDS" that none starts so, and "N WORDS" that it occurs
N times. A * stands for anything."""
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
    many, what = re.fullmatch(r'([-+]|\d+ )(.*)', words).groups()
    found = [m[0] for m in re.finditer(r'^\s*(@!?\S+\s+)?' + re.escape(what).replace(r'\*', '.*') + r'.*$', twin, re.M)]
    held = {'+': len(found) > 0, '-': not found}.get(many)
    ok(len(found) == int(many) if held is None else held, f'{os.path.basename(program)}: {words}', found)
plan()
