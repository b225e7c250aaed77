#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sum the TAP output of all tests of a meson run: tally.py BUILD SUITE... (meson test's arguments).

Prints each failed check with the output of its test, each skipped one with its reason, and last
`N passed, N failed, N skipped`. A test that died, timed out or printed no check counts as one failure.

Up to RERUN tests that failed are run once more, alone: a busy machine can starve a test that shares it with
others. One that then passes is named as UNSTABLE, with what had failed; one that fails again is FAILED.
"""
import json
import pathlib
import re
import subprocess
import sys

CHECK = re.compile(r"^(not )?ok\b\s*\d*\s*-?\s*(.*?)(?:\s+#\s*(skip|todo)\b\S*\s*(.*))?$", re.IGNORECASE)
RERUN = 3
ALL_SKIPPED = re.compile(r"^1\.\.0\s*#\s*skip\S*\s*(.*)$", re.IGNORECASE)


def tally(test):
    passed, failed, skipped = 0, [], []
    for line in test.get("stdout", "").splitlines():
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
            failed.append(check.group(2))
        else:
            passed += 1
    if test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL") and not failed:
        failed.append(f"{test['result'].lower()} (exit status {test.get('returncode')})")
    if not passed and not failed and not skipped:
        failed.append("printed no check")
    return passed, failed, skipped


def run(build, arguments, log):
    """Run meson test. Its exit status, the tests of its log, and its output."""
    command = ["meson", "test", "-C", build, "--no-rebuild", "--logbase", log, *arguments]
    path = pathlib.Path(build, "meson-logs", log + ".json")
    path.unlink(missing_ok=True)  # where no test is run meson leaves that of an earlier run
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            tests = [json.loads(line) for line in f if line.strip()]
    except OSError:
        tests = []
    return done.returncode, tests, done.stdout.decode(errors="replace")


def output(test):
    return ["    " + line for line in (test.get("stdout", "") + test.get("stderr", "")).splitlines()[-40:]]


def rerun(build, test, failures):
    """Run a failed test alone; what stands of it."""
    _, again, _ = run(build, [test["name"].split(" / ")[-1]], "rerunlog")
    if len(again) != 1 or tally(again[0])[1]:
        return again[0] if len(again) == 1 else test
    print(f"UNSTABLE {test['name']}: passed alone; with others: {'; '.join(failures[:10])}", *output(test), sep="\n")
    return again[0]


def main():
    build, arguments = sys.argv[1], sys.argv[2:]
    status, tests, text = run(build, arguments, "testlog")
    failures = [tally(test)[1] for test in tests]
    if 0 < sum(map(bool, failures)) <= RERUN:
        tests = [rerun(build, test, f) if f else test for test, f in zip(tests, failures)]
    passed = failed = skipped = 0
    for test in tests:
        p, f, s = tally(test)
        passed, failed, skipped = passed + p, failed + len(f), skipped + len(s)
        for name, reason in s:
            print(f"SKIPPED {test['name']}: {name}: {reason}")
        if f:
            print(f"FAILED {test['name']}: {'; '.join(f[:10])}", *output(test), sep="\n")
    if not tests or (status and not any(failures)):
        print("\n".join(text.splitlines()[-30:]))
        failed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


sys.exit(main())
