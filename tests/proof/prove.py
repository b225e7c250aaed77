#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prove.py [OPTION]... [-- CMD [ARG]...]: runs third-party programs with probes.

Runs each program twice as it is, then once per route and way with probes. Compares the exit status and the lines of
standard output that both native runs share, in their order. Checks in each report: launches = probed + missed for each
kernel, with a reason if any was missed; threads entered = threads left, blocks begun = blocks ended. Writes a table with one row per program, route and
way. The last line is "N passed, N failed, N skipped" and counts rows. Status 1: a row failed.

  --list FILE   programs, one per line: NAME|FOLDER|CMD ARG...; FOLDER is relative to --root; CMD has a shell's quotes and
                environment variables; "#" starts a comment
  --root DIR    the folder of the foreign programs
  --built DIR   the executables below DIR, without arguments; each runs in the same folder below --root
  --way NAME    counter, places, kerneltime; several times; default all
  --route NAME  probe by this route only; several times; default: the route that gpubpf selects
  --ignore RE   leave out the lines that match: measurements, which may be equal in two native runs by chance
  --faults RE   programs whose name matches end a kernel natively by a fault of their own, such as a failed assertion: fewer threads
                may leave than enter
  --part I/N    each N-th program only, from the I-th on: a long list in parts
  --layer LIB   OpenCL layer that counts the work-items of a native run (tests/tools/ndcount.c); if no launch was missed,
                the places count as many threads that enter. A program without a launch is skipped.
  --backend NAME  cuda, opencl, hip; default cuda
  -j N          number of programs at a time; default 4
  --limit S     timeout of a native run in seconds; default 120. A probed run may take ten times that.
  --table FILE  output file of the table; default standard output
  --tap         print a line of the Test Anything Protocol per row as soon as it is known, instead of the counts
  --shards N    a single CMD runs N times, with the word SHARD replaced by "I/N"

