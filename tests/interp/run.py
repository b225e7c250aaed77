#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cases of cases/*.data on one backend, unproven (every access checked) and proven: run.py PLUGIN CLANG WHERE

WHERE: host; pocl, intel or oclgrind: OpenCL C on that device; intel-spirv: SPIR-V; hip: a simulated gfx90a, by
the launcher that $GPUBPF_AMD_SIM names. A case has sections that begin with
`-- NAME`: about; asm (LLVM's syntax); mem (r1, hex bytes); result (r0); error (a regular expression that the
message must match); verify (`reject`: the verifier must refuse it). Last, the programs of
$GPUBPF_CORPUS/verifier/kernel_exec.tsv, if there are any, against their recorded r0 (low 32 bits)."""
import os
import re
import subprocess
import sys

import assemble

plugin, clang, where = sys.argv[1:4]
oclgrind = '/usr/lib/oclgrind/liboclgrind-rt-icd.so'
here = os.path.dirname(os.path.abspath(__file__))
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
    """rows of (id, mem, hex): {id: answer}"""
    args = [plugin, '--batch'] + ([] if proven else ['--no-verify'])
    env = dict(os.environ)
    if where == 'hip':
        args = [os.environ['GPUBPF_AMD_SIM'], 'gfx90a'] + args + ['--backend', 'hip']
    elif where != 'host':
        args += ['--backend', 'opencl', '--target', 'spirv' if where.endswith('-spirv') else 'clc']
        args += ['--device', {'pocl': 'Portable', 'oclgrind': 'Oclgrind'}.get(where, 'Intel')]
    if where.startswith('intel'):
        env['OCL_ICD_VENDORS'] = os.environ['GPUBPF_TEST_INTEL']
    if where == 'oclgrind':
        env['OCL_ICD_VENDORS'] = oclgrind
    run = subprocess.run(args, input=''.join('\t'.join(row) + '\n' for row in rows), capture_output=True, text=True,
                         env=env, timeout=1200)
    answers = dict(line.split('\t', 1) for line in run.stdout.splitlines())
    last = (run.stderr.splitlines() or ['no message'])[-1]
    return {row[0]: answers.get(row[0], f'nothing: the tool exited with {run.returncode}, {last}') for row in rows}


def judge(case, answer, proven):
    """None if the answer is right, else what was expected"""
    refused = answer.startswith('ERROR not proven safe')
    if proven and 'reject' in case.get('verify', ''):
        return None if refused else 'a refusal by the verifier'
    if 'error' in case:
        good = answer.startswith('ERROR') and re.search(case['error'].strip(), answer)
        return None if good else 'ERROR ... ' + case['error'].strip()
    want = int(case['result'], 16)
    return None if answer == f'{want:x}' else f'{want:x}'


def run_cases(proven):
    rows = [(case['name'], case.get('mem', '').replace('\n', ' ').strip() or '-', case['hex']) for case in cases]
    answers = batch(rows, proven)
    if any('no OpenCL device' in a or 'OpenCL loader' in a for a in answers.values()):
        plan(f'no device {where} here')
    for case in cases:
        answer = answers[case['name']]
        if where == 'oclgrind' and 'finding a kernel' in answer:
            result(True, case['name'] + ' # SKIP Oclgrind lacks an LLVM intrinsic (llvm.fshl) that its compiler made')
            continue
        wrong = judge(case, answer, proven)
        result(wrong is None, case['name'] + (' (proven)' if proven else ''), f'want {wrong}, got {answer}' if wrong else '')


def run_corpus(proven):
    """What the verifier refuses is its tests' matter: here the rest must be right."""
    name = 'recorded results' + (' (proven)' if proven else '')
    path = os.path.join(os.environ.get('GPUBPF_CORPUS', '/nonexistent'), 'verifier', 'kernel_exec.tsv')
    if not os.path.exists(path):
        result(True, f'{name} # SKIP GPUBPF_CORPUS has no verifier/kernel_exec.tsv')
        return
    rows = [line.rstrip('\n').split('\t') for line in open(path, encoding='utf-8') if not line.startswith('#')]
    answers = batch([(row[0], '00' * 256, row[1]) for row in rows], proven)
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
if where == 'hip' and not os.environ.get('GPUBPF_AMD_SIM'):
    plan('GPUBPF_AMD_SIM names no simulator')
cases = assemble.read(here, clang)
for proven in (False, True):
    run_cases(proven)
    if where != 'oclgrind':
        run_corpus(proven)
plan()
