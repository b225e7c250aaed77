# SPDX-License-Identifier: Apache-2.0
"""A corpus of SPIR-V: all OpenCL C of our tests and examples that clang makes SPIR-V of."""
import glob
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

FOLDERS = ["tests/wrap/cases", "tests/opencl", "tests/opencl/places", "tests/levelzero", "tests/conformance", "tests/maps",
           "tests/hip/kernels", "examples/*"]
FEW = ["atomics.cl", "cl2.cl", "inside.cl", "specialization.cl"]
OURS = ["writable program-scope variables", "sub-groups or inexact functions",
        "called as its twin would be"] # why we refuse kernels of it


def make(source, clang, where, few):
    """The modules' names in the folder."""
    def spirv(path):
        """By the first standard that clang takes it with; None."""
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
