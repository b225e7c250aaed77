#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package over the built library: package.py SOURCE-ROOT BUILD-ROOT (TAP)."""
import glob
import os
import re
import struct
import subprocess
import sys
import tempfile

root, build = (os.path.abspath(a) for a in sys.argv[1:3])
sys.path.insert(0, os.path.join(root, "python"))
sys.path.append(os.path.join(root, "tests"))
import gpubpf  # noqa: E402
from tap import ok, plan, skip  # noqa: E402

probe = os.path.join(build, "tests/cli/probe.bpf.o")
loop = os.path.join(build, "tests/cli/loop")
scratch = tempfile.TemporaryDirectory()
common = {"library": os.path.join(build, "libgpubpf.so"), "runtime_dir": os.path.join(scratch.name, "run")}


def raised(kind, call, *args, **settings):
    try:
        call(*args, **settings)
    except kind as error:
        return str(error)
    return ""


header = open(os.path.join(root, "include/gpubpf/gpubpf.h"), encoding="utf-8").read()


def members(name):
    body = re.sub(r"/\*.*?\*/", "", re.search(rf"struct {name} {{(.*?)\n}};", header, re.S)[1], flags=re.S)
    names = [n for line in body.split(";") for n in re.findall(r"(\w+)(?:\[\d+\])?(?:,|$)", line.strip())]
    return [n for n in names if not re.fullmatch(r"unused\d+", n)] # what ctypes leaves there by itself


for name, struct_type in (("gpubpf_session_opts", gpubpf._Opts), ("gpubpf_report_opts", gpubpf._ReportOpts),
                          ("gpubpf_print_record", gpubpf._Print), ("gpubpf_event", gpubpf._Event)):
    ours = [n for n, _ in struct_type._fields_]
    ok(ours == members(name)[:len(ours)], f"{name} begins as in the header", (ours, members(name)))
version = re.search(r'^version = "(.*)"', open(os.path.join(root, "python/pyproject.toml"), encoding="utf-8").read(), re.M)[1]
ok(version == gpubpf._load(common["library"]).gpubpf_version_string().decode(), "the package has the library's version", version)
why = raised(gpubpf.Error, gpubpf.Session, [os.path.join(build, "tests/cli/bad.bpf.o")], **common)
ok("may be NULL" in why and "try: " in why, "an unsafe program is refused with the whole diagnostic", why)
ok("no such setting" in raised(TypeError, gpubpf.Session, [probe], waits=3, **common), "a setting that there is not")
with gpubpf.Session([probe], **common) as session:
    ok(session.run(["sh", "-c", "exit 7"]) == 7, "a program's status")
    session.maps["counts"][struct.pack("=I", 1)] = struct.pack("=Q", 5)
    ok(session.maps["counts"][struct.pack("=I", 1)] == struct.pack("=Q", 5), "a value that is put in is there")
    ok("key has 4 bytes" in raised(ValueError, session.maps["counts"].__getitem__, b"x"), "a key of another size")
    ok("RINGBUF" in [m.type for m in session.maps.values()], "maps and their types", session.maps)
ok("closed" in raised(ValueError, session.poll), "a closed session")

icds = glob.glob("/etc/OpenCL/vendors/pocl*.icd")
if not icds or not os.path.exists(loop):
    skip("kernels", "no OpenCL device")
    plan()
os.environ["OCL_ICD_VENDORS"] = icds[0]
events, prints = [], []
with gpubpf.Session([probe], on_event=events.append, on_print=prints.append, **common) as session:
    status = session.run([loop, "3", "0"], stdout=subprocess.DEVNULL)
    session.stop()
    counts = {struct.unpack("=I", k)[0]: struct.unpack("=Q", v)[0] for k, v in session.maps["counts"].items()}
    report = session.report()
ok(status == 42 and counts == {0: 3072, 1: 3072}, "exact counts", (status, counts))
ok([struct.unpack("=QII", e.data)[:2] for e in events] == [(0, 5), (1, 5), (2, 5)] and events[0].map == "records",
   "records as they came", events)
ok([(p.kernel, p.launch, p.thread[0]) for p in prints] == [("step_one", n, 5) for n in range(3)], "prints too", prints)
ok(report["kernels"][0]["probed"] == 3, "the report", report["kernels"])


def fails(_):
    raise RuntimeError("of the caller")


with gpubpf.Session([probe], on_event=fails, **common) as session:
    ok(raised(RuntimeError, session.run, [loop, "1", "0"], stdout=subprocess.DEVNULL) == "of the caller",
       "what a callback raises comes out of run()")
plan()
