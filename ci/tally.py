#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sum the TAP output of all tests of a meson run: tally.py TESTLOG.JSON TEST.LOG STATUS.

Prints each failed check with the output of its test, each skipped one with its reason, and last
`N passed, N failed, N skipped`. A test that died, timed out or printed no check counts as one failure.
"""
import json
import re
import sys

CHECK = re.compile(r"^(not )?ok\b\s*\d*\s*-?\s*(.*?)(?:\s+#\s*(skip|todo)\b\S*\s*(.*))?$", re.IGNORECASE)
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


def main():
    log, text, status = sys.argv[1], sys.argv[2], int(sys.argv[3])
    try:
        with open(log, encoding="utf-8", errors="replace") as f:
            tests = [json.loads(line) for line in f if line.strip()]
    except OSError:
        tests = []
    passed = failed = skipped = 0
    for test in tests:
        p, f, s = tally(test)
        passed, failed, skipped = passed + p, failed + len(f), skipped + len(s)
        for name, reason in s:
            print(f"SKIPPED {test['name']}: {name}: {reason}")
        if f:
            tail = (test.get("stdout", "") + test.get("stderr", "")).splitlines()[-40:]
            print(f"FAILED {test['name']}: {'; '.join(f[:10])}", *("    " + line for line in tail), sep="\n")
    if not tests or (status and not failed):
        with open(text, encoding="utf-8", errors="replace") as f:
            print("".join(f.readlines()[-30:]))
        failed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


sys.exit(main())
