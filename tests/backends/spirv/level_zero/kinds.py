#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kinds.py some|all BUILD DRIVER: Intel's GPU compiler must accept all kinds of probes. Prints TAP. The test tries each
object alone: places of memory, atomics, barriers and blocks, each map type, rings, printing, helpers, and the
examples. On Intel's own driver (see intel.py: nothing is executed, so there is no clock) every launch of the kernel
must use a twin. For objects that need a clock, ocloc compiles the modules that the fake driver receives (see
ocloc.py). Refusals must have a reason of WHY, and are printed. With `some` it tries a few objects for Skylake."""
import ctypes
import glob
import json
import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
import corpus
from probing import Prober, read_launches
from tap import skip_all

CLOCK = "reads a clock and"
WHY = [CLOCK, "ends threads (helper 507)", "does not provide"]
OF_OTHERS = ["cuda-counter", "rocm-counter"]
COMPILED = "skl" # this compiler version silently rejects twins that read the clock for tgllp
FEW = ["places-some", "places-sync", "divergence", "maps.hash", "maps.lru", "rings.output", "printing.formats", "histogram", "threadhist"]
GROUPS = ["maps", "rings", "printing", "helpers", "context", "globals", "grids", "subprograms"] # of the suite
few = sys.argv[1] == "some"
build, driver = (os.path.abspath(path) for path in sys.argv[2:4])
icd = os.environ.get("GPUBPF_TEST_INTEL", "")
products = ["skl"] if few else ["skl", "tgllp"]
try:
    ctypes.CDLL("libze_intel_gpu.so.1")
except OSError as e:
    skip_all(f"Intel's Level Zero driver: {e}")
where = tempfile.TemporaryDirectory()
os.chdir(where.name)
modules = f"{build}/tests/backends/spirv/level_zero"
by_driver = Prober(build, "", dict(os.environ, NEOReadDebugKeys="1", SetCommandStreamReceiver="1", AUBDumpCaptureFileName="/dev/null"))
by_ocloc = Prober(build, "", dict(os.environ, ZE_ENABLE_ALT_DRIVERS=driver, CL_CONFIG_CPU_VECTORIZER_MODE="1"))
natives, taken = {}, {}


def name_of(path):
    return os.path.basename(path)[:-len(".bpf.o")]


def cases():
    """Yields each object with the program whose kernels it probes. ze-inside uses all kinds of memory; the kernel
    totals of ze-arguments has barriers."""
    places = sorted(glob.glob(f"{build}/tests/backends/spirv/opencl/places*.bpf.o"))
    examples = [o for o in sorted(glob.glob(f"{build}/examples/*/*.bpf.o")) if name_of(o) not in OF_OTHERS]
    suite = [o for group in GROUPS for o in sorted(glob.glob(f"{build}/tests/cli/conformance/{group}.*.bpf.o"))]
    yield from ((o, app) for o in places for app in ("ze-arguments", "ze-inside"))
    yield from ((o, "ze-settles" if name_of(o) == "early" else "ze-inside") for o in examples)
    yield from ((o, "ze-inside") for o in suite + [f"{build}/bench/histogram.bpf.o"])


def run(prober, product, path, app):
    """Returns the program's output without and with the object, and the probed and refused kernels of the report."""
    command = [f"{modules}/{app}", modules, "compiles"]
    if (product, app) not in natives:
        natives[product, app] = prober.run(command)
    probed = prober.probe("report.json", [path], command, ["-b", "level_zero"])
    try:
        with open("report.json", encoding="utf-8") as f:
            kernels = json.load(f)["kernels"]
        return natives[product, app], probed, [k for k in kernels if k["probed"] == k["launches"] > 0], [
            k for k in kernels if k["probed"] != k["launches"]]
    except (OSError, ValueError):
        return natives[product, app], probed, [], []
    finally:
        if os.path.exists("report.json"):
            os.unlink("report.json")


def print_refused(what, kernels):
    """Prints the refused kernels. Returns False if a reason is not in WHY."""
    for k in kernels:
        print(f"# {what}: kernel {k['name']} is refused: {k['reason']}")
    return all(any(reason in k["reason"] for reason in WHY) for k in kernels)


def check_driver(product, path, app):
    """Runs the object on Intel's driver. Returns whether it needs a clock, so that ocloc must compile it instead."""
    native, probed, good, refused = run(by_driver, product, path, app)
    what = f"{name_of(path)} in {app} for {product}"
    by_driver.tap(native[:2] == probed[:2] and native[0] == 0 and print_refused(what, refused) and
                  {k["name"] for k in good + refused} == set(read_launches(native[1])),
                  f"{what}: {len(good)} twins taken, {len(refused)} refused by name", native, probed, good, refused)
    taken[product] = taken.get(product, 0) + len(good)
    return any(CLOCK in k["reason"] for k in refused)


def check_ocloc(path, app, pool):
    with tempfile.TemporaryDirectory() as folder:
        by_ocloc.env["GPUBPF_FAKE_ZE_MODULES"] = folder
        native, probed, good, refused = run(by_ocloc, "ocloc", path, app)
        twins = [parts for parts in corpus.given(folder) if any(f"gpubpf_twin_{k['name']}".encode() in part for k in good for part in parts)]
    what = f"{name_of(path)} in {app} by ocloc for {COMPILED}"
    answers = list(pool.map(lambda parts: corpus.compiled(parts, COMPILED), twins))
    refusals = [said for binary, said in answers if not binary]
    by_ocloc.tap(native[0] == probed[0] == 0 and print_refused(what, refused) and twins and not refusals,
                 f"{what}: {len(twins)} modules with twins", probed, good, refused, refusals)
    taken["by ocloc"] = taken.get("by ocloc", 0) + len(twins)


with ThreadPoolExecutor(2) as two:
    for object_path, application in cases():
        if few and name_of(object_path) not in FEW:
            continue
        clock = False
        for p in products:
            by_driver.env["ProductFamilyOverride"] = p
            clock |= check_driver(p, object_path, application)
        if clock and shutil.which("ocloc") and os.path.exists(icd):
            check_ocloc(object_path, application, two)
print(f"# twins taken: {taken}")
by_driver.plan()
