#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""names.py BUILD pocl|intel CLANG [KIND...]: tests clang's predefined names in kernels with programs at each kind of
place. Prints TAP.

Each kernel prints and stores one name in many forms. With programs its output must stay the same, or the kernel must be
refused for a reason in the table. A row of the table has the name, its uses, and the accepted reasons for refusal by
kind of place ("" for all kinds)."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
from tap import ok, plan, skip_all

build, device, clang = os.path.abspath(sys.argv[1]), *sys.argv[2:4]
LOCAL_TOO = ["macro", "strung", "own", "nested"] # kernels with local memory: wrappers repeat their bodies at all places
KINDS = sys.argv[4:] or ["entry", "exit", "block_begin", "block_end", "mem.all", "mem_before.all", "branch", "barrier", "call",
                         "call_exit", "line", "mark"]
OUTSIDE = ["entry", "exit", "block_begin", "block_end"]
COUNTS = "code with __COUNTER__, whose values change if the code is compiled twice"
COLUMN = "code that reads its column (__builtin_COLUMN), which probes change"
DATED = "it uses __DATE__, __TIME__ or __TIMESTAMP__, and a twin is compiled at another time"
BRANCH = "the device's compiler takes another branch of #if than clang 22"
MACRO = "an expression that a macro partly produces"
IN_CHECK = {"branch": MACRO} # the reader does not expand CHECK(), because its text contains __LINE__ and #c
SPLIT = "an expression that a preprocessor directive splits"
STRUNG = "code with a string that a macro builds from __func__, return or a similar name"
STRINGS = ["__func__", "__FUNCTION__", "__PRETTY_FUNCTION__", "__FILE__", "__BASE_FILE__", "__VERSION__"]
POINTERS = ["__builtin_FUNCTION()", "__builtin_FILE()"]
NEWER = ["__builtin_FILE_NAME()"]
NUMBERS = ["__LINE__", "__INCLUDE_LEVEL__", "__builtin_LINE()"]
DATES = ["__DATE__", "__TIME__", "__TIMESTAMP__"]
MOVING = {"__COUNTER__": COUNTS, "__builtin_COLUMN()": COLUMN}
ASKS = ['__has_include("none.h")', "__has_include_next(<none.h>)", "__has_builtin(__builtin_FUNCTION)", "__has_builtin(__builtin_LINE)",
        "__has_feature(attribute_overloadable)", "__has_extension(c_static_assert)", "__has_attribute(noinline)",
        '__has_warning("-Wall")', "__is_identifier(kernel)", "__has_declspec_attribute(align)", "__has_c_attribute(fallthrough)",
        '__has_embed("none.h")', "__has_cpp_attribute(fallthrough)", "__has_constexpr_builtin(__builtin_fmax)"]
