#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""writes.py GPUBPF WORKLOAD CUBIN OBJECT: lists the files that a session on machine code opens for writing, with the
fake driver. The session may write only files of the user's private cache, which others cannot read. A second session
must write none. Prints TAP."""
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

CALL = re.compile(r'(?:\d+ +)?(\w+)\((.*)\) += \d')
PATH = re.compile(r'(?:\w+<([^>]*)>, )?"([^"]*)"')
NONE_OF = ('/dev/', '/proc/', '/sys/')  # not regular files

tool, workload, cubin, program = sys.argv[1:]


def written(folder, *options):
    trace = os.path.join(folder, 'trace')
    env = dict(os.environ, XDG_CACHE_HOME=folder + '/cache', XDG_RUNTIME_DIR=folder + '/run', HOME=folder + '/home', TMPDIR=folder + '/tmp')
    done = subprocess.run(['strace', '-f', '-y', '-qq', '-s', '4096', '-e', 'trace=/^(open|creat|rename|link|symlink)', '-o', trace, tool, 'run',
                           *options, '--route', 'sass', '-o', program, '--', workload, 'cuda', '-', '0', '5', cubin, 'plain', '5,1,1',
                           '64,1,1', '0', folder + '/out'], capture_output=True, text=True, env=env)
    paths = set()
    for line in open(trace, errors='replace'):
        call = CALL.match(line)
        named = PATH.findall(call.group(2)) if call else []
        if named and (not call.group(1).startswith('open') or re.search('O_WRONLY|O_RDWR|O_CREAT', call.group(2))):
            paths.add(os.path.normpath(os.path.join(*named[-1])))
    return done, {p for p in paths if not p.startswith(NONE_OF)}


def is_in(path, folder):
    return path == folder or path.startswith(folder + '/')


if not shutil.which('strace') or subprocess.run(['strace', '-qq', '-o', os.devnull, 'true'], check=False).returncode:
    print('1..0 # SKIP strace is not here, or may not trace')
    sys.exit(0)
with tempfile.TemporaryDirectory() as folder:
    for name in ('cache', 'run', 'home', 'tmp', 'out'):
        os.mkdir(os.path.join(folder, name), 0o700)
    done, paths = written(folder)
    if 'no assembler' in done.stdout + done.stderr:
        print('1..0 # SKIP no assembler: libnvJitLink.so is not here')
        sys.exit(0)
    own = [folder + '/cache/gpubpf', folder + '/run']
    others = sorted(p for p in paths if not any(is_in(p, o) for o in own) and not is_in(p, folder + '/out'))
    kept = [os.path.join(d, f) for d, _, files in os.walk(own[0]) for f in files]
    shown = [k for k in kept if stat.S_IMODE(os.stat(k).st_mode) & 0o077]
    again = sorted(p for p in written(folder)[1] if is_in(p, own[0]))
    none = sorted(p for p in written(folder, '--no-cache')[1] if is_in(p, own[0]))
print('1..5')
checks = [(re.search(r'plain +1 +1 ', done.stdout + done.stderr) and kept, 'the kernel is probed, and something is kept', (done.stdout + done.stderr)[-300:]),
          (not others and any(is_in(p, own[0]) for p in paths), 'nothing is written elsewhere', others), (not shown, 'nobody else can read it', shown),
          (all(not p.endswith('.cubin') for p in again), 'the second time the twin is there', again),
          (not none, '--no-cache keeps nothing', none)]
for i, (right, what, said) in enumerate(checks, 1):
    print(f"{'' if right else 'not '}ok {i} - {what}" + ('' if right else f': {said!r}'))
sys.exit(not all(right for right, _, _ in checks))
