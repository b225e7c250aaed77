# SPDX-License-Identifier: Apache-2.0
"""The Test Anything Protocol for gpubpf's Python tests, like tests/tap.h for the C tests."""
import os
import sys

count = failed = 0
places = set()


def ok(good, text, *why):
    """Reports one test; `why` explains a failure."""
    global count, failed
    count += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {text}", flush=True)
    for line in why if not good else ():
        print("# " + str(line)[:4000].strip().replace("\n", "\n# "), flush=True)


def skip(text, why):
    global count
    count += 1
    print(f"ok {count} - {text} # SKIP {why}", flush=True)


def skip_all(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def ran(target, place):
    """Records that programs at a place worked with a target; see tests/tap.h."""
    places.add(f"{target} {place}")


def write_ran():
    folder = os.environ.get("GPUBPF_TEST_RAN")
    if folder and not failed:
        os.makedirs(folder, exist_ok=True)
        for name in places:
            open(os.path.join(folder, name), "w", encoding="ascii").close()


def plan():
    write_ran()
    print(f"1..{count}")
    sys.exit(failed > 0)
