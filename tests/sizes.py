# SPDX-License-Identifier: Apache-2.0
"""What a process holds: tests of gpubpf attach compare it before and after sessions."""
import os
import time

LIMIT = 400  # seconds for each condition


def wait_until(condition, seconds=LIMIT):
    """Returns the condition's value once it is true, or after the time limit."""
    until = time.time() + seconds
    while not (value := condition()) and time.time() < until:
        time.sleep(0.05)
    return value


class Sized:
    """A process with the number self.pid."""
    def sizes(self):
        """Returns the numbers of descriptors, of mappings of data files, memfds and devices, and of threads."""
        maps = open(f"/proc/{self.pid}/maps", encoding="ascii").read().splitlines()
        files = [line for line in maps if "/" in line and "kcache" not in line and ".so" not in line.split("/")[-1]]
        return len(os.listdir(f"/proc/{self.pid}/fd")), len(files), len(os.listdir(f"/proc/{self.pid}/task"))

    def smallest(self):
        """The sizes once the threads of earlier sessions have ended. A thread of a tool that was killed waits 2 s."""
        sizes = self.sizes()
        for _ in range(80):
            time.sleep(0.05)
            sizes = min(sizes, self.sizes())
        return sizes

    def returns_to(self, first):
        """Wait until no size exceeds its first value. Threads of a session that was killed end seconds later."""
        return wait_until(lambda: all(now <= old for now, old in zip(self.sizes(), first)))
