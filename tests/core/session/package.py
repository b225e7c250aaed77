#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""package.py SOURCE-ROOT BUILD-ROOT: tests the Python package with the built library. Prints TAP."""
import contextlib
import functools
import glob
import io
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
    # ctypes adds padding itself, so the structs in Python do not have these members
    return [n for n in names if not re.fullmatch(r"unused\d+", n)]


for name, struct_type in (("gpubpf_session_opts", gpubpf._Opts), ("gpubpf_report_opts", gpubpf._ReportOpts),
                          ("gpubpf_test_run_opts", gpubpf._TestRunOpts), ("gpubpf_print_record", gpubpf._Print), ("gpubpf_host_call", gpubpf._HostCall), ("gpubpf_event", gpubpf._Event)):
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
    ok(session.maps["counts"][struct.pack("=I", 1)] == session.maps["counts"][1] == 5, "a value that is put in is there")
    ok(session.maps["counts"].raw[1] == struct.pack("=Q", 5), "and as bytes in the raw map")
    ok(repr(session.maps["counts"]) == "<gpubpf.Map counts: ARRAY, key u32, value u64, room for 2>", "repr() of a map", session.maps["counts"])
    ok(repr(session) == "<gpubpf.Session 4 maps: counts, threads, records, probe.rodata>", "repr() of a session", session)
    ok("key has 4 bytes" in raised(ValueError, session.maps["counts"].__getitem__, b"x"), "a key of another size")
    ok("RINGBUF" in [m.type for m in session.maps.values()], "maps and their types", session.maps)
ok("closed" in raised(ValueError, session.poll), "a closed session")
why = raised(gpubpf.Error, gpubpf.Session, [], library="/none/libgpubpf.so")
ok("/none/libgpubpf.so" in why and "install libgpubpf" in why, "a library that there is not, and what to do", why)

