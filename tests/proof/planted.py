#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""planted.py: checks that prove.py notices each planted fault of a run with probes. A script stands in for gpubpf and
writes the report."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from tap import ok, plan  # noqa: E402 pylint: disable=wrong-import-position

KERNEL = {'name': 'k', 'launches': 3, 'probed': 2, 'missed': 1, 'missed_by': {'late': 1}, 'reason': 'its twin was not ready',
          'route': 'wrap'}
REPORT = {'kernels': [KERNEL], 'maps': [{'name': name, 'entries': [{'key': 0, 'value': 8}]} for name in ('entrys', 'leaves', 'begins', 'ends')]}
FAKE = """#!/bin/sh
while [ "$1" != -- ]; do
	[ "$1" != -r ] || cp "$REPORT" "$2"
	shift
done
shift
PROBED=1 "$@"
"""


def change(kernel=None, counts=None):
    """Returns a copy of REPORT with other members of its kernel, or other counts of maps."""
    report = json.loads(json.dumps(REPORT))
    report['kernels'][0].update(kernel or {})
    for m in report['maps']:
        m['entries'][0]['value'] = (counts or {}).get(m['name'], 8)
    return report


ALL_PROBED = {'probed': 3, 'missed': 0, 'missed_by': {}, 'reason': ''}
# name, shell script of the program, report, options of prove.py, expected state, part of the expected remark
CASES = (
    ('a good run', 'echo a; date +%N', change(), [], 'passed', 'not ready'),
    ('a program that fails natively', 'exit 3', change(), [], 'skipped', 'status 3'),
    ('another exit status', 'exit ${PROBED:-0}', change(), [], 'FAILED', 'status 1'),
    ('a line that is missing', 'echo a; [ -n "$PROBED" ] || echo b', change(), [], 'FAILED', '1 lines differ, the first: b'),
    ('a line in another order', '[ -z "$PROBED" ] || echo b; echo a; [ -n "$PROBED" ] || echo b', change(), [], 'FAILED', 'lines differ'),
    ('a measurement', 'echo "time ${PROBED:-0}"', change(), ['--ignore', '^time'], 'passed', ''),
    ('a launch that is not counted', 'true', change({'launches': 4}), [], 'FAILED', '4 launches, 2 probed, 1 missed'),
    ('a missed launch without a reason', 'true', change({'reason': ''}), [], 'FAILED', '1 missed, by reason'),
    ('reasons for fewer launches', 'true', change({'missed_by': {}}), [], 'FAILED', '1 missed, by reason'),
    ('a thread that does not leave', 'true', change(counts={'leaves': 7}), [], 'FAILED', 'entrys 8, leaves 7'),
    ('a thread that a native fault ends', 'true', change(counts={'leaves': 7}), ['--faults', '^true'], 'passed', ''),
    ('a thread that leaves twice, with a native fault', 'true', change(counts={'leaves': 9}), ['--faults', '^true'], 'FAILED',
     'entrys 8, leaves 9'),
    ('a fault of another program', 'true', change(counts={'leaves': 7}), ['--faults', '^other'], 'FAILED', 'entrys 8, leaves 7'),
    ('a block that does not end', 'true', change(counts={'ends': 9}), [], 'FAILED', 'begins 8, ends 9'),
    ('as many threads as work-items', 'printf "k\\t1\\t8\\n" >"${NDCOUNT:-/dev/null}"', change(ALL_PROBED), ['--layer', 'x'], 'passed', ''),
    ('fewer threads than work-items', 'printf "k\\t1\\t9\\n" >"${NDCOUNT:-/dev/null}"', change(ALL_PROBED), ['--layer', 'x'], 'FAILED',
     '8 threads entered, 9 natively'),
    ('no work-items', 'true', change(ALL_PROBED), ['--layer', 'x'], 'skipped', 'no launch'),
    ('no report', 'true', None, [], 'FAILED', 'no report'),
)


def run_case(folder, command, report, options):
    """Runs prove.py on one program; returns the columns of its row in the table."""
    path = os.path.join(folder, 'report')
    if os.path.exists(path):
        os.remove(path)
    if report:
        with open(path, 'w', encoding='utf-8') as file:
            json.dump(report, file)
    table = os.path.join(folder, 'table')
    subprocess.run([sys.executable, f'{HERE}/prove.py', '--way', 'places', '--table', table, *options, '--', 'sh', '-c', command], check=False,
                   env={**os.environ, 'GPUBPF_BUILD': folder, 'REPORT': path}, stdout=subprocess.DEVNULL)
    with open(table, encoding='utf-8') as file:
        return file.read().splitlines()[1].split('\t')


def main():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, 'gpubpf'), 'w', encoding='ascii') as file:
            file.write(FAKE)
        os.chmod(os.path.join(folder, 'gpubpf'), 0o755)
        for name, command, report, options, state, remark in CASES:
            row = run_case(folder, command, report, options)
            ok(row[3] == state and remark in row[9], f'{name}: {state}', row)
    plan()


main()
