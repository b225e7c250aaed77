/* SPDX-License-Identifier: Apache-2.0 */
/*
 * said FILE.cu VARIABLES.cu: tests attributes of kernels in images that nvcc compiles for each architecture.
 * - More than 4 KiB of parameters are listed like others.
 * - A kernel with more registers than a thread can have is refused.
 * - An instruction mark of a known kind is accepted, and its instruction stays in place. Other marks are refused.
 * - A kernel is refused if the driver must patch an address in an unknown way, or an address outside the image's
 * variables.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sass/analysis/code.h"
#include "backends/cuda/sass/cubin/params.h"
#include "backends/cuda/sass/analysis/places.h"
#include "backends/cuda/sass/rewrite/twin.h"
#include "core/model/diag.h"
#include "tests/backends/cuda/case.h"
#include "tests/tap.h"
#include "each_cubin.h"

static struct gpubpf_param params[SASS_PARAMS_MAX];

static uint8_t *item_of(const struct sass_cubin *c, const struct sass_kernel *k, uint8_t attr)
{
	const struct sass_section *info = &c->sections[k->info];
	struct sass_item item;
	size_t at = 0;

	while (sass_item_next(info->data, info->size, &at, &item))
		if (item.attr == attr && item.data)
			return (uint8_t *)item.data;
	return NULL;
}

/* The kernel's parameters are (unsigned *, unsigned, struct of 10,000 bytes, unsigned short). */
static void check_params(const char *arch, const struct sass_cubin *c, const struct sass_kernel *k)
{
	static const uint32_t sizes[] = { 8, 4, 10000, 2 }, offs[] = { 0, 8, 12, 10012 };
	struct gpubpf_diag diag;
	uint32_t right = 0;
	uint8_t *item;
	int n;

	gpubpf_diag_init(&diag);
	memset(params, 0, sizeof(params));
	n = sass_params(c, k, params, &diag);
	for (int i = 0; i < n && n == 4; i++)
		right += params[i].size == sizes[i] && sass_param_off(sass_arch_find(c->sm), params, i) == offs[i];
	ok(right == 4, "%s: %u of %d parameters of 10 KiB are where they are", arch, right, n);
	item = item_of(c, k, SASS_ATTR_KPARAM_INFO_V2);
	if (!ok(item, "%s: they are told the newer way", arch))
		return;
	item[11] |= 0x10; /* sets a bit above the known bits */
	memset(params, 0, sizeof(params));
	ok(sass_params(c, k, params, &diag) < 0, "%s: what is not known there is refused", arch);
	item[11] &= 0x0f;
}

static void put32(uint8_t *at, uint32_t v)
{
	memcpy(at, &v, sizeof(v));
}

/* Is the kernel accepted with this mark, and is the marked instruction left in place? */
static bool is_accepted(const struct sass_cubin *c, const struct sass_kernel *k, uint8_t *item, uint32_t at, uint32_t kind, uint32_t reg)
{
	struct gpubpf_diag diag;
	struct sass_code code;
	bool stays;

	gpubpf_diag_init(&diag);
	put32(item, at);
	put32(item + 4, kind);
	put32(item + 8, reg);
	if (sass_code_read(c, k, &code, &diag) < 0)
		return false;
	stays = !sass_is_relocatable(&code, at / SASS_INSN);
	sass_code_finish(&code);
	return ok(stays, "what is marked stays at 0x%x", at);
}

/* Turns an attribute of the right size into an instruction mark, and tests marks of all kinds. */
static void check_marks(const char *arch, const struct sass_cubin *c, const struct sass_kernel *k)
{
	const struct sass_section *text = &c->sections[k->text];
	uint32_t nop = text->size - SASS_INSN;
	uint8_t *item = item_of(c, k, SASS_ATTR_KPARAM_INFO_V2);

	if (!ok(item && sass_opcode(sass_read(text->data + nop)) == SASS_OP_NOP, "%s: %s ends in a NOP", arch, c->symbols[k->symbol].name))
		return;
	item[-3] = SASS_ATTR_INSTR_REG_MAP;
	ok(is_accepted(c, k, item, nop, 0x103, UINT32_MAX), "%s: a mark of a NOP is known", arch);
	ok(!is_accepted(c, k, item, nop, 0x104, UINT32_MAX), "%s: not one of another kind", arch);
	ok(!is_accepted(c, k, item, nop, 0x103, 4), "%s: nor one with a register", arch);
	ok(!is_accepted(c, k, item, nop + 8, 0x103, UINT32_MAX), "%s: nor one of half an instruction", arch);
	ok(!is_accepted(c, k, item, nop + SASS_INSN, 0x103, UINT32_MAX), "%s: nor one behind the code", arch);
	ok(!is_accepted(c, k, item, 0, 0x103, UINT32_MAX), "%s: nor one of another instruction", arch);
	put32(item, nop);
	put32(item + 4, 0x103);
	item[-2] = 11;
	ok(!is_accepted(c, k, item, nop, 0x103, UINT32_MAX), "%s: nor one that is cut off", arch);
}