# elements of maps as Python objects, and arrays as NumPy arrays
kinds = os.path.join(build, "tests/cli/elements.bpf.o")
sys.path += glob.glob(os.path.join(build, "deps/python/lib/python3*/site-packages"))
with gpubpf.Session([kinds], **common) as session:
    maps = session.maps
    maps["hash"][3] = -5
    ok(maps["hash"][3] == -5 and len(maps["hash"]) == 1 and struct.pack("=I", 3) in maps["hash"] and dict(maps["hash"]) == {3: -5},
       "numbers as keys and values", dict(maps["hash"]))
    ok("does not fit into the 8 bytes" in raised(ValueError, maps["hash"].__setitem__, 1, 1 << 64), "one that is too large")
    ok(maps["hash"].pop(3) == -5 and maps["hash"].pop(3, None) is None and not len(maps["hash"]), "pop() of a key")
    ok(raised(KeyError, maps["hash"].__delitem__, 3) == "3", "a key that is not there")
    maps["places"].push(struct.pack("=2i", 1, 2))
    ok(maps["places"].peek() == maps["places"].pop() == (1, 2), "a queue's values")
    maps["places"].push({"y": -4})
    ok(repr(maps["places"].pop()) == "place(x=0, y=-4)", "a struct from a dict")
    accesses = maps["accesses"]
    accesses[{"mode": "WRITE", "unit": "north", "at": (-1, 2)}] = "READ"
    (key, value), = accesses.items()
    ok((key.mode.name, key.unit, key.at.x, key.at.y, value.name, value) == ("WRITE", "north", -1, 2, "READ", 0), "a struct as a key", key)
    ok(accesses[key] == 0 and accesses["WRITE", "north", (-1, 2)] == 0 and key in accesses, "that finds its value")
    ok(accesses.raw[bytes(accesses._key(key)[0])] == bytes(4), "as bytes too")
    del accesses[key]
    ok(len(accesses) == 0, "and deletes it")
    ok("accesses: a key.mode: DELETE is not an enumerator; the enumerators are READ, WRITE" in
       raised(ValueError, accesses.__getitem__, {"mode": "DELETE"}), "an enumerator that is none")
    ok("has no member colour; it has mode, unit, at" in raised(ValueError, accesses.__getitem__, {"colour": 1}), "a member that is none")
    ok("'northern mile' has 13 bytes, but at most 8 fit" in raised(ValueError, accesses.__getitem__, {"unit": "northern mile"}), "a long text")
    ok("a key.at.x: 2147483648 does not fit into the 4 bytes" in raised(ValueError, accesses.__getitem__, {"at": (1 << 31, 0)}), "a number")
    ok("pass a dict or a tuple, not 5" in raised(ValueError, accesses.__getitem__, 5), "a number for a struct")
    maps["copies"][6] = 7
    ok(set(maps["copies"][6]) == {7}, "one value per multiprocessor")
    maps["copies"][6] = list(range(len(maps["copies"][6])))
    ok(maps["copies"][6] == list(range(len(maps["copies"][6]))), "each with a value")
    ok("values per key, not 0" in raised(ValueError, maps["copies"].__setitem__, 6, []), "too few values")
    data = maps["elements.data"][0]
    ok((data.threshold, data.at, data.limits) == (3, (1, 2), (4, 5, 6)), "variables", data)
    ok(maps["untyped"].update({b"abc": b"x"}) is None and dict(maps["untyped"]) == {b"abc": b"x"}, "bytes without types")
    ok("has 3 bytes, not 2" in raised(ValueError, maps["untyped"].__getitem__, b"ab") and
       "pass 3 bytes, not 'abc'" in raised(ValueError, maps["untyped"].__getitem__, "abc"), "of the right size")
    for n in range(4):
        maps["hash"][n] = n
    ok("hash: the map is full" in raised(gpubpf.Error, maps["hash"].__setitem__, 9, 9), "a full map")
    ok("elements.rodata: the map is read-only" in raised(gpubpf.Error, maps["elements.rodata"].__setitem__, 0, {"chosen": 1}), "constants")
    ok("room for 4>" in repr(accesses) and "key struct access, value enum mode" in repr(accesses), "repr() of a map of structs", accesses)
    ok(raised(KeyError, maps["places"].pop) == "'places is empty'", "an empty one")
    ok("a RINGBUF has no keys; events() returns its records" in raised(TypeError, maps["ring"].__getitem__, 0), "nor has a ring")
    ok("a QUEUE has no keys; use push()" in raised(TypeError, maps["places"].__getitem__, 0), "which has no keys")
    seen = maps["array"].memory()
    maps["array"][1] = struct.pack("=f", 2.5)
    ok(maps["array"][1] == 2.5 and seen.readonly and bytes(seen[8:12]) == struct.pack("=f", 2.5), "an array's memory, which is no copy")
    ok("it is not an array" in raised(gpubpf.Error, maps["hash"].memory), "a hash has none such")
    try:
        import numpy
    except ImportError:
        skip("NumPy", "it is not installed (ci/deps python)")
        numpy = None
    if numpy:
        view = maps["array"].array()
        maps["array"][3] = struct.pack("=f", -1)
        ok(view.tolist() == [0, 2.5, 0, -1], "a view of NumPy's has what is put in later", view)
        ok("read-only" in raised(ValueError, view.__setitem__, 0, 1), "and cannot be written to")
        ok("dtype has 8" in raised(ValueError, maps["array"].array, "f8"), "a type of another size")
        of = maps["elements.data"].array([("threshold", "u8"), ("at", "i4", 2), ("limits", "u4", 3)])
        typed = maps["elements.data"].array()
        ok(typed.dtype.names == ("threshold", "at", "limits") and typed["at"]["y"][0] == 2 and typed["limits"].tolist() == [[4, 5, 6]],
           "variables as a structured array", typed)
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
direct = os.path.join(build, "tests/cli/sum.direct.bpf.o")
with gpubpf.Session([direct], **common) as session:
    run = session.test_run("sum", data=struct.pack("=4Q", 1, 2, 3, 4), grid=(2,), block=(4, 1, 1), repeat=2, backend="opencl")
    ok(run.retval == 42 and struct.unpack("=4Q", run.data) == (13, 22, 31, 40), "a direct run: result and data", run)
    ok(run.backend == "opencl" and run.device and 0 < run.duration_min_ns <= run.duration_ns, "its device and times", run)
    ok(session.maps["counts"][0] == 16, "its maps")
    ok("no program 'none'" in raised(ValueError, session.test_run, "none"), "a program that there is not")
    ok("needs a kernel of an application" in raised(gpubpf.Error, session.test_run, "entry"), "a program for kernels")
events, prints = [], []
with gpubpf.Session([probe], on_event=events.append, on_print=prints.append, **common) as session:
    status = session.run([loop, "3", "0"], stdout=subprocess.DEVNULL)
    session.stop()
    counts, kernels = dict(session.maps["counts"]), session.kernels
    report = session.report()
ok(status == 42 and counts == {0: 3072, 1: 3072}, "exact counts", (status, counts))
ok([(e.value.launch, e.value.thread) for e in events] == [(0, 5), (1, 5), (2, 5)] and events[0].map == "records",
   "records as they came", events)
ok(struct.unpack("=QII", events[2].data)[:2] == (2, 5), "and their bytes")
ok(kernels[:1] == ["step_one"], "the names of kernels", kernels)
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

# the tutorial of the README prints what it says
tutorial = open(os.path.join(root, "python/README.md"), encoding="utf-8").read()
blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", tutorial, re.S)
for name, target in (("app", loop), ("probe.bpf.o", probe),
                     ("kernel-counter.bpf.o", os.path.join(build, "examples/kernel-counter/kernel-counter.bpf.o"))):
    os.symlink(target, os.path.join(scratch.name, name))
before, real = os.getcwd(), gpubpf.Session
os.chdir(scratch.name)
gpubpf.Session = functools.partial(real, **common)
space = {}
for n, (code, expected) in enumerate(blocks):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, space)
    lines = [line for line in printed.getvalue().splitlines(True) if not line.startswith("checksum")]
    ok("".join(lines) == expected, f"step {n + 1} of the tutorial", printed.getvalue())
ok(len(blocks) == 3, "the tutorial has its steps", len(blocks))
gpubpf.Session = real
os.chdir(before)

# a user installs the package
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