HEAD = """//@ options: -I{include} {options}
#include <gpubpf/mark.h>
#define ARG(x) x
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define STR(x) #x
#define XSTR(x) STR(x)
#define CHECK(c) do {{ if (!(c)) printf("%s %d %s\\n", __func__, __LINE__, #c); }} while (0)
"""
# NAME is the kernel. Uses of the name: direct (D), by a macro (O), as an argument (A), both (N), in an option (P).
STRING = """
int in_NAME(global int *o, int v)
{
	__constant const char *s = P;
	if (v == 0)
		printf("in_NAME %s %s %s %s %s %d\\n", D, O, A, N, P, (int)sizeof(O));
	o[v + 64] += (int)sizeof(N) + s[0];
	return s[0] +
	       v;
}
kernel void NAME(global int *o)
{
	LOCAL;
	int i = get_global_id(0);
	__constant const char *s = N, *z = O;
	char room[sizeof(O)];
	_Static_assert(sizeof(P) == sizeof(D), "the same");
	GPUBPF_MARK(named, i);
	CHECK(i != 3);
	room[0] = z[0];
	t[get_local_id(0)] = o[i] + s[0] + room[0] + (int)sizeof(room);
	barrier(CLK_LOCAL_MEM_FENCE);
	switch (t[get_local_id(0)] & 63) {
	case sizeof(A) + 64:
		o[i] = 1;
	}
	if (i == 0) {
		printf("NAME %s %s %s %s %s %d\\n", D, O, A, N, P, (int)sizeof(D));
		o[128] = s[3] * 1000 + (int)sizeof(D) + D[
			1];
	}
	o[i] += in_NAME(o, i) + t[get_local_id(0)];
}
"""
NUMBER = """
int in_NAME(global int *o, int v)
{
	if (v == 0)
		printf("in_NAME %d %d %d %d %d\\n", D, O, A, N, P);
	o[v + 64] += N * 3 + P;
	return A +
	       v + D;
}
kernel void NAME(global int *o)
{
	LOCAL;
	int i = get_global_id(0);
	const int s = N;
	char room[O + 1];
	GPUBPF_MARK(named, i);
	{ int CAT(v, NUMERAL) = 3, w = CAT(v, NUMERAL); o[i] += w; }
	room[0] = O;
	CHECK(i != D);
	t[get_local_id(0)] = o[i] + s + room[0] + (int)sizeof(room);
	barrier(CLK_LOCAL_MEM_FENCE);
#if CONDITION
	o[i] += 5;
#endif
	switch (t[get_local_id(0)] & 63) {
	case A + 64:
		o[i] = 1;
	}
	if (i == 0) {
		printf("NAME %d %d %d %d %d\\n", D, O, A, N, P);
		o[128] = D + N + o[129] + o[
			130] + P;
	}
	o[i] += in_NAME(o, i) + t[get_local_id(0)];
}
"""
# macro arguments that extend over several lines
LINES = """
kernel void NAME(global int *o)
{
	LOCAL;
	int i = get_global_id(0);
	GPUBPF_MARK(named, i);
	t[get_local_id(0)] = o[i];
	barrier(CLK_LOCAL_MEM_FENCE);
	if (i == 0) {
		o[200] = ARG(o[
			201] + D);
		o[202] = ARG(D + 0 * o[
			201]) + D;
		o[203] = ARG(in_place(o, D) +
			D
		) + N;
	}
	o[i] += around(o, i) + t[get_local_id(0)];
}
"""
ONE = """
kernel void NAME(global int *o)
{
	LOCAL;
	int i = get_global_id(0);
	GPUBPF_MARK(named, i);
	t[get_local_id(0)] = o[i];
	barrier(CLK_LOCAL_MEM_FENCE);
	if (i == 0) {
USE
	}
	o[i] += around(o, i) + t[get_local_id(0)];
}
"""
LOCAL = "local int t[64]"
LENT = "local int *t = lent"


class Source:
    """The text of the kernels, and for each kernel the accepted reasons for a refusal."""

    def __init__(self):
        self.text, self.options, self.kernels = "", [], {}

    def add(self, template, name, form, local, reasons, names):
        kernel = f"kernel_{len(self.kernels):02}_{form}"
        text = template.replace("LOCAL;", f"{LOCAL if local else LENT};").replace("NAME", kernel)
        if not local:
            text = text.replace("(global int *o)", "(global int *o, local int *lent)")
        self.text += re.sub(r"\b(" + "|".join(names) + r")\b", lambda m: names[m[1]], text)
        self.kernels[kernel] = (name, form, local, reasons)
        return kernel

    def forms(self, name):
        n = len(self.options)
        self.options.append(f"-DOPTION_{n}={name}")
        self.text += f"#define BY_{n} {name}\n"
        return {"D": name, "O": f"BY_{n}", "A": f"ARG({name})", "N": f"ARG(ARG(BY_{n}))", "P": f"OPTION_{n}"}

    def run_lines(self):
        return "".join(f"//@ run: {k} 64 16 buf:8192" + ("" if local else " local:64") + "\n" for k, (_, _, local, _) in self.kernels.items())


def guarded(name):
    """Returns a definition of a builtin for compilers that lack it."""
    return f"#if !__has_builtin({name[:-2]})\n#define {name[:-2]}() \"none of it\"\n#endif\n"


def strings(source, names, reasons):
    for name in names:
        if name in POINTERS + NEWER:
            source.text += guarded(name)
        forms = source.forms(name)
        for local in (False, True) if name in ("__func__", "__PRETTY_FUNCTION__") else (False,):
            source.add(STRING, name, "string", local, reasons, forms)


def numbers(source):
    for name in NUMBERS:
        forms = source.forms(name)
        numeral = "__LINE__" if name.endswith("()") else name
        for local in (False, True) if name == "__LINE__" else (False,):
            source.add(LINES, name, "lines", local, {"mem.all": MACRO, "mem_before.all": MACRO, "call": MACRO, "call_exit": MACRO, "line": MACRO},
                       forms)
            source.add(NUMBER, name, "number", local, IN_CHECK, {**forms, "NUMERAL": numeral, "CONDITION": f"{numeral} < 3 || {forms['O']} > 7" if numeral == name else "1"})


