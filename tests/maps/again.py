#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""again.py TEST...: repeats tests of random operations in turn, for $GPUBPF_TEST_SECONDS (60) altogether, with another
seed in each run. Reports each failure with its seed."""
import os
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import ok, plan

seconds = float(os.environ.get('GPUBPF_TEST_SECONDS', 60))
for test in sys.argv[1:]:
    begun, runs, seed, failed = time.monotonic(), 0, int.from_bytes(os.urandom(6), 'little'), []
    while time.monotonic() - begun < seconds and not failed:
        done = subprocess.run([test], env=dict(os.environ, GPUBPF_TEST_SEED=str(seed)), capture_output=True, text=True, check=False)
        failed = [line for line in done.stdout.splitlines() if line.startswith('not ok')]
        if done.returncode and not failed:
            failed = [f'exit status {done.returncode}', *done.stderr.splitlines()[-3:]]
        runs += 1
        seed += 1
    ok(not failed, f'{os.path.basename(test)}: {runs} runs in {time.monotonic() - begun:.0f} s', f'GPUBPF_TEST_SEED={seed - 1}', *failed)
plan()
