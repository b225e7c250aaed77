#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""random_kernels.py SEED N: writes a CUDA program of N random kernels to standard output.

The kernels use all control flow of CUDA C: early and late returns, nested loops with break and continue, switches large
enough for jump tables, goto, direct, recursive and indirect calls, barriers and shared memory, atomics, divisions and
functions with slow paths, arrays in local memory, vectors, launch bounds. A kernel's output depends on its input only:
barriers stand only where all threads of a block arrive. The program prints a line per kernel, and at the end the line
of threads.cuh. The same seed gives the same text."""
import random
import sys

HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/* Made by random_kernels.py %d %d. */
#include "threads.cuh"

enum { BLOCKS = 13, IN = 1 << 12, SUMS = 64, MOST = BLOCKS * 256 };

struct arguments {
	const unsigned *in;
	unsigned *out, *sums, *largest, *own;
};
"""
MAIN = """
template <typename K> static void launch(K kernel, const char *name, int block, const arguments &a, int n, uint64_t *all)
{
	check(cudaMemset(a.out, 0, MOST * 4));
	check(cudaMemset(a.sums, 0, SUMS * 4));
	check(cudaMemset(a.largest, 0, SUMS * 4));
	check(cudaMemset(a.own, 0, MOST * 4));
	kernel<<<BLOCKS, block>>>(a, n, 0x9e3779b97f4a7c15ull, 0.75f);
	std::vector<unsigned> host(2 * (MOST + SUMS));
	check(cudaDeviceSynchronize());
	check(cudaMemcpy(host.data(), a.out, MOST * 4, cudaMemcpyDeviceToHost));
	check(cudaMemcpy(host.data() + MOST, a.sums, SUMS * 4, cudaMemcpyDeviceToHost));
	check(cudaMemcpy(host.data() + MOST + SUMS, a.largest, SUMS * 4, cudaMemcpyDeviceToHost));
	check(cudaMemcpy(host.data() + MOST + 2 * SUMS, a.own, MOST * 4, cudaMemcpyDeviceToHost));
	uint64_t hash = 14695981039346656037u;
	for (unsigned x : host)
		hash = (hash ^ x) * 1099511628211u;
	printf("%s %016llx\\n", name, (unsigned long long)hash);
	*all = (*all ^ hash) * 1099511628211u;
}

int main()
{
	check(cudaDeviceSetLimit(cudaLimitStackSize, 16384)); /* calls by pointers, and those of themselves */
	std::vector<unsigned> data(IN);
	unsigned x = 2463534242u;
	for (unsigned &d : data) {
		x ^= x << 13, x ^= x >> 17, x ^= x << 5;
		d = x;
	}
	device_array<unsigned> in(IN), out(MOST), sums(SUMS), largest(SUMS), own(MOST);
	check(cudaMemcpy(in.data, data.data(), IN * 4, cudaMemcpyHostToDevice));
	arguments a = { in.data, out.data, sums.data, largest.data, own.data };
	uint64_t all = 0;
	unsigned long long threads = 0;
"""


