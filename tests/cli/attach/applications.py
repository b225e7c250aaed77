# SPDX-License-Identifier: Apache-2.0
"""Applications that launch kernels, and sessions of gpubpf attach that end on a condition. attach.py and prepared.py use it.

On a busy machine a twin can take a minute, and a process can take seconds to end a session. So a test waits until the session's report shows what the
test needs, and attaches again if the tool says that a later attempt can succeed."""
import collections
import glob
import os
import re
import signal
import subprocess
import tempfile

import tap
from sizes import LIMIT, Sized, wait_until

COUNT = ["-e", "gpu/entry/* { @[kernel] = count(); }"]
ITEMS = 256  # threads of the kernels
# parts of a session's report
ATTACHED = r'"processes": *[1-9]'
LAUNCHED = r'"launches": *[1-9]'
PROBED = r'"probed": *[1-9]'
ARGUMENTS = r'"arguments": *[1-9]'

SCRATCH = tempfile.TemporaryDirectory()
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("GPUBPF_SESSION", "OPENCL_LAYERS", "GPUBPF_BACKEND")}


def open_runtime(name, **more):
    """Let applications use one OpenCL runtime, pocl or intel. Returns false if it is not installed."""
    if name == "pocl":
        library = next(iter(sorted(glob.glob("/etc/OpenCL/vendors/pocl*.icd"))), None)
    else:
        library = os.environ.get("GPUBPF_TEST_INTEL", "")
    if not library or not os.path.exists(library):
        return False
    ENVIRONMENT.update(OCL_ICD_VENDORS=library, XDG_RUNTIME_DIR=SCRATCH.name, XDG_CACHE_HOME=SCRATCH.name, **more)
    return True


class Application(Sized):
    """A running application that has printed its first line. gpubpf run --idle executes the program, so it has the tool's process id."""
    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        self.first = self.process.stdout.readline().strip()
        self.pid = self.process.pid

    def end(self, name):
        """Stop the application, and check that its results are right. Returns its number of launches."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGRTMIN)
        out = self.process.communicate(timeout=LIMIT)[0]
        found = re.search(r"launches (\d+) wrong 0$", out.strip())
        tap.ok(found and self.process.returncode == 0, f"{name}: the application's results are right", f"status {self.process.returncode}", self.first, out)
        return int(found[1]) if found else 0

    def pause(self):
        """Mode pause: let all threads wait. Returns the number of launches since the last pause."""
        self.process.send_signal(signal.SIGRTMIN + 1)
        found = re.match(r"paused (\d+)", self.process.stdout.readline())
        return int(found[1]) if found else 0

    def resume(self):
        self.process.send_signal(signal.SIGRTMIN + 1)

    def wait_launches(self):
        """Mode pause: wait until a thread has launched."""
        def has_launched():
            launches = self.pause()
            self.resume()
            return launches
        return wait_until(has_launched)


class Result(collections.namedtuple("Result", "status launches probed missed total out")):
    """The output of a session: its exit status, the counts of launches, the count of the probe, and the output."""
    def is_exact(self):
        return self.status == 0 and self.probed and self.launches == self.probed + self.missed and self.total == self.probed * ITEMS

    def may_repeat(self):
        """Does the tool advise to try again? The last session may not have ended, no thread may have stopped in time, or the process was too slow at the
        end of the session."""
        return (self.status == 125 and "try again" in self.out) or "did not end within" in self.out

    def __str__(self):
        return (f"status {self.status}, launches {self.launches}, probed {self.probed}, missed {self.missed}, total {self.total} of "
                f"{self.probed * ITEMS}\n{self.out}")


class Session:
    """gpubpf attach to one process, until end()."""
    def __init__(self, gpubpf, pid, *words):
        self.gpubpf, self.done = gpubpf, None
        self.process = subprocess.Popen([gpubpf, "attach", "-p", str(pid), *words, *COUNT, "-v"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env=ENVIRONMENT)
        self.pid = self.process.pid

    def has_ended(self):
        return self.process.poll() is not None

    def report(self):
        """The report of the running session as JSON text. It is empty while the session starts or ends."""
        done = subprocess.run([self.gpubpf, "session", "report", "-j", "-S", str(self.pid)], capture_output=True, text=True, env=ENVIRONMENT, check=False)
        return done.stdout if done.returncode == 0 else ""

    def wait(self, pattern):
        """Wait until the report matches the pattern, or the tool has ended."""
        wait_until(lambda: re.search(pattern, self.report()) or self.has_ended())

    def end(self):
        """End the session as Ctrl-C does."""
        if not self.has_ended():
            self.process.send_signal(signal.SIGINT)
        return self.result()

    def result(self):
        """Wait for the end of the session."""
        if not self.done:
            out = self.process.communicate(timeout=LIMIT)[0]
            row = re.search(r"^ +\w+ +(\d+) +(\d+) +(\d+)", out, re.M)
            total = re.search(r"^@\[\w+\]: (\d+)", out, re.M)
            self.done = Result(self.process.returncode, *([int(x) for x in row.groups()] if row else [0, 0, 0]), int(total[1]) if total else 0, out)
        return self.done


def open_session(gpubpf, pid, pattern):
    """Returns a session whose report matched the pattern. Attach again while the tool advises it."""
    def attempt():
        session = Session(gpubpf, pid)
        session.wait(pattern)
        return None if session.has_ended() and session.result().may_repeat() else session
    return wait_until(attempt) or Session(gpubpf, pid)


def run_again(attempt):
    """Returns the result of the first attempt that the tool does not advise to repeat."""
    def accept():
        result = attempt()
        return None if result.may_repeat() else result
    return wait_until(accept) or attempt()


def count_until(gpubpf, pid, pattern=PROBED):
    """The result of a session that ended when its report matched the pattern."""
    return run_again(lambda: open_session(gpubpf, pid, pattern).end())


def count_for(gpubpf, pid, seconds):
    """The result of a session of a fixed length."""
    return run_again(lambda: Session(gpubpf, pid, "-d", str(seconds)).result())
