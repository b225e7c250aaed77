# SPDX-License-Identifier: Apache-2.0
"""A terminal for tests: runs a program on a pseudo-terminal and keeps the screen that the program has drawn."""
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

CSI = re.compile(r"\x1b\[([?>]?)([\d;]*)([@-~])")
OTHER = re.compile(r"\x1b(?:[()][0-9A-B]|[=>78M])")


class Screen:
    """Interprets the control sequences that ncurses sends for TERM=xterm."""

    def __init__(self, lines, columns):
        self.text, self.styles = "", set()
        self.resize(lines, columns)

    def resize(self, lines, columns):
        self.lines, self.columns, self.y, self.x = lines, columns, 0, 0
        self.cells = [[" "] * columns for _ in range(lines)]

    def rows(self):
        return ["".join(row).rstrip() for row in self.cells]

    def put(self, c):
        if self.x < self.columns and self.y < self.lines:
            self.cells[self.y][self.x] = self.last = c
        self.x += 1

    def erase(self, y, begin, end):
        self.cells[y][begin:end] = [" "] * (min(end, self.columns) - begin)

    def control(self, private, numbers, final):
        values = [int(v) if v else 0 for v in numbers.split(";")] if numbers else [0]
        n = values[0] or 1
        if private or final in "hlrt":
            return
        if final in "Hf":
            self.y, self.x = n - 1, (values[1] if len(values) > 1 else 1) - 1
        elif final in "ABCD":
            self.y += {"A": -n, "B": n}.get(final, 0)
            self.x += {"C": n, "D": -n}.get(final, 0)
        elif final in "Gd":
            self.x, self.y = (n - 1, self.y) if final == "G" else (self.x, n - 1)
        elif final == "J":
            below = range(self.lines) if values[0] == 2 else range(self.y + 1, self.lines)
            self.erase(self.y, 0 if values[0] == 2 else self.x, self.columns)
            for y in below:
                self.erase(y, 0, self.columns)
        elif final == "K":
            self.erase(self.y, 0 if values[0] else self.x, self.x + 1 if values[0] == 1 else self.columns)
        elif final == "X":
            self.erase(self.y, self.x, self.x + n)
        elif final == "b":
            for _ in range(n):
                self.put(self.last)
        elif final == "P":
            row = self.cells[self.y]
            self.cells[self.y] = (row[:self.x] + row[self.x + n:] + [" "] * n)[:self.columns]
        elif final == "@":
            row = self.cells[self.y]
            self.cells[self.y] = (row[:self.x] + [" "] * n + row[self.x:])[:self.columns]
        elif final in "LM":
            gone = [[" "] * self.columns for _ in range(n)]
            below = self.cells[self.y:]
            self.cells[self.y:] = (gone + below)[:len(below)] if final == "L" else below[n:] + gone
        elif final == "m":
            self.styles.update(values)
        else:
            raise ValueError(f"the screen does not know the sequence {numbers}{final}")

    def feed(self, text):
        self.text += text
        while self.text:
            match = CSI.match(self.text) or OTHER.match(self.text)
            if match and match.re is CSI:
                self.control(*match.groups())
            if match:
                self.text = self.text[match.end():]
                continue
            c = self.text[0]
            if c == "\x1b" and len(self.text) < 32:
                return  # the rest of the sequence has not arrived
            if c == "\r":
                self.x = 0
            elif c == "\n":
                self.y = min(self.y + 1, self.lines - 1)
            elif c == "\b":
                self.x = max(self.x - 1, 0)
            elif c >= " ":
                self.put(c)
            self.text = self.text[1:]


class Terminal:
    """A program on a pseudo-terminal."""

    def __init__(self, command, lines=24, columns=80, **env):
        self.screen, self.raw, self.status = Screen(lines, columns), "", None
        self.pid, self.fd = pty.fork()
        if not self.pid:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            os.execvpe(command[0], command, {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **env})

    def resize(self, lines, columns):
        self.screen.resize(lines, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def send(self, keys):
        os.write(self.fd, keys.encode())

    def read(self, seconds):
        """Reads output for at most `seconds`. Returns False at the end of the output."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.fd], [], [], left)[0]:
                return True
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                data = b""
            if not data:
                return False
            self.raw += data.decode("utf-8", "replace")
            self.screen.feed(data.decode("utf-8", "replace"))
        return True

    def until(self, condition, seconds=120):
        """Waits until condition(rows) is true. Returns its value."""
        end = time.monotonic() + seconds
        while not (value := condition(self.screen.rows())) and time.monotonic() < end:
            if not self.read(0.1):
                return condition(self.screen.rows())
        return value

    def wait(self, seconds=120):
        """Waits for the end of the program. Returns its exit status, or None if it still runs."""
        end = time.monotonic() + seconds
        while self.status is None and time.monotonic() < end:
            self.read(0.1)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                while self.read(0.1):
                    break
        return self.status

    def echoes(self):
        """Returns True if the terminal is in its normal mode: it echoes, and reads lines."""
        flags = termios.tcgetattr(self.fd)[3]
        return bool(flags & termios.ECHO and flags & termios.ICANON)