def one(source, name, uses, reasons, reasons_local):
    for form, use in uses.items():
        for local in (False, True) if form in LOCAL_TOO else (False,):
            source.add(ONE, name, form, local, reasons_local if local else reasons, {"USE": use})


def moving(source):
    for name, reason in MOVING.items():
        forms = source.forms(name)
        uses = {key: f'\t\tprintf("%d %d\\n", {forms[f]}, {forms[f]});' for key, f in
                (("direct", "D"), ("macro", "O"), ("argument", "A"), ("nested", "N"), ("option", "P"))}
        uses |= {"size": f"\t\tint a[{forms['O']} + 1]; a[0] = 1; o[205] = sizeof(a) + a[0];", "case": f"\t\tswitch (o[203]) {{ case {forms['O']}: o[204] = 1; }}",
                 "assert": f'\t\t_Static_assert({forms["O"]} >= 0, ""); o[207] = {forms["P"]};', "initial": f"\t\tint a = {forms['O']}, b = {forms['P']}; o[207] = a * 100 + b;",
                 "aligned": f"\t\tint a __attribute__((aligned({forms['O']} ? 16 : 32))) = 3; o[207] = a + {forms['O']};"}
        if name == "__COUNTER__":
            uses |= {"directive": "#if __COUNTER__ & 1\n\t\to[204] = 1;\n#endif", "directive_macro": f"#if {forms['O']} & 1\n\t\to[204] = 1;\n#elif {forms['P']} & 2\n\t\to[204] = 2;\n#endif",
                     "joined": f"\t\tint CAT(a, {forms['O']}) = 1; o[204] = 7;",
                     "pasted": "\t\to[204] = CAT(__COUN, TER__);"}
        inside = {kind: reason for kind in KINDS if kind not in OUTSIDE}
        one(source, name, uses, inside, {**inside, **({kind: reason for kind in OUTSIDE} if name == "__COUNTER__" else {})})
    source.text += "int counts(int v) { return v + __COUNTER__; }\n"
    in_calls = {kind: "code with __COUNTER__" for kind in ("line", "call", "call_exit")}
    one(source, "__COUNTER__", {"called": "\t\to[204] = counts(o[205]);"}, in_calls, in_calls)


def dates(source):
    for name in DATES:
        forms = source.forms(name)
        uses = {key: f'\t\tprintf("%s %d\\n", {forms[f]}, (int)sizeof({forms[f]}));' for key, f in (("direct", "D"), ("nested", "N"), ("option", "P"))}
        uses["strung"] = f"\t\to[204] = XSTR({forms['O']})[3];"
        one(source, name, uses, {"": DATED}, {"": DATED})
    source.text += "constant char built[] = __TIME__;\nint when(int v) { return built[v & 3]; }\n"


def strung(source):
    for name in ("__func__", "__PRETTY_FUNCTION__", "__builtin_FUNCTION()", "return"):
        reasons = {kind: STRUNG for kind in KINDS if kind not in OUTSIDE}
        one(source, name, {"strung": f'\t\tprintf("%s|%s\\n", STR({name}), XSTR({name}));'}, reasons, {**reasons, "": STRUNG})
    one(source, "__func__", {"own": "#ifdef __func__\n\t\to[204] = 1;\n#endif"}, {kind: "a directive that tests __func__" for kind in KINDS if kind not in OUTSIDE},
        {"": "a directive that tests __func__"})


def predefined():
    out = subprocess.run([clang, "-x", "cl", "-cl-std=CL3.0", "-dM", "-E", "-", "-Xclang", "-finclude-default-header"], input="", text=True, capture_output=True, check=True).stdout
    return sorted(n for n in re.findall(r"^#define (\w+) ", out, re.M))


def plain(source, names):
    """Adds a kernel that uses all macros that clang defines, and the names that directives can query."""
    source.text += "constant char every[] = \"\"\n" + "".join(f"#ifdef {n}\nXSTR({n}) \",\"\n#endif\n" for n in names) + ";\n"
    sizes = "".join(f"#ifdef {n}\n\t\th = h * 3 + sizeof(XSTR({n}));\n#endif\n" for n in names)
    one(source, "all others", {"plain": f"\t\tuint h = 1;\n\t\tfor (int c = 0; c < (int)sizeof(every); c++)\n\t\t\th = h * 31 + every[c];\n{sizes}\t\to[209] = h;"}, {"line": SPLIT}, {})


def whole():
    source = Source()
    source.text += "int around(global int *o, int v) { return v > 3 ? o[v] : v; }\nint in_place(global int *o, int v) { return o[v & 63] * 0 + v; }\n"
    strings(source, STRINGS + POINTERS, IN_CHECK)
    numbers(source)
    moving(source)
    strung(source)
    names = predefined()
    plain(source, names)
    return source, names


