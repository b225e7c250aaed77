#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""idle.py IDLE PREPARED DRIVER OTHER CUDA APP AGENT: applications with the idle library run as without it.

IDLE is the library. PREPARED is prepared.c, DRIVER and OTHER are builds of driver.c. APP uses the fake CUDA driver CUDA in many ways; AGENT is the agent."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
import tap

IDLE, PREPARED, DRIVER, OTHER, CUDA, APP, AGENT = map(os.path.abspath, sys.argv[1:8])
LOADED_MAX = 20 * 1024  # limit of the loaded bytes
CLEAN = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "GPUBPF_SESSION")}


def run(*command, preload=(), **variables):
    env = {**CLEAN, **variables}
    if preload:
        env["LD_PRELOAD"] = ":".join(preload)
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)
    return done.returncode, done.stdout, done.stderr


def same(name, *command, preload=(), **variables):
    """The command's results are the same with the idle library, first or last in LD_PRELOAD."""
    native = run(*command, preload=preload, **variables)
    for order in ((IDLE, *preload), (*preload, IDLE)):
        got = run(*command, preload=order, **variables)
        tap.ok(got == native, name, native, got)


def expect(name, text, *words, preload=()):
    got = run(PREPARED, *words, preload=preload)
    tap.ok(got == (0, text, ""), name, got)


def test_file():
    rows = subprocess.run(["readelf", "-lWd", IDLE], capture_output=True, text=True, check=True).stdout
    loads = re.findall(r"^ +LOAD +\S+ +\S+ +\S+ +\S+ +(0x[0-9a-f]+)", rows, re.M)
    size = sum(int(x, 16) for x in loads)
    tap.ok(0 < size <= LOADED_MAX, f"{size} bytes are loaded, at most {LOADED_MAX}")
    tap.ok("NEEDED" not in rows and "INIT" not in rows, "it links no library and has no constructor", rows)
    symbols = subprocess.run(["nm", "-D", IDLE], capture_output=True, text=True, check=True).stdout
    tap.ok("@" not in symbols, "it needs no version of a symbol, so it loads with every C library", symbols)


def test_lookups():
    expect("without a driver: calls fail, and look-ups find nothing",
           "cuLaunch 500\ncuModuleUnload 500\nclCreateKernel (nil)\nclSetKernelArg -59\ndlsym (nil)\ndlerror 1\n", "missing", preload=[IDLE])
    same("functions that it does not know", PREPARED, "unknown")
    same("descriptors and threads", PREPARED, "sizes")
    expect("a call from another library's constructor", "early 21\n", "early", preload=[IDLE, DRIVER])
    expect("fork and exec", "parent 21\nchild 31\nearly 21\n", "fork", preload=[IDLE, DRIVER])
    expect("another library with the driver's names", "other 120\nown 21\nother 120\n", "second", OTHER, preload=[IDLE, DRIVER])


def test_system_file():
    """A machine whose /etc/ld.so.preload names the library."""
    script = 'mkdir "$0/etc" && cp /etc/ld.so.cache "$0/etc" && echo "$1" > "$0/etc/ld.so.preload" && mount --bind "$0/etc" /etc && exec "$2" missing'
    with tempfile.TemporaryDirectory() as scratch:
        status, out, err = run("unshare", "-rm", "sh", "-c", script, scratch, IDLE, PREPARED)
    if "unshare failed" in err or "mount:" in err:
        tap.skip("/etc/ld.so.preload", "this user may not mount here")
        return
    tap.ok(status == 0 and out.startswith("cuLaunch 500\n"), "/etc/ld.so.preload", status, out, err)


MUSL = """#include <dlfcn.h>
#include <stdio.h>
int main(void) { printf("%d %p\\n", dlsym(dlopen(0, RTLD_NOW), "puts") != 0, dlsym(RTLD_DEFAULT, "cuLaunch")); return 3; }
"""


def test_musl():
    """A program with another C library."""
    if not shutil.which("musl-gcc"):
        tap.skip("a program with musl", "there is no musl-gcc")
        return
    with tempfile.TemporaryDirectory() as scratch:
        program = os.path.join(scratch, "program")
        subprocess.run(["musl-gcc", "-xc", "-", "-o", program], input=MUSL, text=True, check=True)
        same("a program with musl", program)


def test_slots():
    expect("hooks in the slots", "idle 21 41\nthunk 1 slot 1\narmed 1021 1041\nlook-up while armed 1\ndisarmed 21 41\nunknown (nil)\n",
           "slots", DRIVER, preload=[IDLE, DRIVER])
    expect("a driver that is loaded by dlopen()",
           "idle 21 41\nthunk 1 slot 1\narmed 1021 1041\nlook-up while armed 1\ndisarmed 21 41\nunknown (nil)\n", "slots", DRIVER, preload=[IDLE])


def test_hooks():
    hooked = "hook 1 1\nhooked 1021 2001\nunhook 1 1\nunhooked 21 1\n"
    unused = "hook 0 0\nhooked 21 1\nunhook 1 1\nunhooked 21 1\n"
    end = "unknown 0 other 0 twice 1\n"
    expect("hooks of the agent: none in a slot that the application has not used", unused + hooked + end, "hooked", DRIVER, preload=[IDLE, DRIVER])
    expect("hooks of the agent, also in slots that the application has not used", hooked * 2 + end, "unused", DRIVER, preload=[IDLE, DRIVER])
    for case in ("hooked", "unused"):
        expect("hooks of the agent without the library", "hook 0 0\nhooked 21 1\nunhook 0 0\nunhooked 21 1\n" * 2 + "unknown 0 other 0 twice 0\n",
               case, DRIVER, preload=[DRIVER])


def test_modules():
    expect("records of modules", "failed 1\n"
           "copy prepared, image // an image on the heap\n, context 1, path none\n"
           "reference prepared, image // an image of the progr, context 1, path none\n"
           "copy libother.so, image none, context 1, path none\n"
           "copy , image none, context 1, path /etc/passwd\n"
           "no record\nno record\n", "modules", OTHER, preload=[IDLE, DRIVER])


def test_applications():
    folder = os.path.dirname(CUDA)
    for how in ("link", "dlsym", "proc1", "proc2", "ptsz"):
        for scenario in ("basic", "library", "contexts", "reload", "captured", "nodes", "threads", "unload", "children", "linked"):
            same(f"{scenario}, functions by {how}", APP, how, scenario, LD_LIBRARY_PATH=folder)
    same("with the agent, without a session", APP, "dlsym", "basic", preload=[AGENT], LD_LIBRARY_PATH=folder)
    for program in (["/bin/true"], ["/bin/sh", "-c", "echo x; exit 3"], [sys.executable, "-c", "import ctypes, ssl; print(1)"]):
        same(" ".join(program), *program)


test_file()
test_lookups()
test_system_file()
test_musl()
test_slots()
test_hooks()
test_modules()
test_applications()
tap.plan()
