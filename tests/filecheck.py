#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""filecheck.py [-D NAME VALUE]... FILE...: runs tests of emitted text.

A file has commands, and directives of LLVM's FileCheck, which the commands call:

    RUN: COMMAND     The test fails if the command or a part of its pipe fails. A backslash joins it with the next RUN line.
    NEEDS: TOOL...   The file is skipped if one of these programs is missing.
    CHECK: TEXT      FileCheck-22 looks for this text.

In commands, %s is the file, %S its folder, %t an empty folder, and %{NAME} a VALUE. Each command is one test."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from tap import ok, plan, skip, skip_all


def read_runs(text):
    """Returns the commands of a file, each on one line."""
    runs, more = [], False
    for line in re.findall(r'RUN: *(.*?)\s*$', text, re.M):
        if more:
            runs[-1] = runs[-1][:-1] + line
        else:
            runs.append(line)
        more = line.endswith('\\')
    return runs


def substitute(command, path, folder, values):
    known = {'s': path, 'S': os.path.dirname(path), 't': folder}
    return re.sub(r'%(?:\{(\w+)\}|([sSt])\b)', lambda m: values[m[1]] if m[1] else known[m[2]], command)


def run(path, values):
    with open(path, encoding='utf-8') as f:
        text = f.read()
    name, runs = os.path.basename(path), read_runs(text)
    missing = [tool for tool in ' '.join(re.findall(r'NEEDS: *(.*?)\s*$', text, re.M)).split() if not shutil.which(tool)]
    if missing:
        skip(name, f'{missing[0]} is missing')
        return
    ok(runs, f'{name} has commands')
    with tempfile.TemporaryDirectory() as folder:
        for command in runs:
            command = substitute(command, path, folder, values)
            done = subprocess.run(['bash', '-e', '-o', 'pipefail', '-c', command], capture_output=True, text=True, errors='replace', check=False)
            shown = command.replace(path, name).replace(os.path.dirname(path) + '/', '').replace(folder + '/', '').replace('#', '')
            ok(done.returncode == 0, f'{name}: {shown[:120]}', command, done.stdout, done.stderr)


if not shutil.which('FileCheck-22'):
    skip_all('FileCheck-22 of llvm-22-tools is missing; ci/deps test installs it')
parser = argparse.ArgumentParser()
parser.add_argument('-D', nargs=2, action='append', default=[], dest='values')
parser.add_argument('files', nargs='+')
arguments = parser.parse_args()
for file in arguments.files:
    run(os.path.abspath(file), dict(arguments.values))
plan()
