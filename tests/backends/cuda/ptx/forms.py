#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""forms.py FORMS SEEN:REFUSED:NONE: checks that isa.def has a row for each PTX instruction. The script extracts words
from the binary of ptxas (some of them are stored in ROT13), and lets ptxas report which words are names of
instructions. FORMS (forms.c) prints the rows. The script cannot find names that ptxas accepts only with modifiers, such
as cp.async. If a program probes memory, the PTX reader refuses an instruction without a row. The undocumented
instructions cctl and cctlu rely on this."""
import codecs
import os
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../..'))
from tap import ok, plan, skip_all

HEAD = '.version {}\n.target {}\n.address_size 64\n.visible .entry k()\n{{\n'
NEWEST = '9.0', 'sm_103a'  # newest PTX ISA version and architecture
EACH = 400
UNDOCUMENTED = {'cctl', 'cctlu'}
ptxas = os.environ.get('GPUBPF_TEST_PTXAS') or '/usr/local/cuda/bin/ptxas'


def assembled(words, version, arch):
    with tempfile.NamedTemporaryFile('w', suffix='.ptx') as f:
        f.write(HEAD.format(version, arch) + ''.join(word + ';\n' for word in words) + 'ret;\n}\n')
        f.flush()
        return subprocess.run([ptxas, '-arch=' + arch, '-o', '/dev/null', f.name], capture_output=True, text=True).stderr


def names(words, version, arch):
    """Returns the words that name an instruction. A word at which ptxas stops with a parsing error is counted, although
    it may be another word of PTX."""
    found = set()
    while words:
        said = assembled(words[:EACH], version, arch)
        stop = re.search(r'line (\d+); \w+\s+: Parsing error', said)
        n = int(stop.group(1)) - len(HEAD.splitlines()) if stop else min(EACH, len(words))
        unknown = set(re.findall(r"Not a name of any known instruction: '(\w+)'", said))
        found |= set(words[:n]) - unknown
        words = words[max(n, 1):]
    return found


if not os.access(ptxas, os.X_OK):
    skip_all('no ptxas here; GPUBPF_TEST_PTXAS names one')
rows = [line.split()[:2] for line in subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout.splitlines()]
opcodes = {row[1].split('.')[0] for row in rows}
with open(ptxas, 'rb') as f:
    text = {word.decode() for word in re.findall(rb'(?<![A-Za-z0-9_])[a-z][a-z0-9_]{1,15}(?=[\x00.])', f.read())}
text |= {codecs.encode(word, 'rot13') for word in text}
known = names(sorted(text), *NEWEST)
if not known:
    skip_all('this ptxas is older than ISA 9.0')
missing = sorted(known - opcodes - UNDOCUMENTED)
ok(len(known) > 100 and not missing, f'each of {len(known)} names of instructions that ptxas has is of a row', ' '.join(missing))
counts = ':'.join(str(sum(row[0] == what for row in rows)) for what in ('seen', 'refused', 'none'))
ok(counts == sys.argv[2], f'{sys.argv[2]} forms are seen, refused, none', counts)
plan()