def dated():
    source = Source()
    source.text += "int around(global int *o, int v) { return v > 3 ? o[v] : v; }\n"
    dates(source)
    one(source, "__TIME__", {"called": "\t\to[204] = when(o[205]);"}, {"": DATED}, {"": DATED})
    return source


def queries():
    """Adds builtins and queries that PoCL's clang may not support, so that it takes other branches than clang 22."""
    source = Source()
    source.text += "int around(global int *o, int v) { return v > 3 ? o[v] : v; }\n"
    asks = "".join(f"#ifdef {re.match('[a-z_]+', a)[0]}\n#if {a}\n\t\th = h * 5 + {i};\n#else\n\t\th = h * 7;\n#endif\n#endif\n" for i, a in enumerate(ASKS))
    reasons = {"": BRANCH} if device == "pocl" else IN_CHECK
    strings(source, NEWER, reasons)
    reasons = {"": BRANCH} if device == "pocl" else {"line": SPLIT}
    one(source, "questions", {"asks": f"\t\tuint h = 1;\n{asks}\t\to[209] = h;"}, reasons, {})
    return source


def run(command, folder):
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=800, check=False)


def stable(out):
    """Replaces the name of PoCL's temporary source file, which is different in each build."""
    return re.sub(r"tempfile_\w{6}", "tempfile_XXXXXX", out)


def judge(source, kind, kernels):
    """Returns how many kernels have native output, and how many are refused for an accepted reason."""
    same = refused = 0
    for k in kernels:
        if k["name"] not in source.kernels:
            continue
        name, form, local, reasons = source.kernels[k["name"]]
        reason = reasons.get(kind, reasons.get("", None))
        if k["probed"] == k["launches"]:
            same += 1
            ok(True, f"{device}: {name} {form}, gpu/{kind}/: the same")
        else:
            refused += 1
            ok(reason is not None and reason in k["reason"], f"{device}: {name} {form}, gpu/{kind}/: refused: {reason}", k, local)
    return same, refused


def sweep(source, title, folder):
    text = HEAD.format(include=f"{os.path.dirname(os.path.abspath(__file__))}/../../../../include", options=" ".join(source.options))
    with open(f"{folder}/{title}.cl", "w", encoding="utf-8") as f:
        f.write(source.run_lines() + text + source.text)
    app = [f"{build}/tests/backends/spirv/opencl/cl-case", f"{title}.cl"]
    native = run(app, folder)
    ok(native.returncode == 0, f"{device}: {len(source.kernels)} kernels of {title} run", native.stdout[-500:], native.stderr)
    if native.returncode:
        return 0, 0
    total = [0, 0]
    for kind in KINDS:
        report = f"{folder}/report.json"
        tool = run([f"{build}/gpubpf", "run", "-j", "--report", report, "--wait", "600", "-e", f"gpu/{kind}/* {{ @ = count(); }}", "--", *app], folder)
        ok(title == "dated" or stable(tool.stdout) == stable(native.stdout), f"{device}: gpu/{kind}/: the output is the same", stable(native.stdout), stable(tool.stdout), tool.stderr)
        with open(report, encoding="utf-8") as f:
            n = judge(source, kind, json.load(f)["kernels"])
        total = [total[0] + n[0], total[1] + n[1]]
    return total


# without vectorisation the runtimes compile much faster
env = dict(os.environ, POCL_KERNEL_CACHE="0", POCL_WORK_GROUP_METHOD="loops", CL_CONFIG_CPU_VECTORIZER_MODE="1")
if device == "intel":
    env["OCL_ICD_VENDORS"] = os.environ.get("GPUBPF_TEST_INTEL", "")
    if not os.path.exists(env["OCL_ICD_VENDORS"]):
        skip_all("Intel's CPU runtime: GPUBPF_TEST_INTEL names no libintelocl.so")
with tempfile.TemporaryDirectory() as work:
    env["XDG_CACHE_HOME"] = work
    kept, others = whole()
    sums = [sweep(kept, "names", work), sweep(dated(), "dated", work), sweep(queries(), "asked", work)]
    rows = len({name for name, _, _, _ in kept.kernels.values()} | set(DATES) | set(NEWER)) - 1 + len(others) + len(ASKS)
    print(f"# {device}: {rows} names, {len(KINDS)} kinds of places: {sum(s[0] for s in sums)} kernels are the same, "
          f"{sum(s[1] for s in sums)} are refused with the reason")
plan()
