#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py GPUBPF WHERE [OPTIONS of gpubpf conformance]: runs the suite on one device and prints TAP.

An option that begins with $GPUBPF_CORPUS names a file there; if that variable is unset, nothing runs. WHERE is one of:
host: the interpreter
pocl, intel, oclgrind: that OpenCL device
hip: a gfx90a that $GPUBPF_AMD_SIM simulates, with the library $BREV (tests/backends/hip/brev.c) preloaded into the tool
gfx942 or another such name: that device in the simulator, through the tests' HIP runtime over ROCr in $OVER_ROCR
(tests/backends/hip/runtime)
level_zero: the tests' Level Zero driver ($ZE_ENABLE_ALT_DRIVERS), which uses Intel's OpenCL runtime"""
import json
import math
import os
import re
import signal
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
import refused
import simulated

gpubpf, where, options = sys.argv[1], sys.argv[2], sys.argv[3:]
DEVICES = {'pocl': 'Portable', 'oclgrind': 'Oclgrind', 'intel': 'Intel'}
env, command = dict(os.environ), []
amd = where == 'hip' or where.startswith('gfx')


def leave(why):
    print('1..0 # SKIP ' + why)
    sys.exit(0)


if where in ('intel', 'level_zero'):
    if not env.get('GPUBPF_TEST_INTEL'):
        leave("Intel's OpenCL CPU runtime is not installed")
    env['OCL_ICD_VENDORS'] = env['GPUBPF_TEST_INTEL']
if where == 'oclgrind':
    env['OCL_ICD_VENDORS'] = '/usr/lib/oclgrind/liboclgrind-rt-icd.so'
if amd:
    if not env.get('GPUBPF_AMD_SIM'):
        leave('GPUBPF_AMD_SIM names no simulator')
    command, env['LD_PRELOAD'] = [env['GPUBPF_AMD_SIM'], 'gfx90a' if where == 'hip' else where], env['BREV']
if amd and where != 'hip':
    if not env.get('OVER_ROCR'):
        leave('this was built without hsa.h')
    env['LD_LIBRARY_PATH'] = os.path.dirname(env['OVER_ROCR'])
command += [gpubpf, 'conformance', '-j', *options, '--backend', 'opencl' if where in DEVICES else 'hip' if amd else where]
command += ['--device', DEVICES[where]] if where in DEVICES else []
if any(word.startswith('$GPUBPF_CORPUS') for word in command) and not env.get('GPUBPF_CORPUS'):
    leave('GPUBPF_CORPUS names no folder')
command = [word.replace('$GPUBPF_CORPUS', env.get('GPUBPF_CORPUS', '')) for word in command]
if amd: # meson limits the time, and its user can extend that; on SIGTERM this script exits and ends the simulated GPU
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    run = simulated.run(command, env=env, timeout=math.inf, text=True)
else:
    run = subprocess.run(command, capture_output=True, env=env, text=True, check=False)
if run.returncode == 1 and not run.stdout and re.search('no device|not installed', run.stderr):
    leave(run.stderr.splitlines()[-1])
suite = json.loads(run.stdout)
count = 0
for device in suite['devices']:
    for case in device['cases']:
        count += 1
        name = f'{case["group"]}/{case["case"]}'
        if case['state'] == 'skipped' and '--tests' in options and not refused.may_be(case['reason']):
            print(f'not ok {count} - {name}: refused: {case["reason"]}')
        elif case['state'] == 'skipped':
            print(f'ok {count} - {name} # SKIP {case["reason"]}')
        elif case['state'] == 'passed':
            print(f'ok {count} - {name}')
        elif where == 'oclgrind' and 'finding a kernel' in case['got']:
            print(f'ok {count} - {name} # SKIP Oclgrind lacks an LLVM intrinsic (llvm.fshl) that its compiler made')
        else:
            print(f'not ok {count} - {name}: expected {case["expected"]}, got {case["got"]}')
told = 1 if any(device['failed'] for device in suite['devices']) else 0
count += 1
print(f'{"ok" if run.returncode == told else "not ok"} {count} - and the exit status is {told}')
print(f'1..{count}')