class Function:
    """The body of a kernel or of a called function. Its statements use the variables u0.., w0.., f0.. and d0."""

    def __init__(self, rng, callees, kernel):
        self.rng, self.callees, self.kernel = rng, callees, kernel
        self.lines, self.labels, self.loops, self.spent = [], 0, 0, 0
        self.local = rng.random() < 0.4

    def emit(self, depth, text):
        self.lines.append("\t" * (depth + 1) + text)

    def u(self, deep=2):
        r = self.rng
        if deep == 0 or r.random() < 0.25:
            return r.choice([f"u{r.randrange(5)}", f"u{r.randrange(5)}", f"{r.getrandbits(r.choice([3, 8, 32]))}u", "i"])
        a, b = self.u(deep - 1), self.u(deep - 1)
        kind = r.randrange(16)
        if kind < 6:
            return f"({a} {r.choice('+-*^&|')} {b})"
        if kind < 8:
            return f"({a} {r.choice(['<<', '>>'])} ({b} & 31))"
        return [f"({a} / ({b} | 1u))", f"({a} % ({b} | 1u))", f"(unsigned)(({self.w(deep - 1)}) >> 17)",
                f"a.in[{a} & (IN - 1)]", f"__popc({a})", f"__funnelshift_l({a}, {b}, {r.randrange(32)})",
                f"({self.test(deep - 1)} ? {a} : {b})", f"__float_as_uint({self.f(deep - 1)})"][kind - 8]

    def w(self, deep=2):
        r = self.rng
        if deep == 0 or r.random() < 0.3:
            return r.choice([f"w{r.randrange(2)}", f"((unsigned long long)u{r.randrange(5)} << 7)"])
        a, b = self.w(deep - 1), self.w(deep - 1)
        return r.choice([f"({a} + {b})", f"({a} * {b})", f"({a} ^ {b})", f"({a} >> (u0 & 63))", f"({a} / ({b} | 1))",
                         f"({a} % ({b} | 3))"])

    def f(self, deep=2):
        r = self.rng
        if deep == 0 or r.random() < 0.3:
            return r.choice(["f0", "f1", "scale", f"{r.randrange(1, 99)}.25f"])
        a, b = self.f(deep - 1), self.f(deep - 1)
        return r.choice([f"({a} + {b})", f"({a} * {b})", f"({a} - {b})", f"({a} / ({b} + 1.5f))", f"sqrtf(fabsf({a}))",
                         f"sinf({a})", f"__expf(-fabsf({a}))", f"fmaxf({a}, {b})", f"(float)({self.u(deep - 1)} & 1023)"])

    def test(self, deep=1):
        r = self.rng
        return r.choice([f"({self.u(deep)} & {1 << r.randrange(8)})", f"({self.u(deep)} < {self.u(deep)})",
                         f"((int){self.u(deep)} >= (int){self.u(deep)})", f"({self.w(deep)} > {self.w(deep)})",
                         f"({self.f(deep)} < {self.f(deep)})", f"(u{r.randrange(5)} % 3 == {r.randrange(3)})"])

    def block(self, depth, most):
        for _ in range(self.rng.randrange(1, most + 1)):
            self.statement(depth)

    def statement(self, depth):
        r = self.rng
        self.spent += 1
        simple = [self.assign, self.assign, self.assign, self.memory, self.atomic, self.call]
        nested = [self.branch, self.branch, self.loop, self.switch, self.jump, self.leave, self.end]
        r.choice(simple if depth >= 3 or self.spent > 40 else simple + nested)(depth)

    def assign(self, depth):
        r = self.rng
        self.emit(depth, r.choice([f"u{r.randrange(5)} {r.choice(['=', '+=', '^='])} {self.u()};",
                                  f"u{r.randrange(5)} = {self.u(3)};", f"w{r.randrange(2)} = {self.w()};",
                                  f"f{r.randrange(2)} = {self.f()};", f"d0 = d0 * 0.5 + {self.f(1)} / (fabs(d0) + 2.0);"]))

    def memory(self, depth):
        r = self.rng
        kinds = [f"u{r.randrange(5)} ^= __ldg(a.in + ({self.u(1)} & (IN - 1)));",
                 f"u{r.randrange(5)} += *(volatile const unsigned *)(a.in + ({self.u(1)} & (IN - 1)));",
                 f"{{ uint4 v = ((const uint4 *)a.in)[{self.u(1)} & (IN / 4 - 1)]; u0 ^= v.x, u1 += v.y, u2 ^= v.z, u3 -= v.w; }}",
                 f"w0 ^= ((const unsigned long long *)a.in)[{self.u(1)} & (IN / 2 - 1)];",
                 f"u{r.randrange(5)} += ((const unsigned char *)a.in)[{self.u(1)} & (IN - 1)];"]
        if self.local:
            kinds += [f"many[{self.u(1)} & 15] = {self.u(1)};", f"u{r.randrange(5)} ^= many[{self.u(1)} & 15];"] * 2
        if self.kernel:
            kinds.append(f"a.out[i] = {self.u(1)};")
        self.emit(depth, r.choice(kinds))

    def atomic(self, depth):
        r = self.rng
        self.emit(depth, r.choice([f"atomicAdd(a.sums + ({self.u(1)} & (SUMS - 1)), {self.u(1)});",
                                  f"atomicMax(a.largest + ({self.u(1)} & (SUMS - 1)), {self.u(1)});",
                                  f"u{r.randrange(5)} += atomicAdd(a.own + i, {self.u(1)});",
                                  f"u{r.randrange(5)} ^= atomicExch(a.own + i, {self.u(1)});",
                                  f"u{r.randrange(5)} += atomicCAS(a.own + i, {self.u(1)}, {self.u(1)});"]))

    def call(self, depth):
        if not self.callees:
            return self.assign(depth)
        self.emit(depth, f"u{self.rng.randrange(5)} += {self.rng.choice(self.callees)}(a, {self.u(1)} & {self.rng.choice([3, 1023])}, "
                        f"{self.u(1)}, i);")

    def branch(self, depth):
        self.emit(depth, f"if ({self.test()}) {{")
        self.block(depth + 1, 3)
        if self.rng.random() < 0.5:
            self.emit(depth, "} else {")
            self.block(depth + 1, 3)
        self.emit(depth, "}")

    def loop(self, depth):
        r, k = self.rng, f"k{self.labels}"
        self.labels += 1
        much = r.choice([f"{r.randrange(1, 6)}u", f"({self.u(1)} & {r.choice([3, 7])})"])
        self.emit(depth, r.choice(["", "", "#pragma unroll 1\n" + "\t" * (depth + 1)]) +
                 f"for (unsigned {k} = 0; {k} < {much}; {k}++) {{")
        self.loops += 1
        self.block(depth + 1, 3)
        self.loops -= 1
        self.emit(depth + 1, f"u{r.randrange(5)} += {k};")
        self.emit(depth, "}")

    def switch(self, depth):
        r = self.rng
        cases = r.choice([3, 8, 12])
        self.emit(depth, f"switch ({self.u(1)} % {cases + 1}) {{")
        kept, self.loops = self.loops, 0 # a break in a switch does not leave the enclosing loop
        for k in range(cases):
            self.emit(depth, f"case {k}:")
            self.emit(depth + 1, f"u{r.randrange(5)} = {self.u(1)};")
            if r.random() < 0.3:
                self.block(depth + 2, 1)
            if r.random() < 0.8:
                self.emit(depth + 1, "break;")
        self.loops = kept
        self.emit(depth, "default:")
        self.emit(depth + 1, f"u0 ^= {r.getrandbits(16)};")
        self.emit(depth, "}")

    def jump(self, depth):
        label = f"over{self.labels}"
        self.labels += 1
        self.emit(depth, f"if ({self.test()}) goto {label};")
        self.assign(depth)
        self.emit(depth, "{")
        self.block(depth + 1, 2)
        self.emit(depth, "}")
        self.emit(depth, f"{label}:;")

    def leave(self, depth):
        if self.loops:
            self.emit(depth, f"if ({self.test()}) {self.rng.choice(['break', 'continue'])};")
        else:
            self.branch(depth)

    def end(self, depth):
        if not self.kernel:
            return self.emit(depth, f"if ({self.test()}) return {self.u(1)};")
        self.emit(depth, self.rng.choice([f"if ({self.test()}) return;",
                                         f"if ({self.test()}) {{ a.out[i] = {self.u(1)}; return; }}"]))

    def emit_block_code(self):
        """Emits code that all threads of the block must execute."""
        r = self.rng
        self.emit(0, r.choice([f"tile[threadIdx.x] = {self.u(1)}; __syncthreads(); u1 ^= tile[(threadIdx.x * 5 + 3) % blockDim.x]; "
                              "__syncthreads();",
                              f"u2 ^= __syncthreads_or({self.test()});",
                              f"u3 += __syncthreads_count({self.test()});"]))

    def declare(self, first):
        self.emit(0, f"unsigned {first};")
        self.emit(0, "unsigned long long w0 = u0 * 0x100000001b3ull, w1 = w0 ^ u1;")
        self.emit(0, "float f0 = (u2 & 0xffff) * 0.125f, f1 = f0 + 1.0f;")
        self.emit(0, "double d0 = f1;")
        if self.local:
            self.emit(0, "unsigned many[16];")
            self.emit(0, "for (int k = 0; k < 16; k++) many[k] = u0 * k;")

    def result(self):
        return ("u0 ^ u1 * 3 ^ u2 * 5 ^ u3 * 7 ^ u4 * 11 ^ (unsigned)(w0 ^ w1 >> 32) ^ __float_as_uint(f0) ^ __float_as_uint(f1) ^ "
                "(unsigned)__double_as_longlong(d0)" + (" ^ many[u0 & 15]" if self.local else ""))


