#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""expanded.py TOOL CLANG SEED COUNT: TOOL (expanded.c) expands COUNT random sources with many macros. After
preprocessing, the expanded source must have the same tokens and the same number of lines as the original."""
import random
import re
import subprocess
import sys
import tempfile

sys.path.append(__file__.rsplit('/', 4)[0])
from tap import ok, plan

tool, clang, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
# bodies by number of parameters; M and N are macros with 1 and 2 parameters, which are usually defined before them
BODIES = {0: ['a[i]', '1 + a[i]', 'a[i], a[i + 1]', '(a[i])', '- a[i]', 'i', 'M(i)', '__LINE__', '"," [i & 1]', 'M'],
          1: ['a[x]', '1 + a[x]', '(a[x])', 'x', 'x + x', 'a[x] + b[x]', 'M(x)', 'M(x) + a[x]', 'N(x, x)', 'sizeof(#x)', 'a[x##0]',
              'M', '- x', '(x /* , ( */ + 1)', 'a[x] + __LINE__'],
          2: ['x + y', '(x + y)', 'a[x] * y', 'M(x) + M(y)', 'N(y, x)', 'x ? a[y] : y', 'max(x, y)', 'y', 'x(y)']}


class Source:
    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.macros = []  # (name, parameters)
        lines = []
        for i in range(r.randint(3, 9)):
            n = r.choice((0, 1, 1, 2))
            name, body = f'F{i}', r.choice(BODIES[n])
            body = re.sub(r'\b([MN])\b', lambda m: self.name(m.group(1), i), body)
            self.macros.append((name, n))
            lines.append(f'#define {name}' + ('', '(x)', '(x, y)')[n] + ' ' + body)
        lines += ['__kernel void k(__global int *a, __global int *b)', '{', '\tint i = get_global_id(0), i0 = 1;']
        for _ in range(r.randint(2, 8)):
            lines.append(f'\tb[i & {r.randint(1, 9)}] = {self.use()} {r.choice("+*-")} {self.use()};')
        self.text = '\n'.join(lines) + '\n}\n'

    def name(self, kind, before):
        wanted = 1 if kind == 'M' else 2
        of = [n for n, p in self.macros if p == wanted]
        return self.r.choice(of) if of and self.r.random() < 0.9 else f'F{self.r.randint(0, 9)}' if self.r.random() < 0.2 else 'abs' if wanted == 1 else 'max'

    def use(self, depth=0):
        r = self.r
        if depth > 3 or r.random() < 0.2:
            return r.choice(('i', 'a[i]', '(i, 1)', "','", '2', '/* F0( */ i', 'i0'))
        name, n = r.choice(self.macros)
        blank = r.choice(('', '', ' ', '\n\t\t', ' // F1(\n'))
        return name + (f'({blank}' + f',{blank}'.join(self.use(depth + 1) for _ in range(n)) + f'{blank})' if n else '')


def tokens(path):
    said = subprocess.run([clang, '-x', 'cl', '-E', '-P', path], capture_output=True, text=True)
    return re.findall(r'"[^"]*"|\'[^\']*\'|\w+|\S', said.stdout) if not said.returncode else None


replaced = read = 0
wrong = []
with tempfile.TemporaryDirectory() as work:
    for seed in range(first, first + count):
        text = Source(seed).text
        with open(f'{work}/before.cl', 'w', encoding='ascii') as f:
            f.write(text)
        made = subprocess.run([tool, f'{work}/before.cl'], capture_output=True, text=True)
        if made.returncode == 1:
            continue  # clang cannot preprocess this source
        with open(f'{work}/after.cl', 'w', encoding='ascii') as f:
            f.write(made.stdout)
        read += 1
        replaced += made.stdout != text
        if made.returncode or tokens(f'{work}/before.cl') != tokens(f'{work}/after.cl') or text.count('\n') != made.stdout.count('\n'):
            wrong.append(seed)
ok(not wrong and replaced > count / 20, f'seeds {first} to {first + count - 1}: {read} mean something, {replaced} of them have macros replaced, '
   'the same tokens in as many lines', f'seeds {wrong}')
plan()
