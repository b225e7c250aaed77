#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ocloc.py some|all BUILD SOURCE CLANG DRIVER ACCEPTS APP...: ocloc, Intel's offline GPU compiler, must accept each
module that the agent passes to a driver. Prints TAP. The fake driver saves the modules that it receives, from the Level
Zero programs of the tests and from corpus.py's modules. Some modules occur only with probes: twins and gpubpf's own
modules. ocloc links the parts of each module and compiles them for Skylake and Tiger Lake, also for the application's
own modules. The test prints the applications whose own modules ocloc rejects. With `some` it tests a few of the
programs and of the corpus."""
import json
import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
import corpus
from probing import Prober

DEVICES = ["skl", "tgllp"]
FEW = ["ze-basic", "ze-linked"]
few = sys.argv[1] == "some"
build, source, clang, driver, accepts = (os.path.abspath(path) for path in sys.argv[2:7])
apps = [os.path.abspath(app) for app in sys.argv[7:] if not few or os.path.basename(app) in FEW]
icd = os.environ.get("GPUBPF_TEST_INTEL", "")
if not shutil.which("ocloc") or not os.path.exists(icd):
    print("1..0 # SKIP ocloc (Debian's intel-opencl-icd) is not here, or GPUBPF_TEST_INTEL names no libintelocl.so")
    sys.exit(0)
where = tempfile.TemporaryDirectory()
modules = corpus.make(source, clang, where.name, few)
prober = Prober(build, "", dict(os.environ, OCL_ICD_VENDORS=icd, ZE_ENABLE_ALT_DRIVERS=driver))
prober.tap(len(modules) > (2 if few else 30), f"a corpus: SPIR-V of {len(modules)} sources", modules)


def run_collecting(run):
    """Returns the result of run(), and the modules that the driver received during it, each as a tuple of its parts."""
    with tempfile.TemporaryDirectory() as folder:
        prober.env["GPUBPF_FAKE_ZE_MODULES"] = folder
        return run(), corpus.given(folder)


def check(name, command, pool):
    """Prints how many kernels have a twin that each device accepts."""
    native, own = run_collecting(lambda: prober.run(command))
    if native[0] or b"refused" in native[1]:
        print(f"# {name} is not taken by the fake driver itself")
        return {}
    probed, ours = run_collecting(lambda: prober.probe("report.json", [f"{build}/tests/real/count.bpf.o"], command))
    ours -= own
    with open("report.json", encoding="utf-8") as f:
        kernels = json.load(f)["kernels"]
    want = {k["name"] for k in kernels if k["probed"]}
    for k in kernels:
        if not k["probed"]:
            print(f"# {name}: kernel {k['name']} is refused: {k['reason']}")
    prober.tap(native[:2] == probed[:2] and all(any(reason in (k["reason"] or "") for reason in corpus.OURS)
                                                for k in kernels if not k["probed"]), f"{name}: all that we take is given to the driver",
               native, probed, kernels)
    taken = {}
    for device in DEVICES:
        if any(not binary for binary, _ in pool.map(lambda parts: corpus.compiled(parts, device), own)):
            print(f"# {name} is not taken by ocloc itself for {device}")
            continue
        products = list(pool.map(lambda parts: corpus.compiled(parts, device), ours))
        lacks = [k for k in want if not any(binary and f"gpubpf_twin_{k}".encode() in binary for binary, _ in products)]
        taken[device] = len(want)
        prober.tap(all(binary for binary, _ in products) and not lacks,
                   f"{name}: {len(products)} modules of ours for {device}, with twins of {', '.join(sorted(want))}", lacks,
                   [said for binary, said in products if not binary])
    return taken


def print_counts(what, taken):
    for device in DEVICES:
        have = [t[device] for t in taken if t.get(device)]
        print(f"# {device}: twins of {sum(have)} kernels of {len(have)} {what}")


os.chdir(where.name)
with ThreadPoolExecutor(2) as two:
    print_counts("programs", [check(os.path.basename(app), [app, f"{build}/tests/backends/spirv/level_zero"], two) for app in apps])
    prober.env["GPUBPF_FAKE_ZE_LAUNCHES"] = "none" # launches do nothing, because the kernels have no arguments
    print_counts("modules", [check(module, [accepts, where.name, module], two) for module in modules])
prober.plan()
