#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""package.py SOURCE-ROOT BUILD-ROOT: tests the Python package with the built library. Prints TAP."""
import glob
import os
import re
import shutil
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
    return [n for n in names if not re.fullmatch(r"unused\d+", n)] # ctypes adds these itself


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
why = raised(gpubpf.Error, gpubpf.Session, [], library="/none/libgpubpf.so")
ok("/none/libgpubpf.so" in why and "install libgpubpf" in why, "a library that there is not, and what to do", why)

# maps as Python objects, and as NumPy arrays
kinds = os.path.join(build, "tests/cli/elements.bpf.o")
sys.path += glob.glob(os.path.join(build, "deps/python/lib/python3*/site-packages"))
with gpubpf.Session([kinds], **common) as session:
    maps = session.maps
    maps["hash"][3] = -5
    ok(maps["hash"][3] == struct.pack("=q", -5) and len(maps["hash"]) == 1 and struct.pack("=I", 3) in maps["hash"],
       "numbers as keys and values", dict(maps["hash"]))
    ok("does not fit into the 8 bytes" in raised(ValueError, maps["hash"].__setitem__, 1, 1 << 64), "one that is too large")
    ok(maps["hash"].pop(3) == struct.pack("=q", -5) and maps["hash"].pop(3, None) is None and not len(maps["hash"]), "pop() of a key")
    ok(raised(KeyError, maps["hash"].__delitem__, 3) == "3", "a key that is not there")
    maps["places"].push(struct.pack("=2i", 1, 2))
    ok(maps["places"].peek() == maps["places"].pop() == struct.pack("=2i", 1, 2), "a queue's values")
    ok(raised(KeyError, maps["places"].pop) == "'places is empty'", "an empty one")
    ok("a RINGBUF has no keys; events() returns its records" in raised(TypeError, maps["ring"].__getitem__, 0), "nor has a ring")
    ok("a QUEUE has no keys; use push()" in raised(TypeError, maps["places"].__getitem__, 0), "which has no keys")
    seen = maps["array"].memory()
    maps["array"][1] = struct.pack("=f", 2.5)
    ok(seen.readonly and bytes(seen[8:12]) == struct.pack("=f", 2.5), "an array's memory, which is no copy")
    ok("it is not an array" in raised(gpubpf.Error, maps["hash"].memory), "a hash has none such")
    try:
        import numpy
    except ImportError:
        skip("NumPy", "it is not installed (ci/deps python)")
        numpy = None
    if numpy:
        view = maps["array"].array("f4")
        maps["array"][3] = struct.pack("=f", -1)
        ok(view.tolist() == [0, 2.5, 0, -1], "a view of NumPy's has what is put in later", view)
        ok("read-only" in raised(ValueError, view.__setitem__, 0, 1), "and cannot be written to")
        ok("dtype has 8" in raised(ValueError, maps["array"].array, "f8"), "a type of another size")
        of = maps["elements.data"].array([("threshold", "u8"), ("at", "i4", 2), ("limits", "u4", 3)])
        ok(of["threshold"][0] == 3 and of["limits"][0].tolist() == [4, 5, 6], "a structured one", of)
        copied = maps["array"].array("f4", copy=True)
        maps["array"][3] = bytes(4)
        ok(copied.tolist() == [0, 2.5, 0, -1] and view[3] == 0, "a copy is one", copied)
if numpy:
    ok(view.tolist() == [0, 2.5, 0, 0], "a view outlives its session")
    ok("closed" in raised(ValueError, maps["array"].array), "of which there are no more")

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
with gpubpf.Session([probe], **common) as session:
    found = [struct.unpack("=QII", e.data)[:2] for e in session.events([loop, "3", "0"], stdout=subprocess.DEVNULL)]
    ok(found == [(0, 5), (1, 5), (2, 5)] and session.status == 42, "events() has them all, to the program's end", found)
    for event in session.events([loop, "3", "200"], stdout=subprocess.DEVNULL):
        break
    ok(event.map == "records" and session.status == 42, "who stops before waits for it", (event, session.status))
    ok("several values" in raised(gpubpf.Error, session.maps["counts"].array) if numpy else True, "sums have no view")
    counts = session.maps["counts"].array(copy=True).tolist() if numpy else [6144, 6144]
    ok(counts == [6144, 6144], "but a copy", counts)


def fails(_):
    raise RuntimeError("of the caller")


with gpubpf.Session([probe], on_event=fails, **common) as session:
    ok(raised(RuntimeError, session.run, [loop, "1", "0"], stdout=subprocess.DEVNULL) == "of the caller",
       "what a callback raises comes out of run()")

# the installation by a user
if subprocess.run([sys.executable, "-c", "import pip, setuptools, venv, wheel"], capture_output=True).returncode:
    skip("pip install", "no pip, venv, setuptools or wheel")
    plan()
copy, venv = (os.path.join(scratch.name, n) for n in ("python", "venv"))
shutil.copytree(os.path.join(root, "python"), copy)
subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", venv], capture_output=True)
done = subprocess.run([sys.executable, "-m", "pip", "--python", venv + "/bin/python", "install", "--no-build-isolation", "--no-index",
                       "--no-deps", copy], capture_output=True, text=True)
where = subprocess.run([venv + "/bin/python", "-c", "import gpubpf; print(gpubpf.__file__)"], capture_output=True, text=True, cwd="/").stdout
ok(done.returncode == 0 and where.startswith(venv), "pip install", (done.stdout, done.stderr, where))
plan()
