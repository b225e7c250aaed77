#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""placement.py GPUBPF OBJECTS LOOP SPIN DISCRETE SYSTEM SAY HEARD pocl|intel: tests the placement of maps in memory.

On a CPU device, every kind of memory is the session's own. The layer DISCRETE makes the device look like a discrete
card, whose fine-grained SVM is the runtime's memory. The layer SYSTEM makes it look like a card that accesses all
memory of the process."""
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
from tap import ok, plan, skip, skip_all

gpubpf, objects, loop, spin, discrete, system, say, heard, device = sys.argv[1:]
WAIT = 600
env = dict(os.environ)
if device == 'intel':
    if not env.get('GPUBPF_TEST_INTEL'):
        skip_all("Intel's OpenCL CPU runtime is not installed")
    env['OCL_ICD_VENDORS'] = env['GPUBPF_TEST_INTEL']
SYSTEM = ('intel',)  # devices whose kernels can access all memory of the process
scratch = tempfile.TemporaryDirectory()
env['XDG_RUNTIME_DIR'] = scratch.name
KINDS, LIVE = (os.path.join(objects, name + '.bpf.o') for name in ('kinds', 'live'))


def under(layer, *command):
    """Returns the command with the OpenCL layer between the agent and the driver."""
    return ['/bin/sh', '-c', f'OPENCL_LAYERS="{layer}:$OPENCL_LAYERS" exec "$@"', 'sh', *command] if layer else list(command)


def run(layer, *options, launches=3):
    path = os.path.join(scratch.name, 'report')
    if os.path.exists(path):
        os.unlink(path)
    ended = subprocess.run([gpubpf, 'run', '-q', '-o', KINDS, '-j', '--report', path, *options, '--',
                            *under(layer, loop, str(launches), '0')], env=env, capture_output=True, text=True, timeout=WAIT)
    try:
        return ended, json.load(open(path, encoding='utf-8'))
    except OSError:
        return ended, None


def held(report):
    """Returns {map: its entries}, sorted, since the order of a queue varies."""
    return {m['name']: sorted(json.dumps({k: v for k, v in e.items() if k in ('key', 'value', 'values', 'name')}, sort_keys=True)
                              for e in m['entries']) for m in report['maps']} if report else None


def memory(report, name):
    return [p['memory'] for m in report['maps'] if m['name'] == name for p in m['places']]


def same_everywhere():
    _, want = run(None)
    first = held(want)
    counts = [json.loads(e) for e in first['counts']]
    ok(sum(e['value'] for e in counts) == 3 * sum(range(1024)), 'each thread is counted', counts)
    for name, layer, wheres in ('the host', None, ('pinned', 'svm')), ('a card', discrete, ('device', 'svm')), \
            ('a card with system SVM', system, ('svm',)):
        for where in wheres:
            ended, report = run(layer, '--place', '*=' + where)
            if not report or report['kernels'][0]['outcome'] != 'probed':
                ok(False, f'{name}, {where}: is probed', ended.stderr, report and report['kernels'])
                continue
            got = held(report)
            differ = [m for m in first if got.get(m) != first[m]]
            ok(not differ, f'{name}, {where}: the same results', *(f'{m}: {first[m][:5]} {got.get(m, "")[:5]}' for m in differ))
            ok(memory(report, 'keys') == [where] and memory(report, 'asked') == [where], f'{name}, {where}: is told',
               memory(report, 'keys'), memory(report, 'asked'))


def chosen():
    _, report = run(None)
    ok(memory(report, 'written') == ['pinned'], 'an array of the host that is only written is pinned', report['maps'])
    ok(memory(report, 'counts') == ['device'], 'others lie in the device', memory(report, 'counts'))
    live = [p['live'] for m in report['maps'] if m['name'] == 'counts' for p in m['places']]
    ok(live == [True], 'which on a CPU is memory of the host', live)
    _, report = run(discrete)
    ok(memory(report, 'written') == ['device'], 'a card whose memory nobody shares has it itself', memory(report, 'written'))
    live = [p['live'] for m in report['maps'] if m['name'] == 'counts' for p in m['places']]
    ok(live == [False], 'and the host a copy', live)
    ended, report = run(system, '--place', 'keys=svm', '--place', 'k*=device', '--place', 'keys=svm')
    live = [p['live'] for m in report['maps'] if m['name'] == 'keys' for p in m['places']]
    ok(memory(report, 'keys') == ['svm'], 'the last that was asked for counts', memory(report, 'keys'), ended.stderr)
    ok(live == [device in SYSTEM], 'and is the session\'s memory where kernels work on all of the process\'s', live)
    told = subprocess.run([gpubpf, 'run', '-q', '-o', KINDS, '-j', '--', loop, '1', '0'], capture_output=True, text=True,
                          timeout=WAIT, env=dict(env, GPUBPF_PLACE='keys=pinned,counts=svm'), check=False)
    report = json.loads(told.stdout[told.stdout.index('{'):])
    ok((memory(report, 'keys'), memory(report, 'counts')) == (['pinned'], ['svm']), 'by the environment', report['maps'][:2])


def refused():
    ended, report = run(None, '--place', 'keys=managed')
    why = report['kernels'][0]['reason'] if report else ''
    ok('map keys cannot be in managed memory' in why and 'lacks the capability managed' in why and 'device, pinned, svm' in why,
       'what a device lacks is told by its name', why, ended.stderr)
    ok(ended.returncode == 42, 'and the program runs', ended.returncode)
    for options, words in ((['--place', 'nobody=svm'], 'no map nobody'), (['--place', 'keys=moon'], 'device, pinned, svm or managed'),
                           (['--place', 'keys'], 'must be MAP=WHERE')):
        ended = subprocess.run([gpubpf, 'run', '-o', KINDS, *options, '--', 'true'], capture_output=True, text=True, env=env,
                               timeout=WAIT, check=False)
        ok(words in ended.stderr and ended.returncode not in (0, 42), f'{" ".join(options)}: {words}', ended.stderr)


def run_map(*words):
    return subprocess.run([gpubpf, 'map', *words], env=env, capture_output=True, text=True, timeout=WAIT, check=False)


def number(name, key):
    told = run_map('lookup', name, 'key', str(key), '-j')
    try:
        return json.loads(told.stdout)['value']
    except (ValueError, KeyError, TypeError):
        return 0


def until(what):
    """Waits until what() is true, for longer than any slow machine needs: only a test that hangs fails by this limit."""
    end = time.monotonic() + WAIT / 4
    while time.monotonic() < end:
        value = what()
        if value:
            return value
        time.sleep(0.01)
    return what()


def more(app):
    """Makes SPIN release some waiting blocks of its kernel, so that other blocks start."""
    app.stdin.write('\n')
    app.stdin.flush()


def seen_at_once(name, layer, where):
    app = subprocess.Popen([gpubpf, 'run', '-q', '-o', LIVE, '--place', '*=' + where, '--', *under(layer, spin)], env=env,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    first = until(lambda: number('beats', 0))
    more(app)
    ok(first and until(lambda: number('beats', 0) > first), f'{name}, {where}: the host sees what a kernel that runs writes', first)
    told = run_map('update', 'order', 'key', '0', 'value', '42')
    more(app)
    ok(until(lambda: number('heard', 0) == 42), f'{name}, {where}: which sees what the host writes', told.stderr)
    told = run_map('update', 'named', 'key', '77', 'value', '43')
    more(app)
    ok(until(lambda: number('heard', 1) == 43), f'{name}, {where}: a new key too', told.stderr)
    shown = run_map('show').stdout
    ok(f'in {where} memory of' in shown and 'seen by host and kernels at once' in shown and 'memory of ' in shown,
       f'{name}, {where}: map show says so', shown)
    ok(app.poll() is None, f'{name}, {where}: all of it while it ran')
    out, _ = app.communicate(timeout=WAIT)
    ok('ended 1' in out, f'{name}, {where}: the kernel ends', out)


def copied():
    """The host reads maps in the runtime's memory while a kernel of the device runs."""
    app = subprocess.Popen([gpubpf, 'run', '-q', '-o', LIVE, '--place', '*=svm', '--', *under(discrete, spin)], env=env,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    first = until(lambda: number('beats', 0))
    more(app)
    ok(first and until(lambda: number('beats', 0) > first), 'a card, svm: the host sees what a kernel that runs writes', first)
    told = run_map('update', 'order', 'key', '0', 'value', '42')
    ok('only GPU programs can update' in told.stderr, 'a card, svm: which cannot see what the host writes', told.stderr)
    out, _ = app.communicate(timeout=WAIT)
    ok('ended 1' in out, 'a card, svm: the kernel ends', out)


def answered():
    """Measures the round trip of a word from the host to a running kernel. The minimum of many excludes other load."""
    stop = os.path.join(scratch.name, 'stop')
    told = subprocess.run([say, heard, 'pinned', 'spin', stop, spin], env=env, capture_output=True, text=True, timeout=WAIT, check=False)
    rows = dict((line.split()[0], line.split()[1:]) for line in told.stdout.splitlines())
    ok('both' in rows and 0 < float(rows['both'][0]) < 20, 'the host, pinned: a word and its answer take less than 10 us each', told.stdout,
       told.stderr)


same_everywhere()
chosen()
refused()
seen_at_once('the host', None, 'pinned')
if device in SYSTEM:
    seen_at_once('a card with system SVM', system, 'svm')
else:
    skip('a card with system SVM', 'the device promises none')
copied()
answered()
plan()
