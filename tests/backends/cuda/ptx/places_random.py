# SPDX-License-Identifier: Apache-2.0
"""Generates a random PTX kernel with places of most kinds, in the format of tests/backends/cuda/ptx/mem. places.py
compares the twins with the behaviour that the interpreter (ptx_run.py) sees. The same seed gives the same text."""
import random

import ptx_run

HEAD = """.version 7.4
.target sm_80
.address_size 64
.file 1 "/src/random.cu"
.func (.param .b32 res) mixes(.param .b32 x)
{
	.reg .b32 %r<3>;
	ld.param.b32 %r1, [x];
	mul.lo.u32 %r1, %r1, 1664525;
	st.param.b32 [res], %r1;
	ret;
}
"""
BEGIN = """.visible .entry NAME(.param .u64 a, .param .u64 b)
{
	.shared .align 16 .b8 NAME_tile[2048];
	.local .align 16 .b8 own[64];
	.reg .pred %p<4>;
	.reg .b16 %h<4>;
	.reg .b32 %r<10>, %s<2>;
	.reg .f32 %f<4>;
	.reg .b64 %rd<10>, %x<4>;
	.loc 1 9 1
	ld.param.u64 %rd1, [a];
	ld.param.u64 %rd2, [b];
	mov.u32 %r1, %laneid;
	shl.b32 %r2, %r1, 6;
	cvt.u64.u32 %x1, %r2;
	add.s64 %rd1, %rd1, %x1;
	add.s64 %rd2, %rd2, %x1;
	mov.u64 %rd3, NAME_tile;
	add.s64 %rd3, %rd3, %x1;
	cvt.u32.u64 %s1, %rd3;
	mov.u64 %rd4, own;
	cvta.shared.u64 %rd5, %rd3;
	mov.u32 %r3, 7;
	mov.u32 %r4, 9;
	mov.u64 %x2, 11;
	mov.b32 %f1, %r3;
	cvt.u16.u32 %h1, %r1;
	setp.lt.u32 %p1, %r1, 13;
	setp.ge.u32 %p2, %r1, 20;
"""
BASES = [(".global", "%rd1"), (".global", "%rd2"), (".shared", "%rd3"), (".shared", "%s1"), (".local", "%rd4"), ("", "%rd1"),
         ("", "%rd5")]
TYPES = {"u8": ("%r3", 1), "s16": ("%r4", 2), "b16": ("%h1", 2), "u32": ("%r3", 4), "f32": ("%f1", 4), "b64": ("%x2", 8)}
KINDS = ("mem", "mem_before", "mem.shared", "mem.local", "mem.all", "mem.capture", "atomic", "barrier", "barrier_exit", "branch",
         "insn", "line", "mark", "block_begin", "block_end")


