# SPDX-License-Identifier: Apache-2.0
"""A corpus of SPIR-V: all OpenCL C of our tests and examples that clang compiles to SPIR-V. Also returns the modules
that the fake driver received, and the output of ocloc, Intel's offline GPU compiler, for a module."""
import glob
import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

FOLDERS = ["tests/wrap/cases", "tests/opencl", "tests/opencl/places", "tests/levelzero", "tests/conformance", "tests/maps",
           "tests/hip/kernels", "examples/*"]
FEW = ["atomics.cl", "cl2.cl", "inside.cl", "specialization.cl"]
OURS = ["writable program-scope variables", "sub-groups or inexact functions",
        "with its twin's name"] # reasons for which we refuse kernels of the corpus


def make(source, clang, where, few):
    """Returns the names of the modules in the folder."""
    def spirv(path):
        """Compiles with the first standard that clang accepts; None: with none."""
        with open(path, encoding="utf-8") as f:
            options = " ".join(re.findall(r"^//@ options: *(.*)", f.read(), re.M)).split()
        name = os.path.relpath(path, source).replace("/", "-")[:-3] + ".spv"
        for standard in ("CL1.2", "CL2.0"):
            if not subprocess.run([clang, "--target=spirv64v1.2", "-x", "cl", f"-cl-std={standard}", "-O1", "-w", "-Xclang",
                                   "-finclude-default-header", *options, "-c", path, "-o", f"{where}/{name}"],
                                  stderr=subprocess.DEVNULL, check=False).returncode:
                return name
        return None

    sources = sorted(f for folder in FOLDERS for f in glob.glob(f"{source}/{folder}/*.cl"))
    with ThreadPoolExecutor(2) as pool:
        return [m for m in pool.map(spirv, (s for s in sources if not few or os.path.basename(s) in FEW)) if m]


def given(folder):
    """Returns the modules that the fake driver saved in the folder, each as its parts."""
    got = {}
    for path in sorted(glob.glob(f"{folder}/*.spv")):
        with open(path, "rb") as f:
            got.setdefault(os.path.basename(path).split(".")[0], []).append(f.read())
    return {tuple(parts) for parts in got.values()}


def compiled(parts, device):
    """Returns ocloc's product (None if it refuses the parts) and its output."""
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{i}.spv" for i in range(len(parts))]
        for name, part in zip(names, parts):
            with open(f"{folder}/{name}", "wb") as f:
                f.write(part)
        steps = [["compile", "-spirv_input", "-file", names[0]]] if len(parts) == 1 else [
            ["link", *(word for name in names for word in ("-file", name)), "-out", "all.bc", "-out_format", "LLVM_BC"],
            ["compile", "-llvm_input", "-file", "all.bc"]]
        steps[-1] += ["-device", device, "-out_dir", "out"]
        for step in steps:
            p = subprocess.run(["ocloc", *step], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
            if p.returncode:
                return None, p.stdout.decode(errors="replace")
        with open(glob.glob(f"{folder}/out/*.bin")[0], "rb") as f:
            return f.read(), p.stdout.decode(errors="replace")
