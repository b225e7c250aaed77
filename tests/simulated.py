#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""simulated.py COMMAND..., or run(): runs a program on the simulated AMD GPU.

ROCr 5.2.3 on the simulator fails at times, more often on a busy machine, even without gpubpf. Either an assertion
stops it when a queue is created, because it does not know an error code of the queue. Or it reads a packet before
the packet is complete, and does not read it again. A run that fails with one of these messages is repeated and
reported. A failure without them, or after RUNS attempts, counts as failed."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

RUNS = 10
LOST = 60  # seconds that a run may take after ROCr read a packet too early; most runs continue at the next packet
WORDS = re.compile(rb"Undefined queue error code|\[rj warn\] INVALID pkt")


def find_message(errors):
    """Returns the simulator's message in the output so far, if any. Uses pread(), because a child shares the file
    position."""
    found = WORDS.search(os.pread(errors.fileno(), os.fstat(errors.fileno()).st_size, 0))
    return found and found.group().decode()


def ended(child):
    try:
        return child.wait(timeout=0.2)
    except subprocess.TimeoutExpired:
        return None


def sleeping(env):
    """Returns the environment with tests/backends/hip/waits.c ($GPUBPF_TEST_WAITS) preloaded, so that waiting programs
    do not use the simulator's CPU time."""
    env = dict(os.environ if env is None else env)
    preloaded = [env[name] for name in ("LD_PRELOAD", "GPUBPF_TEST_WAITS") if env.get(name)]
    return dict(env, LD_PRELOAD=":".join(preloaded)) if preloaded else env


def once(command, timeout, env, cwd):
    """Runs the command once. Returns (status or None if it was killed, output, errors, the simulator's message)."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(command, stdout=out, stderr=errors, env=sleeping(env), cwd=cwd, start_new_session=True)
        until, lost = time.monotonic() + timeout, False
        try:
            while ended(child) is None and time.monotonic() < until:
                if not lost and find_message(errors):
                    until, lost = min(until, time.monotonic() + LOST), True
        finally:
            status = child.poll()
            if status is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        words = find_message(errors)
        for stream in (out, errors):
            stream.seek(0)
        return status, out.read(), errors.read(), words


def run(command, timeout=300, env=None, cwd=None, text=False):
    """Like subprocess.run() with captured output; raises TimeoutExpired if it needs more than `timeout` seconds."""
    for left in reversed(range(RUNS)):
        status, out, errors, words = once(command, timeout, env, cwd)
        if not status and status is not None or not words or not left:
            break
        print(f"# the simulated GPU failed by itself ({words}): {os.path.basename(str(command[-1]))} once more", flush=True)
    if text:
        out, errors = out.decode(errors="replace"), errors.decode(errors="replace")
    if status is None:
        raise subprocess.TimeoutExpired(command, timeout, out, errors)
    return subprocess.CompletedProcess(command, status, out, errors)


def twin(gfx, launch, base, made, sizes, shape):
    """Runs the kernel k of `base` and its twin in `made`, with the twin's layout and arena files, through
    tests/backends/hip/launch.c."""
    return run([str(a) for a in (os.environ["GPUBPF_AMD_SIM"], gfx, launch, base, "k", made, made + ".layout", made + ".arena", sizes,
                                 *shape)], text=True)


if __name__ == "__main__":
    try:
        result = run(sys.argv[1:], timeout=540)
    except subprocess.TimeoutExpired as e:
        result = subprocess.CompletedProcess(e.cmd, 1, e.output, e.stderr)
    sys.stdout.buffer.write(result.stdout)
    sys.stdout.flush()
    sys.stderr.buffer.write(result.stderr)
    sys.exit(result.returncode if result.returncode >= 0 else 128 - result.returncode)
