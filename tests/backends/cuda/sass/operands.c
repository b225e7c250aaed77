/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operands: compares the registers that ctx->operand reports with nvdisasm's text, for one instruction of each form.
 * The forms of probes are in samples.def. All other forms occur in kernels only. The table must mark a form with
 * unknown registers.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sass/isa/operands.h"
#include "tests/backends/cuda/sass/isa/insn.h"
#include "tests/tap.h"

static const struct sample {
	uint32_t sm;
	struct sass_word word;
	const char *text;
} probes[] = {
#define SASS_SAMPLE(sm, lo, hi, text) { sm, { lo, hi }, text },
#include "samples.def"
}, kernels[] = {
	{ 90, { 0x0000004315477208, 0x0000000004000000 }, "FSEL R71, R21, R67, !P0" },
	{ 90, { 0x00000002130c7209, 0x0000000007800000 }, "FMNMX R12, R19, R2, !PT" },
	{ 90, { 0x000000020300720b, 0x0000000003f0d200 }, "FSETP.NEU.AND P0, PT, |R3|, R2, PT" },
	{ 90, { 0x0000003e3f537220, 0x0000000000400000 }, "FMUL R83, R63, R62" },
	{ 90, { 0x000000f781817221, 0x0000000000000000 }, "FADD R129, R129, R247" },
	{ 90, { 0x0000007cf8f67223, 0x00000000000000fc }, "FFMA R246, R248, R124, R252" },
	{ 90, { 0x0000000c08047228, 0x0000000000000000 }, "DMUL R4, R8, R12" },
	{ 90, { 0x0000000008067229, 0x0000000000000016 }, "DADD R6, R8, R22" },
	{ 90, { 0x000000101200722a, 0x000000000070e000 }, "DSETP.GEU.AND P0, PT, R18, R16, P0" },
	{ 90, { 0x000000020c04722b, 0x0000000000000016 }, "DFMA R4, R12, R2, R22" },
	{ 90, { 0x20000003ff049230, 0x0000000000004100 }, "@!P1 HADD2.F32 R4, -RZ, R3.H0_H0" },
	{ 90, { 0x200000ffff063231, 0x0000000000340945 }, "@P3 HFMA2.BF16_V2 R6, -RZ.H0_H0, RZ.H0_H0, -R69.H0_H0" },
	{ 90, { 0x0000004e57027232, 0x0000000000000800 }, "HMUL2 R2, R87.H0_H0, R78" },
	{ 90, { 0x0000004e5b037235, 0x0000000000000003 }, "HFMA2.MMA R3, R91, R78, R3" },
	{ 90, { 0x00000052514b723e, 0x00000000000000ff }, "F2FP.F16.F32.PACK_AB R75, R81, R82" },
	{ 90, { 0x0000000500067245, 0x0000000000201000 }, "I2FP.F32.U32 R6, R5" },
	{ 90, { 0x0000000000077301, 0x0000000000000000 }, "BREV R7, R0" },
	{ 80, { 0x0000000700007348, 0x0000000003800000 }, "WARPSYNC R7" },
	{ 90, { 0x41effff4ff027823, 0x0000000000000043 }, "FFMA R2, RZ, 29.99997711181640625, R67" },
	{ 80, { 0x3c003c00061a7835, 0x000000000000000b }, "HFMA2.MMA R26, R6, 1, 1, R11" },
	{ 90, { 0x00000005443c7e24, 0x000000000f8e0251 }, "IMAD R60, R68, R81, UR5" },
	{ 90, { 0x0000001e140a720a, 0x0000000003801028 }, "FSET.BF.LT.AND R10, R20, R30, PT" },
	{ 90, { 0x0000001e140a7215, 0x0000000000000028 }, "VABSDIFF4.U8 R10, P0, R20, R30, R40" },
	{ 90, { 0x0000001e140a7226, 0x0000000000000628 }, "IDP.4A.S8.S8 R10, R20, R30, R40" },
	{ 90, { 0x0000001e140a7233, 0x0000000003801128 }, "HSET2.LT.OR R10, -R20, R30, PT" },
	{ 90, { 0x0000001e140a7240, 0x0000000003800028 }, "HMNMX2 R10, R20, R30, PT" },
}, partly[] = {
	{ 90, { 0x000010007acc7984, 0x0000000000000800 }, "LDS R204, [R122+0x10]" },
	{ 90, { 0x000000040b007388, 0x0000000000000a00 }, "STS.64 [R11], R4" },
	{ 75, { 0x000000000c0d7981, 0x00000000081ee904 }, "LDG.E.SYS R13, [R12.64+UR4]" },
};

#define COUNT(a) (sizeof(a) / sizeof(*(a)))
#define UNIFORM 0x100

/*
 * Returns the number of the next register in the text, with a flag for uniform ones, or -1. Skips memory descriptors
 * and zero registers.
 */
static int next_named(const char **text)
{
	for (const char *at = *text; *at; at++) {
		bool begins = at == *text || !isalnum((unsigned char)at[-1]), uniform = begins && at[0] == 'U' && at[1] == 'R';
		const char *number = at + 1 + uniform;

		if (!strncmp(at, "desc[", 5)) {
			at = strchr(at, ']');
			continue;
		}
		if (!begins || (at[0] != 'R' && !uniform) || !isdigit((unsigned char)*number))
			continue;
		*text = number;
		return strtoul(number, NULL, 10) | (uniform ? UNIFORM : 0);
	}
	return -1;
}

static int compare_numbers(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/*
 * Compares the registers of the table with the registers in the text. For accesses the order does not matter: in ctx->operand
 * the value precedes the uniform register of the address.
 */
static bool names(const struct sample *s)
{
	struct sass_operand o[SASS_OPERANDS];
	int told[SASS_OPERANDS], text[2 * SASS_OPERANDS], reg;
	unsigned n = sass_operands_named(sass_arch_find(s->sm), sass_decode(s->word), o), ntold = 0, ntext = 0;
	const char *at = strchr(s->text + (*s->text == '@' ? strcspn(s->text, " ") + 1 : 0), ' ');

	for (unsigned i = 0; i < n; i++)
		if (o[i].n)
			told[ntold++] = o[i].reg | (o[i].uniform ? UNIFORM : 0);
	while (at && ntext < COUNT(text) && (reg = next_named(&at)) >= 0)
		text[ntext++] = reg;
	if (strchr(s->text, '[')) {
		qsort(told, ntold, sizeof(*told), compare_numbers);
		qsort(text, ntext, sizeof(*text), compare_numbers);
	}
	return ntold == ntext && !memcmp(told, text, ntold * sizeof(*told));
}

static void compare(const struct sample *samples, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sass_operands_known(sass_arch_find(samples[i].sm), sass_decode(samples[i].word)))
			ok(names(&samples[i]), "sm_%u: %s", samples[i].sm, samples[i].text);
}

int main(void)
{
	compare(probes, COUNT(probes));
	for (size_t i = 0; i < COUNT(kernels); i++)
		ok(sass_operands_known(sass_arch_find(kernels[i].sm), sass_decode(kernels[i].word)),
		   "sm_%u: is known: %s", kernels[i].sm, kernels[i].text);
	compare(kernels, COUNT(kernels));
	for (size_t i = 0; i < COUNT(partly); i++)
		ok(!sass_operands_known(sass_arch_find(partly[i].sm), sass_decode(partly[i].word)),
		   "sm_%u: is not known: %s", partly[i].sm, partly[i].text);
	return done();
}
