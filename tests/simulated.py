#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what uses the simulated AMD GPU: simulated.py COMMAND..., or run().

ROCr 5.2.3 over the simulator fails by itself now and then, the more so the busier the machine is, with programs that
nothing of ours is in: it stops on an assertion (an error code of the queue that it does not know, as the queue is made), or
a packet is read before it is whole and then never again. What failed so, by the words that it said, is run again, which is
told; what failed without these words, or again and again, has failed."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

RUNS = 10
LOST = 60  # seconds that a run gets after a packet was read too early; most go on at the next one
WORDS = re.compile(rb"Undefined queue error code|\[rj warn\] INVALID pkt")


def said(errors):
    """The simulator's own words in what was said so far. Read from its place: a child goes on where the file is at."""
    found = WORDS.search(os.pread(errors.fileno(), os.fstat(errors.fileno()).st_size, 0))
    return found and found.group().decode()


def ended(child):
    try:
        return child.wait(timeout=0.2)
    except subprocess.TimeoutExpired:
        return None


def sleeping(env):
    """What programs wait with is not what the simulator computes with (tests/hip/waits.c, which $GPUBPF_TEST_WAITS names)."""
    env = dict(os.environ if env is None else env)
    preloaded = [env[name] for name in ("LD_PRELOAD", "GPUBPF_TEST_WAITS") if env.get(name)]
    return dict(env, LD_PRELOAD=":".join(preloaded)) if preloaded else env


def once(command, timeout, env, cwd):
    """(status or None where it was ended, output, errors, the simulator's words)"""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(command, stdout=out, stderr=errors, env=sleeping(env), cwd=cwd, start_new_session=True)
        until, lost = time.monotonic() + timeout, False
        try:
            while ended(child) is None and time.monotonic() < until:
                if not lost and said(errors):
                    until, lost = min(until, time.monotonic() + LOST), True
        finally:
            status = child.poll()
            if status is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        words = said(errors)
        for stream in (out, errors):
            stream.seek(0)
        return status, out.read(), errors.read(), words


def run(command, timeout=300, env=None, cwd=None, text=False):
    """As subprocess.run() with the output captured; TimeoutExpired where it needs more than `timeout` seconds."""
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
    """The kernel k of `base` and its twin `made`, with its layout and arena beside it, by tests/hip/launch.c."""
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
