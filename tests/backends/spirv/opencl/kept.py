#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kept.py BUILD pocl|intel: programs that are compiled when a device is opened are stored in the user's cache. Prints
TAP.

A layer of the tests (tests/tools/ndcount.c) counts programs made from source. A file must be ignored and made again if
it is truncated, contains the data of another key, or is refused by the runtime. The device must work the same each
time."""
import glob
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
from tap import ok, plan, skip_all

build, runtime = os.path.abspath(sys.argv[1]), sys.argv[2]
icd = os.environ.get("GPUBPF_TEST_INTEL", "") if runtime == "intel" else (glob.glob("/etc/OpenCL/vendors/pocl*.icd") or [""])[0]
if not os.path.exists(icd):
    skip_all(f"{runtime} is not installed")
work = tempfile.TemporaryDirectory()
cache, sources = f"{work.name}/cache", f"{work.name}/sources"
DIGEST = 32
AT_KEY, TEN = DIGEST + 8 + 4, 10  # offset of the key's length in the file, after magic and digest


def run(*command, cache=cache, expect=0, setting=None):
    """Returns the program's output, and the number of OpenCL programs that it made from source."""
    open(sources, "w", encoding="utf-8").close()
    env = dict(os.environ, OCL_ICD_VENDORS=icd, XDG_CACHE_HOME=cache, XDG_RUNTIME_DIR=work.name, NDSOURCES=sources,
               OPENCL_LAYERS=f"{build}/tests/tools/libndcount.so")
    env.update(setting or {})
    env.setdefault("POCL_CACHE_DIR", f"{work.name}/pocl")
    got = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    ok(got.returncode == expect, f"exit status {expect}", got.returncode, got.stderr)
    with open(sources, encoding="utf-8") as lines:
        return got.stdout, len(lines.readlines())


def opened(**how):
    return run(f"{build}/gpubpf", "device", "list", "--backend", "opencl", "-j", **how)


def cached_file():
    found = glob.glob(f"{cache}/gpubpf/devices/*")
    return found[0] if len(found) == 1 else None


def content():
    with open(cached_file(), "rb") as file:
        return file.read()


def write_cached(data):
    with open(cached_file(), "wb") as file:
        file.write(data)


def signed(data):
    """Returns the data with a digest that matches its changed content."""
    return hashlib.sha256(data[DIGEST:]).digest() + data[DIGEST:]


def is_made_anew(text):
    out, made = opened()
    ok(out == first and made == 1, f"{text} is made anew", made, out)
    out, made = opened()
    ok(out == first and made == 0, "and is there the next time", made, out)


first, made = opened()
ok(made == 1 and cached_file(), f"{runtime}: the first time a program is compiled and kept", made, first)
if not cached_file():
    plan()
    sys.exit(1)
ok(stat.S_IMODE(os.stat(cached_file()).st_mode) == 0o600, "for its user alone")
ok(stat.S_IMODE(os.stat(os.path.dirname(cached_file())).st_mode) == 0o700, "in a folder of his own")
again, made = opened()
ok(made == 0 and again == first, "then none is, and the device is the same", made, again)
other = {"CL_CONFIG_CPU_TARGET_ARCH": "corei7"} if runtime == "intel" else {"POCL_WORK_GROUP_METHOD": "loops"}
for how, there in ((other, 0), (None, 0), (other, 1), (None, 1)):
    out, made = opened(cache=f"{work.name}/settings", setting=how)
    ok(made == 1 - there, f"{how or 'no setting'}: it is {'there' if there else 'made'}", made, out)
whole = content()
write_cached(whole[:len(whole) // 2])
is_made_anew("half of it")
whole = content()
write_cached(whole[:-TEN] + bytes(b ^ 1 for b in whole[-TEN:]))
is_made_anew("what is not as it was written")
whole = content()
write_cached(signed(whole[:AT_KEY] + bytes(b ^ 1 for b in whole[AT_KEY:AT_KEY + TEN]) + whole[AT_KEY + TEN:]))
is_made_anew("what is for another processor")
whole = content()
size = int.from_bytes(whole[AT_KEY - 4:AT_KEY], "little")
binary = AT_KEY + size + 4
write_cached(signed(whole[:binary] + bytes(len(whole) - binary)))
is_made_anew("what the runtime does not take")

folder, whole = os.path.dirname(cached_file()), content()
os.chmod(folder, 0o755)
out, made = opened()
ok(out == first and made == 1 and content() == whole, "a folder that others see into is not used", made)
os.chmod(folder, 0o700)
with open(f"{work.name}/file", "w", encoding="utf-8"):
    pass
out, made = opened(cache=f"{work.name}/file")
ok(out == first and made == 1, "nor one that cannot be made: the device opens without", made)

loop = [f"{build}/gpubpf", "run", "-q", "-o", f"{build}/tests/cli/probe.bpf.o", "--", f"{build}/tests/cli/loop", "1", "0"]
other = f"{work.name}/other"
run(*loop, cache=other, expect=42)
out, made = opened(cache=other)
ok(made == 0 and out == first, "an application under a session keeps it for all", made)

# the runtime's settings belong to a twin's cache key, even if only the application's environment has them
settings = {"CL_CONFIG_CPU_TARGET_ARCH": "corei7", "CL_CONFIG_CPU_VECTORIZER_MODE": "1"} if runtime == "intel" else {
    "POCL_EXTRA_BUILD_FLAGS": "-DNOTHING=1", "POCL_WORK_GROUP_METHOD": "loops"}
report = f"{work.name}/report"


def run_session(where, text, hits):
    """Runs a program in a session. The settings are in the environment of both, or of the program only."""
    inner = ["env"] + [f"{name}={value}" for name, value in settings.items()] if where == "inside" else []
    command = loop[:2] + ["-j", "-r", report] + loop[3:6] + inner + loop[6:]
    run(*command, cache=f"{work.name}/told", expect=42, setting=settings if where == "outside" else None)
    with open(report, encoding="utf-8") as file:
        got = json.load(file)
    probed = [(k["probed"], k["launches"], k["reason"]) for k in got["kernels"]]
    ok(probed == [(1, 1, "")], f"{text}: its kernel is probed", probed, got["notes"])
    ok((got["cost"]["cached"] > 0) == hits, f"{text}: its twin is {'there' if hits else 'made'}", got["cost"])


run_session("nowhere", "nothing told", False)
run_session("outside", "what the runtime is told", False)
run_session("inside", "the same in the program's environment alone", True)
run_session("nowhere", "nothing told again", True)
shutil.rmtree(f"{work.name}/told")
run_session("inside", "in the program's alone, the first time", False)
run_session("outside", "and in both", True)
plan()