def device_function(rng, name, callees):
    f = Function(rng, callees, False)
    how = rng.choice(["__noinline__", "__noinline__", "__forceinline__"])
    f.declare("u0 = x, u1 = y, u2 = x ^ y, u3 = x + 1, u4 = y * 3")
    f.emit(0, "float scale = x & 7;")
    f.block(0, 4)
    if rng.random() < 0.3: # the function calls itself, at most three levels deep
        how = "__noinline__"
        f.emit(0, f"if (x - 1 < 3) u1 += {name}(a, x - 1, u1 * 9, i);")
    return [f"__device__ {how} static unsigned {name}(const arguments &a, unsigned x, unsigned y, int i)", "{", *f.lines,
            f"\treturn {f.result()};", "}", ""]


def kernel(rng, k):
    lines, callees = [], []
    for n in range(rng.randrange(4)):
        lines += device_function(rng, f"called{k}_{n}", list(callees))
        callees.append(f"called{k}_{n}")
    if len(callees) > 1 and rng.random() < 0.3: # a call through a pointer that the compiler cannot resolve
        lines += [f"typedef unsigned (*pointer{k})(const arguments &, unsigned, unsigned, int);",
                  f"__device__ pointer{k} table{k}[2] = {{ {callees[0]}, {callees[1]} }};", ""]
        callees.append(f"table{k}[u0 & 1]")
    block = rng.choice([32, 64, 96, 128, 33, 200])
    bounds = rng.choice(["", "", f"__launch_bounds__({block}) ", f"__launch_bounds__({block}, {rng.choice([2, 8, 1024 // block])}) "])
    f = Function(rng, callees, True)
    f.emit(0, "__shared__ unsigned tile[256];")
    f.emit(0, "int i = blockIdx.x * blockDim.x + threadIdx.x;")
    f.declare("u0 = a.in[i & (IN - 1)], u1 = u0 * 2654435761u, u2 = i * 40503u, u3 = (unsigned)seed, u4 = n")
    if rng.random() < 0.5:
        f.emit(0, "tile[threadIdx.x] = u1;")
        for _ in range(rng.randrange(1, 3)):
            f.emit_block_code()
    if rng.random() < 0.6:
        f.emit(0, "if (i >= n) return;")
    f.block(0, 7)
    f.emit(0, f"a.out[i] = {f.result()};")
    if rng.random() < 0.3:
        f.emit(0, f"if ({f.test()}) return;")
        f.emit(0, "a.out[i] += w1 >> 3;")
    lines += [f"__global__ void {bounds}random{k}(arguments a, int n, unsigned long long seed, float scale)", "{", *f.lines, "}", ""]
    return lines, block


def main():
    seed, n = int(sys.argv[1]), int(sys.argv[2])
    text, launches = [HEAD % (seed, n)], []
    for k in range(n):
        lines, block = kernel(random.Random(f"{seed} {k}"), k)
        text += lines
        launches += [f"\tlaunch(random{k}, \"random{k}\", {block}, a, BLOCKS * {block} - {k % 77}, &all);",
                     f"\tthreads += BLOCKS * {block};"]
    print("\n".join(text) + MAIN + "\n".join(launches) + "\n\treturn report(all, threads);\n}")


if __name__ == "__main__":
    main()