static void check_registers(const char *arch, const struct sass_cubin *c, const struct sass_kernel *k)
{
	static const uint32_t counts[] = { SASS_REGS_MAX, SASS_REGS_MAX + 1, UINT32_MAX - 7, UINT32_MAX };

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		struct sass_kernel said = *k;
		struct gpubpf_diag diag;
		struct sass_code code;
		int err;

		gpubpf_diag_init(&diag);
		said.regs = counts[i];
		err = sass_code_read(c, &said, &code, &diag);
		if (!err)
			sass_code_finish(&code);
		ok(i ? err == -EINVAL && strstr(diag.what, "registers") : !err, "%s: a kernel of %u registers is %s", arch, counts[i],
		   i ? "refused" : "taken");
	}
}

static void try_file(const char *arch, const char *data, size_t size)
{
	const struct sass_kernel *large = NULL;
	struct gpubpf_diag diag;
	struct sass_cubin c;

	gpubpf_diag_init(&diag);
	if (!ok(!sass_cubin_open(data, size, &c, &diag), "%s is read", arch))
		return;
	for (uint32_t k = 0; k < c.nkernels; k++)
		if (strstr(c.symbols[c.kernels[k].symbol].name, "large"))
			large = &c.kernels[k];
	if (ok(large, "%s: its kernel is there", arch)) {
		check_params(arch, &c, large);
		check_registers(arch, &c, large);
		check_marks(arch, &c, large);
	}
	sass_cubin_finish(&c);
}

/* Makes a twin without probes. Returns the reason for a refusal, or "". */
static const char *twin_of(const struct sass_cubin *c, const struct sass_kernel *k)
{
	static struct sass_section nothing;
	const struct sass_cubin probes = { .sections = &nothing, .nsections = 1 };
	static struct gpubpf_diag diag;
	const struct sass_insn_probes none = { 0 };
	struct sass_patched_code grafted = { 0 };
	struct sass_twin twin = { 0 };
	struct sass_code code;
	int err;

	gpubpf_diag_init(&diag);
	if (sass_code_read(c, k, &code, &diag) < 0)
		return diag.what;
	err = sass_patch_kernel(&code, k->regs, NULL, NULL, &none, &grafted, &diag);
	if (!err)
		err = sass_twin_write(c, k, &code, &probes, &grafted, &twin, &diag);
	sass_twin_finish(&twin);
	sass_patched_code_finish(&grafted);
	sass_code_finish(&code);
	return err ? diag.what : "";
}

static void try_addresses(const char *arch, const char *data, size_t size)
{
	const struct sass_section *table;
	const struct sass_kernel *k;
	struct gpubpf_diag diag;
	struct sass_cubin c;
	size_t step;
	const char *why;

	gpubpf_diag_init(&diag);
	if (sass_cubin_open(data, size, &c, &diag) < 0 || !(k = sass_kernel_find(&c, "variables")))
		abort();
	table = &c.sections[sass_relocations_of(&c, sass_section_find(&c, ".nv.constant4"))];
	step = table->head.sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	if (ok(table->data && !*twin_of(&c, k), "%s: addresses of variables are known", arch)) {
		for (size_t at = offsetof(Elf64_Rel, r_info); at < table->size; at += step)
			((uint8_t *)table->data)[at]++; /* changes the relocation's type */
		why = twin_of(&c, k);
		ok(strstr(why, "relocation of unknown type"), "%s: those of another type are not: %s", arch, why);
	}
	sass_cubin_finish(&c);
}

int main(int argc, char **argv)
{
	static const char *const arches[] = { "sm_90", "sm_100", "sm_120", NULL }, *const all[] = { "sm_75", "sm_80", "sm_90", "sm_100", NULL };

	if (argc > 2) {
		compiled_each(argv[1], arches, "-O3 -std=c++17", try_file);
		compiled_each(argv[2], all, "-O3", try_addresses);
	}
	return done();
}
