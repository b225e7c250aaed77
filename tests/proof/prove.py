#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prove.py [OPTION]... [-- CMD [ARG]...]: runs third-party programs with probes.

Runs each program twice as it is, then once per way with probes. Compares the exit status and the lines of standard
output that both native runs share, in their order. Checks in each report: launches = probed + missed for each kernel,
threads entered = threads left, blocks begun = blocks ended. Writes a table with one row per program and way.
The last line is "N passed, N failed, N skipped" and counts rows. Status 1: a row failed.

  --list FILE   programs, one per line: NAME|FOLDER|CMD ARG...; FOLDER is relative to --root; "#" starts a comment
  --root DIR    the folder of the foreign programs
  --built DIR   the executables below DIR, without arguments; each runs in the same folder below --root
  --way NAME    counter, places, kerneltime; several times; default all
  --route NAME  probe by this route only
  --backend NAME  cuda, opencl, hip; default cuda
  -j N          number of programs at a time; default 4
  --limit S     timeout of a native run in seconds; default 120. A probed run may take ten times that.
  --table FILE  output file of the table; default standard output
  --shards N    a single CMD runs N times, with the word SHARD replaced by "I/N"

Uses a build (GPUBPF_BUILD, default build/).
"""
import argparse
import concurrent.futures
import difflib
import json
import os
import re
import shutil
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get('GPUBPF_BUILD', f'{ROOT}/build'))
WAYS = {'counter': ['-o', f'{BUILD}/bench/counter.bpf.o'],
        'places': ['-o', f'{BUILD}/tests/proof/places.bpf.o'],
        'kerneltime': ['-p', 'kerneltime']}
PROBED_TIMES = 10  # times the limit of a native run


def run(argv, cwd, limit):
    """Returns (status, lines of standard output, last line of standard error)."""
    try:
        done = subprocess.run(argv, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return 'timed out', [], ''
    except OSError as error:
        return str(error), [], ''
    errors = done.stderr.decode(errors='replace').strip().splitlines()
    return done.returncode, done.stdout.decode(errors='replace').splitlines(), errors[-1] if errors else ''


def find_stable(first, second):
    """Returns the lines that two runs share, in order."""
    blocks = difflib.SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return [line for b in blocks for line in first[b.a:b.a + b.size]]


def find_missing(stable, lines):
    """Returns the stable lines that a run lacks or has in another order."""
    blocks = difflib.SequenceMatcher(None, stable, lines, autojunk=False).get_matching_blocks()
    there = {i for b in blocks for i in range(b.a, b.a + b.size)}
    return [line for i, line in enumerate(stable) if i not in there]


def sum_map(report, name):
    for m in report['maps']:
        if m['name'] == name:
            return sum(int(e['value']) for e in m.get('entries', []))
    return None


def check_report(path):
    """Returns (figures, faults) of a report."""
    try:
        with open(path, encoding='utf-8') as file:
            report = json.load(file)
    except (OSError, ValueError) as error:
        return {}, [f'no report: {error}']
    faults = []
    for k in report['kernels']:
        if k['launches'] != k['probed'] + k['missed']:
            faults.append(f"{k['name']}: {k['launches']} launches, {k['probed']} probed, {k['missed']} missed")
    figures = {key: sum(k[key] for k in report['kernels']) for key in ('launches', 'probed', 'missed')}
    figures['reasons'] = '; '.join(sorted({k['reason'] for k in report['kernels'] if k.get('reason')}))
    for one, other in (('entrys', 'leaves'), ('begins', 'ends')):
        pair = sum_map(report, one), sum_map(report, other)
        figures[one] = pair[0]
        if pair[0] != pair[1]:
            faults.append(f'{one} {pair[0]}, {other} {pair[1]}')
    return figures, faults


class Program:
    def __init__(self, name, cwd, argv):
        self.name, self.cwd, self.argv = name, cwd, argv


def read_list(path, root):
    with open(path, encoding='utf-8') as file:
        for line in file:
            if line.strip() and not line.startswith('#'):
                name, folder, command = line.rstrip('\n').split('|')
                yield Program(name, os.path.join(root, folder), command.split())


def prove(program, args, work):
    """Yields a row per way: name, way, state, stable lines, left out, launches, probed, missed, remark."""
    first = run(program.argv, program.cwd, args.limit)
    second = run(program.argv, program.cwd, args.limit)
    ways = args.way or list(WAYS)
    if first[0] != second[0] or first[0] != 0:
        yield [program.name, '-', 'skipped', '', '', '', '', '', f'natively: status {first[0]}, then {second[0]}: {first[2][:120]}']
        return
    stable = find_stable(first[1], second[1])
    for way in ways:
        report = os.path.join(work, re.sub(r'\W', '_', f'{program.name}-{way}') + '.json')
        route = ['--route', args.route] if args.route else []
        status, lines, error = run([f'{BUILD}/gpubpf', 'run', *route, *args.option, '-b', args.backend, '-j', '-r', report, '--events', '0',
                                    *WAYS[way], '--', *program.argv], program.cwd, args.limit * PROBED_TIMES)
        figures, faults = check_report(report)
        missing = find_missing(stable, lines)
        if status != 0:
            faults.insert(0, f'status {status}: {error[:160]}')
        if missing:
            faults.insert(0, f'{len(missing)} lines differ, the first: {missing[0][:120]}')
        state = 'FAILED' if faults else 'passed'
        yield [program.name, way, state, len(stable), len(first[1]) - len(stable), figures.get('launches', ''),
               figures.get('probed', ''), figures.get('missed', ''), ('; '.join(faults) or figures.get('reasons', ''))[:600]]


def is_program(path):
    with open(path, 'rb') as file:
        return os.access(path, os.X_OK) and file.read(4) == b'\x7fELF' and '.so' not in os.path.basename(path)


def find_built(built, root):
    for folder, _, files in sorted(os.walk(built)):
        if 'CMakeFiles' in folder:
            continue
        there = os.path.join(root, os.path.relpath(folder, built))
        for name in sorted(files):
            path = os.path.join(folder, name)
            if is_program(path):
                yield Program(name, there if os.path.isdir(there) else folder, [os.path.abspath(path)])


def list_programs(args):
    if args.list:
        yield from read_list(args.list, args.root)
    if args.built:
        yield from find_built(args.built, args.root)
    command = args.command[1:] if args.command[:1] == ['--'] else args.command
    for i in range(args.shards if command else 0):
        shard = f'{i}/{args.shards}'
        yield Program(f'{os.path.basename(command[-1] if args.shards == 1 else command[1])} {shard}', os.getcwd(),
                      [word.replace('SHARD', shard) for word in command])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--list')
    parser.add_argument('--root', default='.')
    parser.add_argument('--built')
    parser.add_argument('--way', action='append', choices=list(WAYS))
    parser.add_argument('--route')
    parser.add_argument('--option', action='append', default=[], help='one more option of gpubpf run')
    parser.add_argument('--backend', default='cuda')
    parser.add_argument('-j', '--jobs', type=int, default=4)
    parser.add_argument('--limit', type=float, default=120)
    parser.add_argument('--table')
    parser.add_argument('--shards', type=int, default=1)
    parser.add_argument('command', nargs=argparse.REMAINDER)
    args = parser.parse_args()
    work = tempfile.mkdtemp()
    rows = []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for part in pool.map(lambda p: list(prove(p, args, work)), list_programs(args)):
            rows += part
    shutil.rmtree(work)
    head = ['program', 'way', 'state', 'stable lines', 'left out', 'launches', 'probed', 'missed', 'remark']
    text = '\n'.join('\t'.join(map(str, row)) for row in [head, *rows]) + '\n'
    if args.table:
        with open(args.table, 'w', encoding='utf-8') as file:
            file.write(text)
    else:
        print(text, end='')
    counts = {state: sum(row[2] == state for row in rows) for state in ('passed', 'FAILED', 'skipped')}
    print(f"{counts['passed']} passed, {counts['FAILED']} failed, {counts['skipped']} skipped")
    return 1 if counts['FAILED'] or not rows else 0


raise SystemExit(main())
