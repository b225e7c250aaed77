#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py PLUGIN WHERE: runs the programs of $GPUBPF_CORPUS/verifier/kernel_exec.tsv, if it exists, on one device. Each program
runs twice: unverified, with a check at every access, and verified. The low 32 bits of r0 must equal the recorded value.

WHERE: host is the interpreter; pocl and intel use OpenCL C on that device; intel-spirv uses SPIR-V."""
import os
import re
import subprocess
import sys

plugin, where = sys.argv[1:3]
count = 0


def result(good, name, note=''):
    global count
    count += 1
    print(f'{"" if good else "not "}ok {count} - {name}' + ('' if good or not note else ': ' + note.splitlines()[0]))
    for line in note.splitlines():
        print('# ' + line)


def plan(skip=''):
    print(f'1..{count}' + (f' # SKIP {skip}' if skip else ''))
    sys.exit(0)


def batch(rows, proven):
    """Runs rows of (id, memory, program in hex) in one process of the plugin; returns {id: answer}."""
    args = [plugin, '--batch'] + ([] if proven else ['--no-verify'])
    env = dict(os.environ)
    if where != 'host':
        args += ['--backend', 'opencl', '--target', 'spirv' if where.endswith('-spirv') else 'clc']
        args += ['--device', 'Portable' if where == 'pocl' else 'Intel']
    if where.startswith('intel'):
        env['OCL_ICD_VENDORS'] = os.environ['GPUBPF_TEST_INTEL']
    run = subprocess.run(args, input=''.join('\t'.join(row) + '\n' for row in rows), capture_output=True, text=True,
                         env=env, timeout=1200)
    answers = dict(line.split('\t', 1) for line in run.stdout.splitlines())
    last = (run.stderr.splitlines() or ['no message'])[-1]
    return {row[0]: answers.get(row[0], f'nothing: the tool exited with {run.returncode}, {last}') for row in rows}


def run_corpus(proven):
    """Runs the programs of the corpus. With verification, refused programs do not count: the verifier's own tests
    cover them."""
    name = 'recorded results' + (' (proven)' if proven else '')
    path = os.path.join(os.environ.get('GPUBPF_CORPUS', '/nonexistent'), 'verifier', 'kernel_exec.tsv')
    if not os.path.exists(path):
        result(True, f'{name} # SKIP GPUBPF_CORPUS has no verifier/kernel_exec.tsv')
        return
    rows = [line.rstrip('\n').split('\t') for line in open(path, encoding='utf-8') if not line.startswith('#')]
    answers = batch([(row[0], '00' * 256, row[1]) for row in rows], proven)
    if any('no OpenCL device' in a or 'OpenCL loader' in a for a in answers.values()):
        plan(f'no device {where} here')
    wrong, refused = [], 0
    for row in rows:
        answer = answers[row[0]]
        if proven and answer.startswith('ERROR not proven safe'):
            refused += 1
        elif not re.fullmatch('[0-9a-f]+', answer) or int(answer, 16) & 0xffffffff != int(row[2], 16):
            wrong.append(f'{row[0]}: want {row[2]}, got {answer}')
    result(not wrong and refused * 20 < len(rows), f'{name}: {len(rows) - len(wrong) - refused} of {len(rows)}',
           '\n'.join(wrong + ([f'{refused} refused by the verifier'] if refused else [])))


if where.startswith('intel') and not os.environ.get('GPUBPF_TEST_INTEL'):
    plan("Intel's OpenCL CPU runtime is not installed")
for proven in (False, True):
    run_corpus(proven)
plan()
