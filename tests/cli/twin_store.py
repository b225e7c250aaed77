#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""twin_store.py GPUBPF APP: the on-disk cache of twins. A cached twin needs no worker, and is used only as long as its
inputs do not change. APP is included.c. Prints TAP."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import ok, plan, skip_all

gpubpf, app = (os.path.abspath(a) if os.path.exists(a) else a for a in sys.argv[1:])
ENTRY = "gpu/entry/bump { @n = count(); }"
scratch = tempfile.TemporaryDirectory()


def folder(name):
    path = os.path.join(scratch.name, name)
    os.makedirs(path, mode=0o700, exist_ok=True)
    return path


env = {k: v for k, v in os.environ.items() if not k.startswith("GPUBPF_") and k != "OPENCL_LAYERS"}
env |= {"XDG_RUNTIME_DIR": folder("run"), "XDG_CACHE_HOME": folder("cache"), "POCL_KERNEL_CACHE": "0"}
for icd in glob.glob("/etc/OpenCL/vendors/pocl*.icd"):
    env["OCL_ICD_VENDORS"] = icd
started = os.path.join(scratch.name, "started")


def copied_tool():
    """Makes a copy of the tool with its folders, in which each worker appends its name to a file when it starts."""
    tree, real = folder("tree"), os.path.dirname(gpubpf)
    for name in ("core/worker", "hooks"):
        os.makedirs(os.path.join(tree, name))
    shutil.copy(gpubpf, tree)
    shutil.copy(os.path.join(real, "hooks/libgpubpf-agent.so"), os.path.join(tree, "hooks"))
    for name in ("compile", "clread", "build"):
        worker, path = (os.path.join(d, "core/worker/gpubpf-" + name) for d in (real, tree))
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\necho {name} >> {started}\nexec {worker}\n")
        os.chmod(path, 0o755)
    return os.path.join(tree, "gpubpf")


def write(name, text):
    with open(os.path.join(folder(os.path.dirname(name)), os.path.basename(name)), "w", encoding="utf-8") as f:
        f.write(text)


def run(expression=ENTRY, options=None):
    """Returns the application's last word, the numbers of built and of cached twins, the names of started workers, and
    the counts."""
    report = os.path.join(scratch.name, "report")
    if os.path.exists(started):
        os.remove(started)
    options = options or f"-I{scratch.name}/first -I{scratch.name}/second"
    p = subprocess.run([tool, "run", "-j", "-r", report, "-e", expression, "--", app, options], env=env, capture_output=True,
                       text=True, timeout=600)
    with open(report, encoding="utf-8") as f:
        document = json.load(f)
    workers = open(started, encoding="utf-8").read().split() if os.path.exists(started) else []
    entries = [e["value"] for m in document["maps"] for e in m["entries"]]
    return p.stdout.split()[-1:][0], document["cost"]["twins"], document["cost"]["cached"], workers, entries


native = subprocess.run([app, f"-I{scratch.name}/second"], env=env, capture_output=True, text=True) if os.access(app, os.X_OK) else None
write("second/step.h", "7")
native = subprocess.run([app, f"-I{scratch.name}/second"], env=env, capture_output=True, text=True) if native else None
if not native or native.returncode != 42:
    skip_all("no OpenCL device")
tool = copied_tool()
got = run()
ok(got[:3] == ("7", 1, 0) and "build" in got[3], "a twin is made", got)
first = got[4]
got = run()
ok(got[:3] == ("7", 0, 1) and not got[3], "the next time no worker starts for it", got)
ok(got[4] == first and first, "and it counts as before", got)
got = run(ENTRY.replace("entry", "exit"))
ok(got[:3] == ("7", 1, 0), "another program has another twin", got)
got = run(options=f"-I{scratch.name}/first -I{scratch.name}/second -DOTHER")
ok(got[:3] == ("7", 1, 0), "so have other options", got)
write("second/step.h", "8")
got = run()
ok(got[:3] == ("8", 1, 0) and got[4] == first, "a file that it includes has changed", got)
ok(run()[1:4] == (0, 1, []), "and is as it was")
write("first/step.h", "9")
got = run()
ok(got[:3] == ("9", 1, 0) and got[4] == first, "another one is found before it", got)
os.remove(os.path.join(scratch.name, "first/step.h"))
got = run()
ok(got[0] == "8" and got[4] == first, "it is gone again", got)
write("second/step.h", "\n#if __has_include(\"more.h\")\n1\n#else\n2\n#endif\n")
run()
got = run()
ok(got[:3] == ("2", 1, 0) and set(got[3]) == {"clread", "build"} and got[4] == first,
   "of a source that asks for files a twin is made each time", got)
write("second/more.h", "")
got = run()
ok(got[:3] == ("1", 1, 0) and got[4] == first, "and has what it asks for", got)
for name in glob.glob(os.path.join(scratch.name, "cache/gpubpf/*.gpubpf")):
    with open(name, "r+b") as f:
        f.seek(40)
        f.write(b"\0\0\0\0")
write("second/step.h", "8")
got = run()
ok(got[0] == "8" and got[3] and got[4] == first, "what is damaged on disk is made anew", got)
plan()
