# SPDX-License-Identifier: Apache-2.0
"""A corpus of SPIR-V: all OpenCL C of the tests and examples that clang compiles to SPIR-V. Other functions return the
modules that the fake driver received, and the output of ocloc, Intel's offline GPU compiler, for a module."""
import glob
import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

FOLDERS = ["tests/backends/spirv", "tests/backends/hip/kernels", "tests/cli/conformance", "tests/maps", "examples"]
FEW = ["atomics.cl", "cl2.cl", "inside.cl", "specialization.cl"]
OURS = ["writable program-scope variables", "sub-groups or inexact functions",
        "with its twin's name"] # gpubpf's reasons to refuse kernels of the corpus


def make(source, clang, where, few):
    """Writes the corpus to the folder `where`, and returns the names of its modules."""
    def spirv(path):
        """Compiles the source with the first standard that clang accepts. Returns None if clang accepts no standard."""
        with open(path, encoding="utf-8") as f:
            options = " ".join(re.findall(r"^//@ options: *(.*)", f.read(), re.M)).split()
        name = os.path.relpath(path, source).replace("/", "-")[:-3] + ".spv"
        for standard in ("CL1.2", "CL2.0"):
            if not subprocess.run([clang, "--target=spirv64v1.2", "-x", "cl", f"-cl-std={standard}", "-O1", "-w", "-Xclang",
                                   "-finclude-default-header", *options, "-c", path, "-o", f"{where}/{name}"],
                                  stderr=subprocess.DEVNULL, check=False).returncode:
                return name
        return None

    sources = sorted(f for folder in FOLDERS for f in glob.glob(f"{source}/{folder}/**/*.cl", recursive=True))
    with ThreadPoolExecutor(2) as pool:
        return [m for m in pool.map(spirv, (s for s in sources if not few or os.path.basename(s) in FEW)) if m]


def given(folder):
    """Returns the modules that the fake driver saved in the folder, each as a tuple of its parts."""
    got = {}
    for path in sorted(glob.glob(f"{folder}/*.spv")):
        with open(path, "rb") as f:
            got.setdefault(os.path.basename(path).split(".")[0], []).append(f.read())
    return {tuple(parts) for parts in got.values()}


def compiled(parts, device):
    """Returns the binary that ocloc makes (None if it refuses the parts), and the text that ocloc prints."""
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
