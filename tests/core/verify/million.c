/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs for which the verifier would walk a million states. It must refuse each with a clear error, in less than 2
 * seconds of CPU time and 256 MiB.
 */
#include <string.h>
#include <sys/resource.h>

#include "asm.h"
#include "core/model/diag.h"
#include "core/model/facts.h"
#include "tests/tap.h"

static struct assembly assembly;
static struct gpubpf_insn insns[ASM_MAX];

__attribute__((format(printf, 1, 2)))
static void line(const char *fmt, ...)
{
	char text[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!asm_line(&assembly, text))
		note("%s", assembly.error);
}

/* A loop of two million iterations, in each of which the counter's value is known. */
static void counts(void)
{
	line("r0 = 0");
	line("again:");
	line("r0 += 1");
	line("if r0 < 2000000 goto again");
}

/* A number with 2^24 possible values, on which a branch at the end depends. */
static void bits(void)
{
	line("r6 = 0");
	for (int i = 0; i < 24; i++) {
		line("call get_prandom_u32");
		line("if r0 & 1 goto b%d", i);
		line("r6 += %d", 1 << i);
		line("b%d:", i);
	}
	line("if r6 == 5 goto out");
	line("out:");
}

/* A loop whose iterations write different numbers to stack slots and compare them. */
static void stack(void)
{
	for (int i = 1; i <= 32; i++)
		line("*(u64 *)(r10 -%d) = %d", 8 * i, i);
	line("r6 = 0");
	line("again:");
	line("call get_prandom_u32");
	for (int i = 1; i <= 8; i++) {
		line("if r0 != %d goto s%d", i, i);
		line("r1 = *(u64 *)(r10 -%d)", 8 * i);
		line("r1 += %d", i);
		line("*(u64 *)(r10 -%d) = r1", 8 * i);
		line("s%d:", i);
		line("r1 = *(u64 *)(r10 -%d)", 8 * i);
		line("if r1 > %d goto out", 1000 * i + 7);
	}
	line("r6 += 1");
	line("if r6 < 100000 goto again");
	line("out:");
}

static double seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void check(const char *name, void (*make)(void))
{
	struct gpubpf_prog prog = { .name = "million", .insns = insns };
	struct gpubpf_unit unit = { .progs = &prog, .nprogs = 1 };
	struct gpubpf_diag diag;
	struct rusage u;
	double took;
	int err;

	memset(&assembly, 0, sizeof(assembly));
	make();
	line("r0 = 0");
	line("exit");
	gpubpf_diag_init(&diag);
	if (!ok(asm_finish(&assembly) && gpubpf_insn_decode(assembly.insns, assembly.n, insns, &diag) >= 0,
		"%s: assembled", name))
		return;
	prog.ninsns = assembly.n;
	took = seconds();
	err = gpubpf_verify(&unit, &prog, NULL, &diag);
	took = seconds() - took;
	getrusage(RUSAGE_SELF, &u);
	ok(err < 0 && diag.code == GPUBPF_E_TOO_COMPLEX && diag.what[0] && diag.remedy[0], "%s: %s", name, diag.what);
	ok(took < 2, "%s: %.2f s", name, took);
	ok(u.ru_maxrss < 256 << 10, "%s: %ld MiB", name, u.ru_maxrss >> 10);
	gpubpf_facts_destroy(prog.facts);
}

int main(void)
{
	check("counts", counts);
	check("bits", bits);
	check("stack", stack);
	return done();
}
