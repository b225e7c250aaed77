#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""places_random.py SEED FILE [N]: writes a case (tests/backends/spirv/opencl_c/case.h) of random kernels that access
memory in every form. The output must be deterministic: each lane writes to its own addresses or uses atomics whose
order does not matter, and sums that may overflow are unsigned."""
import random
import sys

KERNELS, LANES, BLOCK = 6, 128, 32
HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
__constant int table[8] = { 3, 1, 4, 1, 5, 9, 2, 6 };

__attribute__((noinline)) int weigh(__global const int *p, int i)
{
	return (int)((uint)p[i & 127] * 3 + table[i & 7]);
}

__attribute__((noinline)) void leave(__global int *p, int i, int v)
{
	p[0] = v;
	if (v & 1)
		p[1] += (uint)(weigh(p, 0) ^ i);
}
"""


class Kernel:
    def __init__(self, rng, number, local):
        """A random kernel. local: it has local memory, so it calls no functions whose last bits may differ."""
        self.rng, self.number, self.lines, self.depth, self.names, self.local = rng, number, [], 1, 0, local

    def emit(self, text):
        self.lines.append("\t" * self.depth + text)

    def int_(self, deep=0):
        r = self.rng
        forms = ["i", "l", "n", f"{r.randint(-9, 99)}", "x", "in[{}]", "table[({}) & 7]", "c[({}) & 15]", "p[({}) & 7]",
                 "own[{}]", "weigh(in, {})", "convert_int_sat(f)", "s[l]", "(int)bytes[({}) & 63]", "(int)wide[i & 31]",
                 "(int)((uint)({}) + ({}))", "(int)((uint)({}) * ({}))", "({} ^ {})", "({} > {} ? {} : {})",
                 "((int4)({})).z", "((int2)({}, in[i])).x"]
        if not self.local:
            forms.remove("s[l]")
        form = r.choice(forms[:5] if deep > 2 else forms)
        if form in ("in[{}]", "own[{}]"):
            size = 127 if form[0] == "i" else 15
            return form.format(f"({self.int_(deep + 1)}) & {size}")
        while "{}" in form:
            form = form.replace("{}", self.int_(deep + 1), 1)
        return form

    def float_(self, deep=0):
        r = self.rng
        forms = ["f", f"{r.randint(1, 99)}.25f", "g[({}) & 127]", "(float)({})", "([] * [])", "([] + [])", "([] - []) * 0.5f",
                 "fabs([])", "sqrt(fabs([]))", "fma([], [], [])", "vload2(({}) & 31, g).y", "mine[({}) & 7]", "floor([])", "((float4)([])).y"]
        if self.local:
            forms.remove("sqrt(fabs([]))")
        form = r.choice(forms[:2] if deep > 2 else forms)
        while "[]" in form:
            form = form.replace("[]", self.float_(deep + 1), 1)
        while "{}" in form:
            form = form.replace("{}", self.int_(2), 1)
        return form

    def statement(self):
        r = self.rng
        kind = r.randint(0, 15)
        if kind == 0 and self.depth < 3:
            self.emit(f"if ({self.int_()} & {r.choice([1, 2, 3])}) {{")
            self.block(r.randint(1, 3))
            if r.random() < 0.5:
                self.emit("} else {")
                self.block(r.randint(1, 2))
            self.emit("}")
        elif kind == 1 and self.depth < 3:
            self.names += 1
            k = f"k{self.names}"
            self.emit(f"for (int {k} = 0; {k} < {r.randint(2, 5)}; {k}++) {{")
            self.block(r.randint(1, 3))
            self.emit("}")
        else:
            self.emit(r.choice(["f = fract(fabs([]), &mine[{} & 7]);"] * (not self.local) + [
                "own[{} & 15] = {};", "own[{} & 15] += (uint)({});", "own[{} & 15]++;", "p[{} & 7] = {};", "p[{} & 7] ^= {};", "x = {};",
                "mine[{} & 7] = [];", "mine[{} & 7] += [];", "f = [];", "bytes[{} & 63] = {};", "wide[i & 31] = {};",
                "vstore4(vload4({} & 31, in) + {}, 1, own);", "vstore2((float2)([], f), {} & 3, mine);",
                "atomic_add(&sum[{} & 7], {});", "atomic_max(&sum[8 + ({} & 7)], {});", "atomic_or(&sum[16], {});",
                "leave(own + 2, i, {});", "four[({}) & 1] = four[1] * 2;", "four[({}) & 1] = (int4)({});", "four[1] ^= (int4)({});",
                "vstore2((float2)([]), {} & 3, mine);"
            ]).replace("{}", "(%s)").replace("[]", "<>"))
            line = self.lines[-1]
            while "(%s)" in line:
                line = line.replace("(%s)", f"({self.int_()})", 1)
            while "<>" in line:
                line = line.replace("<>", self.float_(), 1)
            self.lines[-1] = line

    def block(self, n):
        self.depth += 1
        for _ in range(n):
            self.statement()
        self.depth -= 1

    def text(self):
        r = self.rng
        self.emit("int i = get_global_id(0), l = get_local_id(0), x = i, p[8];")
        if self.local:
            self.emit("__local int s[32];")
        self.emit("__global int *own = out + 16 * i;")
        self.emit("__global float *mine = fout + 16 * i;")
        self.emit("__global uchar *bytes = (__global uchar *)(fout + 4096) + 64 * i;")
        self.emit("__private long wide[32];")
        self.emit("__global int4 *four = (__global int4 *)own;")
        self.emit("float f = i;")
        self.emit("for (int k = 0; k < 8; k++)")
        self.emit(f"\tp[k] = k * {r.randint(1, 99)};")
        self.emit("for (int k = 0; k < 32; k++)")
        self.emit(f"\twide[k] = k * {r.randint(1, 99)};")
        if self.local:
            self.emit("s[31 - l] = in[i];")
            self.emit("barrier(CLK_LOCAL_MEM_FENCE);")
        for _ in range(r.randint(4, 9)):
            self.statement()
        self.emit("own[0] = (uint)x + p[x & 7] + (int)wide[x & 31];")
        self.emit("mine[15] = f;")
        body = "\n".join(self.lines)
        return (f"__kernel void random{self.number}(__global int *out, __global const int *in, __global float *fout, "
                "__global const float *g,\n\t\t\t__constant int *c, __global int *sum, int n)\n{\n" + body + "\n}\n")


def case(seed, kernels=KERNELS):
    rng = random.Random(seed)
    runs = [f"//@ run: random{k} {LANES} {BLOCK} buf:{LANES * 64} buf:512 buf:{4096 * 4 + LANES * 64} buf:512 buf:64 buf:128 "
            f"i32:{rng.randint(0, 9)}" for k in range(kernels)]
    return "\n".join([HEAD, *runs, *("\n" + Kernel(rng, k, seed % 2 == 0).text() for k in range(kernels))])


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write(case(int(sys.argv[1]), *map(int, sys.argv[3:])))