class Kernel:
    def __init__(self, rng, name):
        self.rng, self.labels, self.lines, self.name = rng, 0, [], name
        for _ in range(rng.randrange(8, 24)):
            rng.choice((self.access, self.access, self.vector, self.atomic, self.loop, self.skip, self.wait, self.mark, self.line,
                        self.arithmetic, self.call))()
        self.call()

    def emit(self, text, guard=True):
        guards = ("",) * 4 + ("@%p1 ", "@!%p1 ", "@%p2 ")
        self.lines.append("\t" + (self.rng.choice(guards) if guard else "") + text + ";")

    def at(self, size):
        """Returns an address space, and an operand that addresses one of the lane's 64 bytes in it."""
        space, base = self.rng.choice(BASES)
        off = self.rng.randrange(0, 64 - size + 1, size)
        return space, f"[{base}{'+' + str(off) if off else ''}]"

    def access(self):
        kind = self.rng.choice(list(TYPES))
        register, size = TYPES[kind]
        space, at = self.at(size)
        weak = self.rng.choice(("", "", ".volatile")) if space != ".local" else ""
        if self.rng.random() < 0.5:
            self.emit(f"ld{weak}{space}.{kind} {register}, {at}")
        else:
            value = str(self.rng.randrange(100)) if kind[0] == "u" and self.rng.random() < 0.3 else register
            self.emit(f"st{weak}{space}.{kind} {at}, {value}")

    def vector(self):
        n = self.rng.choice((2, 4))
        space, at = self.at(4 * n)
        names = "{" + ", ".join(("%r3", "%r4", "%r5", "%r6")[:n]) + "}"
        self.emit(f"ld{space}.v{n}.u32 {names}, {at}" if self.rng.random() < 0.5 else f"st{space}.v{n}.u32 {at}, {names}")

    def atomic(self):
        space, base = self.rng.choice([b for b in BASES if b[0] != ".local"])
        op, kind = self.rng.choice((("add", "u32"), ("and", "b32"), ("or", "b32"), ("xor", "b32"), ("min", "s32"), ("max", "u32"),
                                    ("exch", "b32"), ("inc", "u32"), ("dec", "u32"), ("add", "u64"), ("cas", "b32")))
        value, to = ("%x2", "%x3") if kind == "u64" else ("%r4", "%r5")
        at = f"[{base}+{self.rng.randrange(0, 64, 8)}]"
        if op == "cas":
            self.emit(f"atom{space}.cas.b32 {to}, {at}, %r3, {value}")
        elif self.rng.random() < 0.5 or op == "exch":
            self.emit(f"atom{space}.{op}.{kind} {to}, {at}, {value}")
        else:
            self.emit(f"red{space}.{op}.{kind} {at}, {value}")

    def loop(self):
        self.labels += 1
        label, count = f"$again{self.labels}", f"%r{self.rng.choice((7, 8))}"
        self.emit(f"and.b32 {count}, %r1, {self.rng.randrange(4)}", False)
        self.lines.append(label + ":")
        self.access()
        self.emit(f"sub.s32 {count}, {count}, 1", False)
        self.emit(f"setp.ge.s32 %p3, {count}, 0", False)
        self.emit(f"@%p3 bra {label}", False)

    def skip(self):
        self.labels += 1
        self.emit(f"@{self.rng.choice(('', '!'))}%p{self.rng.choice((1, 2))} bra $over{self.labels}", False)
        self.access()
        self.mark()
        self.lines.append(f"$over{self.labels}:")

    def wait(self):
        self.emit(f"bar.sync {self.rng.randrange(16)}", False)

    def mark(self):
        name = f"gpubpf_mark_m{self.rng.randrange(3)}"
        bits, value = self.rng.choice(((32, "%r3"), (64, "%x2"), (16, "%h1"), (64, "5")))
        self.lines.append(f"\t{{ .reg .b{bits} {name}; mov.b{bits} {name}, {value}; }}")

    def line(self):
        self.lines.append(f"\t.loc 1 {self.rng.randrange(1, 9)} 1")

    def arithmetic(self):
        self.emit(self.rng.choice(("add.u32 %r3, %r3, %r4", "xor.b32 %r4, %r3, %r1", "add.u16 %h1, %h1, 3", "mul.lo.u32 %r6, %r3, 5",
                                  "selp.b32 %r5, %r3, %r4, %p1", "add.s64 %x2, %x2, 1")))

    def call(self):
        self.lines.append("\t{\n\t.param .b32 given;\n\tst.param.b32 [given], %r3;\n\t.param .b32 got;\n"
                          "\tcall.uni (got), mixes, (given);\n\tld.param.b32 %r3, [got];\n\t}")

    def text(self):
        return BEGIN.replace("NAME", self.name) + "\n".join(self.lines) + "\n\tret;\n}\n"


def image(seed, wanted):
    """Returns a module of one kernel, preceded by its expected counts. `wanted` returns the counts of a kind from the
    machine that interpreted the kernel."""
    text = HEAD + Kernel(random.Random(seed), "calls_random").text()
    machine = ptx_run.run(text, "calls_random", named=True)
    told = " ".join(f"{kind} {wanted(machine, kind)}" for kind in KINDS)
    return f"// by places_random.py\n// calls_random {told}\n{text}"
