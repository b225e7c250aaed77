#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sum the TAP output of all tests of a meson run: tally.py [OPTIONS] BUILD NAME... (meson test's arguments).

Prints each failed check with the output of its test, and each skipped check with its reason. The last line is
`N passed, N failed, N skipped`. A test that died, timed out or printed no check counts as one failure.

A test that fails once counts as failed. Up to RERUN failed tests are run once more, alone, to classify the failure. A test
that passes in the second run is UNSTABLE; a test that fails again is FAILED. The last lines name both kinds, with the
command that repeats each test and the path of its log.

    --repeat=COMMAND     the command that repeats a test, before its name; the default is meson
    --durations=FILE     write how long each passed test took (ci/select-tests reads the file)
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

CHECK = re.compile(r"^(not )?ok\b\s*\d*\s*-?\s*(.*?)(?:\s+#\s*(skip|todo)\b\S*\s*(.*))?$", re.IGNORECASE)
RERUN = 3
SLOWER = 4  # the time limits of tests are for an idle machine; a busy machine gets a multiple
# write_durations() replaces a duration that changed by more than this factor and by more than this number of seconds
CHANGED, SECONDS = 2, 5
ALL_SKIPPED = re.compile(r"^1\.\.0\s*#\s*skip\S*\s*(.*)$", re.IGNORECASE)


def reason(line):
    """The first line after a failed check, if it explains the failure: CI's log shows only few lines."""
    return f" ({line[1:].strip()[:200]})" if line.startswith("#") and line[1:].strip() else ""


def tally(test):
    passed, failed, skipped = 0, [], []
    lines = test.get("stdout", "").splitlines()
    for line, following in zip(lines, [*lines[1:], ""]):
        whole = ALL_SKIPPED.match(line)
        if whole:
            skipped.append(("all", whole.group(1)))
            continue
        check = CHECK.match(line)
        if not check:
            continue
        if check.group(3) and check.group(3).lower() == "skip":
            skipped.append((check.group(2), check.group(4)))
        elif check.group(1):
            failed.append(check.group(2) + reason(following))
        else:
            passed += 1
    if test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL") and not failed:
        failed.append(f"{test['result'].lower()} (exit status {test.get('returncode')})")
    if not passed and not failed and not skipped:
        failed.append("printed no check")
    return passed, failed, skipped


def run(build, arguments, log):
    """Run meson test. Return its exit status, the tests of its log, and its output."""
    # more tests than CPUs run at once, because many tests only wait for timeouts or for other processes
    threads = (os.cpu_count() or 1) * 3 // 2 + 1
    command = ["meson", "test", "-C", build, "--no-rebuild", "--num-processes", str(threads), "--timeout-multiplier", str(SLOWER), "--logbase", log, *arguments]
    path = pathlib.Path(build, "meson-logs", log + ".json")
    path.unlink(missing_ok=True)  # meson does not overwrite the log of an earlier run if no test matches
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            tests = [json.loads(line) for line in f if line.strip()]
    except OSError:
        tests = []
    return done.returncode, tests, done.stdout.decode(errors="replace")


def output(test):
    return ["    " + line for line in (test.get("stdout", "") + test.get("stderr", "")).splitlines()[-40:]]


def name_of(test):
    return test["name"].split(" / ")[-1]


def passes_alone(build, test):
    _, again, _ = run(build, [name_of(test)], "rerunlog")
    return len(again) == 1 and not tally(again[0])[1]


def write_log(folder, test):
    """Write the command, output and result of a failed test to a file. Return the path of the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (re.sub(r"[^\w.-]", "_", name_of(test)) + ".log")
    command = " ".join(shlex.quote(part) for part in test.get("command", []))
    path.write_text(f"$ {command}\n{test.get('stdout', '')}{test.get('stderr', '')}\n{test['result']}, exit status {test.get('returncode')}\n",
                    encoding="utf-8", errors="replace")
    return path


def write_durations(path, build, tests):
    """Update the durations of the tests that passed. Drop tests that the build does not contain; ignore small changes."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    known = {name: float(seconds) for name, seconds in (line.split("\t") for line in lines if line and not line.startswith("#"))}
    for test in tests:
        name, new = name_of(test), test.get("duration", 0)
        old = known.get(name)
        if test["result"] == "OK" and (old is None or abs(new - old) > SECONDS and max(new, old) > CHANGED * min(new, old)):
            known[name] = new
    try:
        with open(os.path.join(build, "meson-info/intro-tests.json"), encoding="utf-8") as f:
            names = {test["name"] for test in json.load(f)}
    except OSError:
        names = set(known)
    head = "# SPDX-License-Identifier: Apache-2.0\n# How many seconds each test took in a full run; ci/tally.py writes it, ci/select-tests reads it.\n"
    path.write_text(head + "".join(f"{name}\t{known[name]:.1f}\n" for name in sorted(known) if name in names), encoding="utf-8")


def main():
    options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith(("--repeat=", "--durations=")))
    build, *arguments = [a for a in sys.argv[1:] if not a.startswith(("--repeat=", "--durations="))]
    repeat = options.get("repeat", f"meson test -C {build} --no-rebuild")
    logs = pathlib.Path(build, "meson-logs/failed")
    shutil.rmtree(logs, ignore_errors=True)
    status, tests, text = run(build, arguments, "testlog")
    tallies = [tally(test) for test in tests]
    rerun = sum(bool(f) for _, f, _ in tallies) <= RERUN
    passed = failed = skipped = 0
    lines = []
    for test, (p, f, s) in zip(tests, tallies):
        passed, failed, skipped = passed + p, failed + len(f), skipped + len(s)
        for name, reason in s:
            print(f"SKIPPED {test['name']}: {name}: {reason}")
        if f:
            kind = "UNSTABLE" if rerun and passes_alone(build, test) else "FAILED"
            lines.append([f"{kind} {test['name']}: {'; '.join(f[:10])}",
                          f"    repeat: {repeat} {name_of(test)}", f"    log: {write_log(logs, test)}"])
            print(lines[-1][0], *output(test), *lines[-1][1:], sep="\n")
    if lines:
        print("", *(line for part in lines for line in part), sep="\n")
    if not tests or (status and not failed):
        print("\n".join(text.splitlines()[-30:]))
        failed += 1
    if "durations" in options:
        write_durations(pathlib.Path(options["durations"]), build, tests)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


sys.exit(main())
