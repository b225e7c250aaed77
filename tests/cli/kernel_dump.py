#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kernel_dump.py GPUBPF OBJECT CLANG: `kernel dump` and `prog dump --after` print the code after each stage and pass. CLANG
compiles kernels to SPIR-V and to machine code of AMD. Prints TAP."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import ok, plan, skip  # noqa: E402

gpubpf, probe, clang = sys.argv[1:4]
PTX = """// a comment before the first directive
.version 7.0
.target sm_75
.address_size 64
.visible .entry step_one(.param .u64 p)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, %tid.x;
	st.global.u32 [%rd1], %r1;
	ret;
}
"""
CL = "kernel void step_one(global int *p)\n{\n\tp[get_global_id(0)] = 1;\n}\n"
scratch = tempfile.TemporaryDirectory()


def save(name, text):
    path = os.path.join(scratch.name, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def run(*words):
    done = subprocess.run([gpubpf, *words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def dump(path, *words, kernel="step_one"):
    return run("kernel", "dump", path, kernel, "-o", probe, *words)


def names(text):
    """Returns the listed stages, and the listed passes, which are indented."""
    return re.findall(r"^(\S+) +\S", text, flags=re.M), re.findall(r"^  (\S+) +\S", text, flags=re.M)


ptx, cl = save("a.ptx", PTX), save("a.cl", CL)
plain = save("plain.cl", "kernel void step_one(global int *p)\n{\n\t*p = 1;\n}\n")

status, listed, _ = dump(ptx, "--after", "help")
stages, passes = names(listed)
ok(status == 0 and stages == "query inspect lower emit assemble inject check build finish".split() and len(passes) >= 16,
   "--after help lists the stages in order, and the passes", listed)
status, out, err = dump(ptx, "--after", "inlien")
ok(status == 2 and not out and "--after inlien" in err and all(name in err for name in stages + passes),
   "a wrong name lists the right ones", (status, out, err))

MACHINE_PASSES = "expand demote schedule allocate guard blocks reuse-values patch".split()
ok(passes[-len(MACHINE_PASSES):] == MACHINE_PASSES, "the passes of NVIDIA machine code come last", passes)
status, out, err = dump(ptx, "--after", "demote")
ok(status == 1 and not out and "route ptx has no code after demote" in err, "a pass that the route lacks", (status, out, err))

# each pass of the PTX route prints PTX or LLVM IR, depending on the pass
for name in passes[:-len(MACHINE_PASSES)]:
    status, out, err = dump(ptx, "--after", name)
    form = ".reg" in out or "gpubpf" in out if name in ("extract", "outline", "splice", "flat") else "target triple" in out
    ok(status == 0 and form, f"PTX after {name}", (status, out[:300], err))
texts = {name: dump(ptx, "--after", name)[1] for name in ("translate", "inline", "lower", "emit", "extract", "inject")}
ok(len(set(texts.values())) == len(texts), "each of these differs", {name: len(text) for name, text in texts.items()})
ok("define" in texts["translate"] and "call" in texts["translate"] and texts["inline"].count("define") <= texts["translate"].count("define") + 4,
   "the IR of a program calls the library before it is inlined")
ok(".version" in texts["emit"] and "gpubpf_inline_0" in texts["emit"] and "step_one" not in texts["emit"],
   "after emit there are the probes alone", texts["emit"][:300])
ok("gpubpf_twin_step_one" in texts["inject"] and "st.global.u32" in texts["inject"], "after inject the kernel has the probes", texts["inject"][:300])
ok(dump(ptx)[1] == texts["inject"], "the twin is what it prints without --after")
status, out, err = dump(ptx, "--after", "inspect")
ok(status == 0 and "kernel step_one" in out and "gpu/entry/" in out, "the kernel's places", (status, out, err))
status, out, err = dump(ptx, "--after", "assemble")
ok(status == 1 and not out and "route ptx has no code after assemble" in err, "a stage that the route lacks", (status, out, err))

# OpenCL C: the twin is source with a wrapper; the SPIR-V target emits the probes
status, out, err = dump(cl)
ok(status == 0 and "gpubpf_twin_step_one" in out and "get_global_id" in out, "OpenCL C with its wrapper", (status, out[:300], err))
status, out, err = dump(cl, "--after", "emit")
ok(status == 0 and ": op " in out and len(out.splitlines()) > 50, "its probes are SPIR-V", (status, out[:300], err))
status, out, err = dump(cl, "--after", "lower")
ok(status == 0 and "spirv" in out and "define" in out, "the IR of its probes", (status, out[:300], err))

for stage in ("query", "build"):
    status, out, err = dump(cl, "--after", stage)
    ok(status == 1 and not out and "gpubpf-build " in err, f"after {stage}: an error, because there is no device", (status, out[:200], err))
ok("did not answer: gpubpf-build" in dump(cl, "--after", "query")[2], "a query without an answer is no code")

# machine code
ptxas = os.environ.get("GPUBPF_TEST_PTXAS", "")
cubin = os.path.join(scratch.name, "a.cubin")
if ptxas and subprocess.run([ptxas, "-arch=sm_90", ptx, "-o", cubin]).returncode == 0:
    os.environ["GPUBPF_PTXAS"] = ptxas
    for name, text in (("emit", r"\.version"), ("assemble", r"^ *0: ([0-9a-f]{8} ?){4}$"), ("check", r"gpubpf_twin_step_one:\n *0: ([0-9a-f]{8} ?){4}$")):
        status, out, err = dump(cubin, "--after", name)
        ok(status == 0 and re.search(text, out, flags=re.M), f"a cubin after {name}", (status, out[:400], err))
    machine = {name: dump(cubin, "--after", name) for name in MACHINE_PASSES}
    for name, (status, out, err) in machine.items():
        if name != "guard":
            ok(status == 0 and re.search(r"^ +\d+: (@!?U?P\d )?EXIT.*  // stall \d+.*, 0x[0-9a-f]{16} 0x[0-9a-f]{16}$", out, flags=re.M),
               f"a cubin after {name}", (status, out[:400], err))
    ok(machine["guard"][0] == 1, "a probe at the entry has no code after guard", machine["guard"])
    ok(re.search(r"^block 0: 0\.\.\d+, idom -1, loop -1, depth 0, to", machine["blocks"][1], flags=re.M), "the kernel's blocks",
       machine["blocks"][1][:400])
    for line in (r"LDC R\d+\.\.R\d+, RZ, c\[0\]\[0x210\]  //", r"S2R R\d+, SR 0x21  //", r"STG R\d+\.\.R\d+, R\d+  //.* wait 0x"):
        ok(re.search(line, machine["blocks"][1]), f"the kernel has {line}", machine["blocks"][1][:2000])
    ok(re.search(r"^ +0: BRA -> \d+  //", machine["patch"][1], flags=re.M) or re.search(r" BRA -> \d\d+  //", machine["patch"][1]),
       "after patch a branch leads to the probe", machine["patch"][1][:2000])
    ok(" UR" in machine["expand"][1] and " UR" not in machine["demote"][1], "demotion leaves no uniform register",
       (machine["expand"][1][:2000], machine["demote"][1][:2000]))
else:
    skip("a cubin", "no ptxas; GPUBPF_TEST_PTXAS names one")
for form, words, cases in (
        ("SPIR-V", ["--target=spirv64", "-cl-std=CL1.2", "-O1", "-c"],
         (("legalize-widths", "spirv64"), ("emit", r"^ *5: op 17 "), ("inject", r"^ *5: op 17 "))),
        ("a code object", ["--target=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-cl-std=CL2.0", "-nogpulib", "-O2", "-mcode-object-version=4"],
         (("inline", "amdgcn"), ("inject", r"^\.text:\n *0: [0-9a-f]{8}$")))):
    code = os.path.join(scratch.name, "a.code")
    done = subprocess.run([clang, "-x", "cl", "-w", "-Xclang", "-finclude-default-header", *words, plain, "-o", code], capture_output=True,
                          text=True)
    ok(done.returncode == 0, f"{form}: clang", done.stderr)
    for name, text in cases if done.returncode == 0 else ():
        status, out, err = dump(code, "--after", name)
        ok(status == 0 and re.search(text, out, flags=re.M), f"{form} after {name}", (status, out[:400], err))

# mistakes
status, out, err = run("kernel", "dump", ptx)
example = re.search(r"-p (\w+) ", err)
ok(example and example[1] in re.findall(r"^  (\S+)", run("probes")[1], flags=re.M), "the example names a ready probe", err)
for words, text in (((ptx,), "pass a file and the name of one of its kernels"), ((ptx, "step_one"), "no BPF programs")):
    status, out, err = run("kernel", "dump", *words)
    ok(status == 2 and text in err, f"{len(words)} words: {text}", (status, out, err))
status, out, err = dump(ptx, kernel="other")
ok(status == 1 and "kernel 'other'" in err, "a kernel that the file lacks", (status, out, err))
status, out, err = dump(os.path.join(scratch.name, "none"))
ok(status == 1 and "No such file" in err, "a file that is not there", (status, out, err))

# prog dump
status, listed, _ = run("prog", "dump", probe, "-T", "ptx", "--after", "help")
lines = [line.split()[0] for line in listed.splitlines()]
ok(lines[:2] == ["lower", "translate"] and lines[-1] == "emit", "a stage is followed by its passes", listed)
ok(status == 0 and names(listed)[0] == ["lower", "emit"] and "inject" not in listed.split(), "prog dump has the passes of two stages", listed)
for target in ("ptx", "spirv", "amdgpu"):
    before, after = (run("prog", "dump", probe, "-T", target, "--after", name)[1] for name in ("link", "inline"))
    ok("define" in before and "define" in after and before != after, f"{target}: the library is linked, then inlined", (len(before), len(after)))
whole = run("prog", "dump", probe, "-T", "ptx")[1]
ok(run("prog", "dump", probe, "-T", "ptx", "--after", "emit")[1] == whole and ".version" in whole, "after emit there is the target's code")
status, out, err = run("prog", "dump", probe, "-T", "clc", "--after", "inline")
ok(status == 1 and "target clc has no such pass" in err, "a target without LLVM's passes", (status, out[:200], err))
status, out, err = run("prog", "dump", probe, "-T", "clc", "--after", "lower")
ok(status == 1 and not out and "--after lower: target clc has no such stage" in err and "--after help" in err and "device" not in err,
   "a target without this stage", (status, out[:200], err))
for target, stages in (("clc", ["emit"]), ("llvm", ["lower"])):
    listed = run("prog", "dump", probe, "-T", target, "--after", "help")[1]
    ok(names(listed)[0] == stages, f"{target}: its stages", listed)
    status, out, err = run("prog", "dump", probe, "-T", target, "--after", stages[0])
    ok(status == 0 and out, f"{target} after {stages[0]}", (status, err))
status, out, err = run("prog", "dump", probe, "--after", "inline")
ok(status == 2 and "--target" in err, "passes belong to a target", (status, out[:200], err))
plan()
