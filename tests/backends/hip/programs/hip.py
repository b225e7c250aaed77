# SPDX-License-Identifier: Apache-2.0
"""Compiles HIP programs for tests with the installed compilers, and runs them on a simulated AMD GPU.
$GPUBPF_AMD_SIM names a launcher that takes an architecture and a command. All results come from simulation, not from
AMD hardware."""
import os
import shutil
import subprocess
import sys

ARCH = "gfx90a"
BITCODE = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"
HEADERS = "/usr/include/hip/hip_runtime.h"
FLAGS = ["-O2", "-std=c++17", "-w", f"--offload-arch={ARCH}", "-mcode-object-version=4"]
QUICK = ["-Xarch_host", "-O0"]  # options for the code of the host, which has no probes
# headers that all programs include; parsing them for host and device takes most of the compile time
FIRST = ["hip/hip_runtime.h", "cstdint", "cstdio", "cstdlib", "map", "mutex", "string", "vector"]


def compilers():
    """Returns the commands of Debian's compilers that support its HIP 5.2, by name."""
    found = {}
    clang = shutil.which("clang++-19")
    if clang and shutil.which("ld.lld-19"):
        found["clang-19"] = [clang, "-x", "hip", "--rocm-path=/usr", f"--rocm-device-lib-path={BITCODE}", *QUICK]
    if shutil.which("hipcc"):
        found["hipcc"] = [shutil.which("hipcc")]
    return found if os.path.exists(HEADERS) else {}


def simulator():
    """Returns the command of the launcher. Without a launcher it ends the test with a SKIP."""
    path = os.environ.get("GPUBPF_AMD_SIM", "")
    why = None
    if not os.path.exists(path):
        why = "no simulated AMD GPU: GPUBPF_AMD_SIM names no launcher"
    elif not compilers():
        why = "no compiler of HIP: neither clang-19 with lld-19 nor hipcc, or no libamdhip64-dev"
    if why:
        print(f"1..0 # SKIP {why}")
        sys.exit(0)
    return [path, ARCH]


def with_headers(compiler, folder):
    """Returns the compiler's command with FIRST precompiled, or unchanged if the compiler does not support that."""
    first = os.path.join(folder, "first.h")
    if "hip" not in compiler:  # hipcc
        return compiler
    os.mkdir(first + ".pch")
    with open(first, "w", encoding="ascii") as f:
        f.writelines(f"#include <{name}>\n" for name in FIRST)
    for side, more in ("host", ["-fpch-instantiate-templates"]), ("device", []):
        p = subprocess.run(compiler + FLAGS + more + [f"--cuda-{side}-only", "-fsyntax-only", first] +
                           [word for cc1 in ("-emit-pch", "-o", f"{first}.pch/{side}") for word in ("-Xclang", cc1)],
                           capture_output=True, text=True, timeout=300, check=False)
        if p.returncode:
            print(f"# headers are read again by each program: {p.stderr[:200]!r}")
            return compiler
    return compiler + ["-include", first]


def build(compiler, sources, to, options=()):
    command = compiler + FLAGS + list(options)
    libraries = [] if "-c" in options or "--cuda-device-only" in options or "--genco" in options else \
        ["-lamdhip64", "-ldl", "-lpthread"]
    # hipcc queries the machine's GPUs, finds none, and prints irrelevant messages
    p = subprocess.run(command + list(sources) + ["-o", to] + libraries, capture_output=True, timeout=300,
                       env=dict(os.environ, HIP_PLATFORM="amd"))
    if p.returncode:
        raise RuntimeError(f"{os.path.basename(to)} does not compile: {p.stderr.decode(errors='replace')[-2000:]}")
