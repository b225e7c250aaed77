#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""host_call.py BUILD DEVICE: host calls of an OpenCL program on a device (pocl, intel). Answers are exact. While the tool
is stopped, and after it was killed, the kernel continues with its own results."""
import errno
import glob
import os
import re
import signal
import subprocess
import sys

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
sys.path += [os.path.join(root, "tests"), os.path.join(root, "python")]
import gpubpf  # noqa: E402
from tap import ok, plan, skip_all  # noqa: E402

build, device = sys.argv[1:3]
here = os.path.join(build, "tests/cli/host_call")
icds = [os.environ.get("GPUBPF_TEST_INTEL", "")] if device == "intel" else glob.glob("/etc/OpenCL/vendors/pocl*.icd")
if not icds or not os.path.exists(icds[0]):
    skip_all(f"no OpenCL runtime of {device} here")
os.environ["OCL_ICD_VENDORS"] = icds[0] # also for the session in this process, whose workers build twins with this runtime
THREADS = 128 # on a busy machine each call may wait for some time slices
resumed = []  # servers that answered calls after they were stopped
SUM = str(THREADS * (THREADS + 1) // 2)


def start(limit_ms, sent=0, after=0):
    """Starts the server with the application. Its calls wait for limit_ms; 0: the server registers no function."""
    command = [f"{here}/host-call-server", f"{here}/host_call.bpf.o", str(limit_ms), str(int(sent)), str(after),
               f"{here}/host-call-app", str(THREADS)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            env={**os.environ, "OCL_ICD_VENDORS": icds[0]})


def launch(server):
    server.stdin.write("go\n")
    server.stdin.flush()
    for line in server.stdout:
        if line == "resumed\n":
            resumed.append(server)
        elif not line.startswith("device:"):
            return line.strip()
    return ""


def outcomes(server):
    server.stdin.close()
    told = dict(line.split() for line in server.stdout if line != "resumed\n")
    ok(server.wait() == 0, "the server ends", server.returncode)
    return {name: int(n) for name, n in told.items()}


server = start(600000)
sums = [launch(server), launch(server)]
ok(sums == [SUM, SUM], "the application's results", sums)
told = outcomes(server)
ok(told == {"exact": 2 * THREADS, "late": 0, "refused": 0, "wrong": 0, "drops": 0}, "every call is exact", told)

server = start(0)
ok(launch(server) == SUM, "without a function: the application's results")
told = outcomes(server)
ok(told == {"exact": 0, "late": 0, "refused": THREADS, "wrong": 0, "drops": 0}, "every call returns -ENOSYS", told)

server = start(100, signal.SIGSTOP, 100)
ok(launch(server) == SUM, "the tool stops in an answer: the kernel continues")
os.waitid(os.P_PID, server.pid, os.WSTOPPED | os.WNOWAIT)
os.kill(server.pid, signal.SIGCONT)
sums = [launch(server)]
while not resumed and sums[-1] == SUM:
    sums.append(launch(server))
told = outcomes(server)
ok(resumed and set(sums) == {SUM}, "the tool continues, and answers the calls of later launches", sums[-1])
ok(told.get("exact", 0) > 100 and told.get("late", 0) > 0 and not told.get("wrong") and not told.get("refused"),
   "calls meanwhile time out, and no answer is wrong", told)
ok(told.get("exact", 0) + told.get("late", 0) == (len(sums) + 1) * THREADS, "each call has one outcome", told)

server = start(100, signal.SIGKILL, 100)
ok(launch(server) == SUM, "the tool is killed in an answer: the kernel continues")
ok(launch(server) == SUM, "and so do later launches")
server.stdin.close()
ok(server.wait() == -signal.SIGKILL, "the tool was killed", server.returncode)

example = os.path.join(build, "examples/host-call")
BLOCKS = THREADS // 16
run = subprocess.run([f"{example}/host-call", f"{example}/host-call.bpf.o", f"{example}/policy.txt", f"{here}/host-call-app", str(THREADS)],
                     input="go\n" * 2, capture_output=True, text=True, check=False, env={**os.environ, "OCL_ICD_VENDORS": icds[0]})
ok(run.returncode == 0 and re.search(rf"\b7\b.*\b{2 * BLOCKS}\b", run.stdout), "the example counts by the policy", run.stdout + run.stderr)

asked = []
with gpubpf.Session([f"{example}/host-call.bpf.o"], library=os.path.join(build, "libgpubpf.so"), host_call_ms=600000) as session:
    @session.host_call("policy")
    def policy(question):
        asked.append(question.block)
        if question.block % 2:
            raise OSError(errno.ENOENT, "an odd block")
        return {"tenant": question.block % 4, "weight": question.block}

    with subprocess.Popen([f"{here}/host-call-app", str(THREADS)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                          env=session.environ({**os.environ, "OCL_ICD_VENDORS": icds[0]})) as app:
        app.stdin.write("go\n")
        app.stdin.close()
        while app.poll() is None:
            session.poll()
    ok(sorted(asked) == list(range(BLOCKS)), "Python: each block calls the function", asked)
    weights = {tenant: sum(range(tenant, BLOCKS, 4)) for tenant in (0, 2)}
    ok({k: n for k, n in session.maps["weights"].items() if n} == weights, "and the program gets its output", session.maps["weights"][2])
    ok(session.maps["failures"][0] == BLOCKS // 2, "and the numbers of its errors")
    for name, kind in (("policy", gpubpf.Error), ("weights", gpubpf.Error), ("none", KeyError)):
        try:
            session.host_call(name)(policy)
            ok(False, f"Python: a function for {name} is refused")
        except kind as error:
            ok(True, f"Python: a function for {name} is refused", error)
plan()