Uses a build (GPUBPF_BUILD, default build/).
"""
import argparse
import concurrent.futures
import difflib
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get('GPUBPF_BUILD', f'{ROOT}/build'))
WAYS = {'counter': ['-o', f'{BUILD}/bench/counter.bpf.o'],
        'places': ['-o', f'{BUILD}/tests/proof/places.bpf.o'],
        'kerneltime': ['-p', 'kerneltime']}
PROBED_TIMES = 10  # a probed run may take this many times the limit of a native run
HEAD = ['program', 'route', 'way', 'state', 'stable lines', 'left out', 'launches', 'probed', 'missed', 'remark']


def run(argv, cwd, limit, args):
    """Runs a program. Returns (exit status or reason, lines to compare, last line of standard error)."""
    try:
        done = subprocess.run(argv, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return 'timed out', [], ''
    except OSError as error:
        return str(error), [], ''
    errors = done.stderr.decode(errors='replace').strip().splitlines()
    lines = done.stdout.decode(errors='replace').splitlines()
    if args.ignore:
        lines = [line for line in lines if not re.search(args.ignore, line)]
    return done.returncode, lines, errors[-1] if errors else ''


def find_stable(first, second):
    """Returns the lines that two runs share, in their order."""
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


def check_report(path, may_fault):
    """Returns the numbers of a report, and its inconsistencies, as (figures, faults)."""
    try:
        with open(path, encoding='utf-8') as file:
            report = json.load(file)
    except (OSError, ValueError) as error:
        return {}, [f'no report: {error}']
    faults = []
    for k in report['kernels']:
        if k['launches'] != k['probed'] + k['missed']:
            faults.append(f"{k['name']}: {k['launches']} launches, {k['probed']} probed, {k['missed']} missed")
        if sum(k['missed_by'].values()) != k['missed'] or k['missed'] and not k['reason']:
            faults.append(f"{k['name']}: {k['missed']} missed, by reason {k['missed_by']} ({k['reason']})")
    figures = {key: sum(k[key] for k in report['kernels']) for key in ('launches', 'probed', 'missed')}
    figures['routes'] = '+'.join(sorted({k['route'] for k in report['kernels'] if k['route']}))
    figures['reasons'] = sorted({k['reason'] for k in report['kernels'] if k['reason']})
    for one, other in (('entrys', 'leaves'), ('begins', 'ends')):
        pair = sum_map(report, one), sum_map(report, other)
        figures[one] = pair[0]
        if pair[0] < pair[1] or pair[0] > pair[1] and not may_fault:
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
                yield Program(name, os.path.join(root, folder), shlex.split(os.path.expandvars(command)))


def count_items(program, args, work):
    """Returns the number of work-items that the layer counts in a native run, or None without a layer or a launch."""
    if not args.layer:
        return None
    path = os.path.join(work, re.sub(r'\W', '_', program.name) + '.items')
    environment = {**os.environ, 'OPENCL_LAYERS': args.layer, 'NDCOUNT': path}
    subprocess.run(program.argv, cwd=program.cwd, stdin=subprocess.DEVNULL, capture_output=True, timeout=args.limit, check=False,
                   env=environment)
    try:
        with open(path, encoding='utf-8') as file:
            return sum(int(line.split('\t')[2]) for line in file)
    except OSError:  # without a launch the layer writes no file
        return None


def prove_way(program, args, work, stable, items, route, way):
    """Runs the program with probes by one route and way. Returns (routes, state, launches, probed, missed, remark)."""
    report = os.path.join(work, re.sub(r'\W', '_', f'{program.name}-{route}-{way}') + '.json')
    options = ['--route', route] if route else []
    status, lines, error = run([f'{BUILD}/gpubpf', 'run', *options, *args.option, '-b', args.backend, '-j', '-r', report, '--events', '0',
                                *WAYS[way], '--', *program.argv], program.cwd, args.limit * PROBED_TIMES, args)
    figures, faults = check_report(report, args.faults and re.search(args.faults, program.name))
    missing = find_missing(stable, lines)
    if items is not None and figures.get('missed') == 0 and figures['entrys'] not in (None, items):
        faults.append(f"{figures['entrys']} threads entered, {items} natively")
    if status != 0:
        faults.insert(0, f'status {status}: {error[:160]}')
    if missing:
        faults.insert(0, f'{len(missing)} lines differ, the first: {missing[0][:120]}')
    return [figures.get('routes') or route or '-', 'FAILED' if faults else 'passed', figures.get('launches', ''), figures.get('probed', ''), figures.get('missed', ''),
            '; '.join([*faults, *figures.get('reasons', [])])[:600]]


def prove(program, args, work):
    """Yields a row per route and way, with the columns of HEAD."""
    first = run(program.argv, program.cwd, args.limit, args)
    second = run(program.argv, program.cwd, args.limit, args)
    if first[0] != second[0] or first[0] != 0:
        yield [program.name, '-', '-', 'skipped', '', '', '', '', '', f'natively: status {first[0]}, then {second[0]}: {first[2][:120]}']
        return
    stable = find_stable(first[1], second[1])
    items = count_items(program, args, work)
    if args.layer and items is None:
        yield [program.name, '-', '-', 'skipped', '', '', '', '', '', 'natively: no launch']
        return
    for route in args.route or ['']:
        for way in args.way or list(WAYS):
            routes, state, *rest = prove_way(program, args, work, stable, items, route, way)
            yield [program.name, routes, way, state, len(stable), len(first[1]) - len(stable), *rest]


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


def print_tap(rows, begin):
    for number, row in enumerate(rows[begin:], begin + 1):
        name, route, way, state, *_, launches, probed, _, remark = row
        text = f'{number} - {name} {route} {way}: {probed} of {launches} launches probed'
        if state == 'skipped':
            text = f'{number} - {name} # SKIP {remark}'
        print('not ok' if state == 'FAILED' else 'ok', text, *([f'\n# {remark}'] if state == 'FAILED' else []), flush=True)


def write_table(rows, file):
    file.writelines('\t'.join(map(str, row)) + '\n' for row in [HEAD, *rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--list')
    parser.add_argument('--root', default='.')
    parser.add_argument('--built')
    parser.add_argument('--way', action='append', choices=list(WAYS))
    parser.add_argument('--route', action='append')
    parser.add_argument('--ignore')
    parser.add_argument('--faults')
    parser.add_argument('--part', default='0/1')
    parser.add_argument('--layer')
    parser.add_argument('--option', action='append', default=[], help='one more option of gpubpf run')
    parser.add_argument('--backend', default='cuda')
    parser.add_argument('-j', '--jobs', type=int, default=4)
    parser.add_argument('--limit', type=float, default=120)
    parser.add_argument('--table')
    parser.add_argument('--tap', action='store_true')
    parser.add_argument('--shards', type=int, default=1)
    parser.add_argument('command', nargs=argparse.REMAINDER)
    args = parser.parse_args()
    work = tempfile.mkdtemp()
    rows = []
    part, parts = map(int, args.part.split('/'))
    programs = itertools.islice(list_programs(args), part, None, parts)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for new in pool.map(lambda p: list(prove(p, args, work)), programs):
            rows += new
            if args.tap:
                print_tap(rows, len(rows) - len(new))
            if args.table:
                # written after each program, so that a run that is stopped leaves its rows
                with open(args.table, 'w', encoding='utf-8') as file:
                    write_table(rows, file)
    shutil.rmtree(work)
    if not args.table:
        write_table(rows, sys.stdout)
    counts = {state: sum(row[3] == state for row in rows) for state in ('passed', 'FAILED', 'skipped')}
    print(f'1..{len(rows)}' if args.tap else f"{counts['passed']} passed, {counts['FAILED']} failed, {counts['skipped']} skipped")
    return 1 if counts['FAILED'] or not rows else 0


raise SystemExit(main())
