/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: backends/spirv/common/env_use.c backends/spirv/spirv/module/write.c backends/spirv/spirv/rewrite/splice.c
// SOURCES: backends/spirv/spirv/module/kernels.c backends/spirv/spirv/module/read.c backends/spirv/spirv/module/type.c
// SOURCES: backends/spirv/spirv/module/access.c backends/spirv/spirv/rewrite/insn_probe.c backends/spirv/spirv/rewrite/blocks.c
// SOURCES: backends/spirv/spirv/rewrite/calls.c backends/spirv/spirv/rewrite/fill.c backends/spirv/spirv/module/functions.c backends/spirv/spirv/rewrite/place_values.c
// SOURCES: backends/spirv/spirv/module/lines.c backends/spirv/spirv/module/named.c core/lower/ctx.c
// SOURCES: backends/spirv/wire/parts.c core/wire/pool.c core/wire/name.c core/wire/wire.c core/model/*.c core/model/text/*.c core/wire/fields.c core/wire/placement.c maps/*.c maps/host/*.c maps/kinds/*.c
/*
 * Parses arbitrary bytes as a SPIR-V module. The reader must refuse it with a diagnostic, or the writer must give the
 * same bytes. The twin of all its kernels must be readable and have the same kernels, with a twin for each wrapped one.
 * The bytes are also parsed as a container of several modules in the same way.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backends/spirv/wire/parts.h"
#include "backends/spirv/spirv/module/access.h"
#include "backends/spirv/spirv/module/named.h"
#include "core/model/diag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* a program that reads all arguments of the kernel */
static struct gpubpf_insn insns[] = { { .kind = GPUBPF_INSN_CALL, .imm = 520 } };
static struct gpubpf_prog prog = { .insns = insns, .ninsns = 1 };
static const struct gpubpf_unit unit = { .progs = &prog, .nprogs = 1 };
static const uint32_t progs[] = { 0 };
static const struct gpubpf_device_caps caps = { .ordinal = 1 };

/* A table with some opcodes of each form, instead of the whole table. */
const struct gpubpf_spv_opcode gpubpf_spv_opcodes[] = {
	{ SpvOpExtInst, "OpExtInst", "--i-I" }, { SpvOpFunctionCall, "OpFunctionCall", "--iI" }, { SpvOpLoad, "OpLoad", "--i" },
	{ SpvOpStore, "OpStore", "ii" }, { SpvOpVectorShuffle, "OpVectorShuffle", "--ii" },
	{ SpvOpCompositeConstruct, "OpCompositeConstruct", "--I" }, { SpvOpCompositeExtract, "OpCompositeExtract", "--i" },
	{ SpvOpIAdd, "OpIAdd", "--ii" }, { SpvOpFMul, "OpFMul", "--ii" }, { SpvOpSelect, "OpSelect", "--iii" },
	{ SpvOpControlBarrier, "OpControlBarrier", "iii" }, { SpvOpBranchConditional, "OpBranchConditional", "iii" },
};
const struct gpubpf_spv_opcode gpubpf_spv_extended[] = { { 27, "fmax", "" } };
const uint32_t gpubpf_spv_nopcodes = sizeof(gpubpf_spv_opcodes) / sizeof(*gpubpf_spv_opcodes), gpubpf_spv_nextended = 1;

static struct gpubpf_site_desc site_of(const struct gpubpf_spv_kernel *k, enum gpubpf_site site)
{
	struct gpubpf_site_desc desc = { .site = site, .params = k->info.params, .nparams = k->info.nparams,
					 .progs = progs, .nprogs = 1, .may_end_thread = true };

	memcpy(desc.kernel, k->info.name, sizeof(desc.kernel));
	return desc;
}

/* Check the injector's output: a module with the expected number of kernels, and a twin for each wrapped kernel. */
static void check_twin(const struct gpubpf_blob *twin, uint32_t expected, uint32_t wrapped)
{
	struct gpubpf_pool pool = GPUBPF_POOL_INIT;
	struct gpubpf_spv_kernel *kernels;
	struct gpubpf_diag diag;
	struct gpubpf_spv m;
	uint32_t n, twins = 0;

	gpubpf_diag_init(&diag);
	if (gpubpf_spv_read(twin->data, twin->size, &pool, &m, &diag) < 0 ||
	    gpubpf_spv_kernels(&m, &pool, &kernels, &n) < 0 || n != expected)
		abort();
	for (uint32_t i = 0; i < n; i++)
		twins += strncmp(kernels[i].info.name, "gpubpf_twin_", 12) == 0;
	if (twins < wrapped)
		abort();
	gpubpf_pool_finish(&pool);
}

#define PLACES (GPUBPF_SITE_BIT(MEM_ALL) | GPUBPF_SITE_BIT(LINE) | GPUBPF_SITE_BIT(INSN) | GPUBPF_SITE_BIT(MARK) | GPUBPF_SITE_BIT(BRANCH) | \
		GPUBPF_SITE_BIT(CALL) | GPUBPF_SITE_BIT(CALL_EXIT))

/* kinds of places that a kernel can have */
static const enum gpubpf_site kinds[] = {
	GPUBPF_SITE_ENTRY, GPUBPF_SITE_EXIT, GPUBPF_SITE_BLOCK_BEGIN, GPUBPF_SITE_BLOCK_END, GPUBPF_SITE_MEM_ALL, GPUBPF_SITE_LINE, GPUBPF_SITE_INSN,
	GPUBPF_SITE_MARK, GPUBPF_SITE_BRANCH, GPUBPF_SITE_CALL, GPUBPF_SITE_CALL_EXIT,
};
#define NKINDS (sizeof(kinds) / sizeof(*kinds))

static uint32_t index_of(enum gpubpf_site kind)
{
	uint32_t i = 0;

	while (kinds[i] != kind)
		i++;
	return i;
}

/* Add all memory accesses of the kernel and of every function in the module, and all other places at instructions. */
static void add_places(const struct gpubpf_spv *m, struct gpubpf_pool *pool, const struct gpubpf_spv_kernel *all, uint32_t n,
		       uint32_t nall, struct gpubpf_spv_wrap *w, uint32_t site)
{
	struct spv_access accesses[SPV_MAX_ACCESSES];
	uint32_t most = w->kernel->info.nplaces;

	for (uint32_t i = n; i < nall; i++)
		most += all[i].info.nplaces;
	w->places = gpubpf_pool_alloc(pool, most, sizeof(*w->places));
	for (uint32_t i = 0; w->places && i < nall; i++) {
		struct gpubpf_spv_place *at = w->places + w->nplaces;
		uint32_t found = 0;

		if (&all[i] == w->kernel || i >= n)
			found = gpubpf_spv_places(m, all[i].function, gpubpf_spv_kinds_of(&all[i].info, PLACES), at);
		for (uint32_t k = 0; k < found; k++) {
			bool access = at[k].kind == GPUBPF_SITE_MEM_ALL;

			at[k].function = at[k].kind == GPUBPF_SITE_CALL || at[k].kind == GPUBPF_SITE_CALL_EXIT ? &all[i] : NULL;
			at[k].site = site + index_of(at[k].kind);
			if (access)
				gpubpf_spv_accesses(m, at[k].insn, accesses);
			if (!access || !accesses[at[k].access].unseen)
				w->places[w->nplaces++] = at[k];
		}
	}
}

static void inject_all(const struct gpubpf_spv *m, struct gpubpf_pool *pool, struct gpubpf_spv_kernel *kernels, uint32_t n)
{
	struct gpubpf_site_desc *sites = calloc(NKINDS * n + 1, sizeof(*sites));
	struct gpubpf_spv_wrap *wraps = calloc(n + 1, sizeof(*wraps));
	struct gpubpf_lower_job job = { .unit = &unit, .sites = sites, .caps = &caps };
	struct gpubpf_blob twin;
	struct gpubpf_diag diag;
	uint32_t nwraps = 0, nall = n;

	if (gpubpf_spv_functions(m, pool, PLACES, &kernels, n, &nall) < 0)
		abort();
	for (uint32_t i = 0; i < n; i++) {
		if (kernels[i].info.reason[0])
			continue;
		wraps[nwraps] = (struct gpubpf_spv_wrap){ &kernels[i], job.nsites, job.nsites + 1, job.nsites + 2,
							  job.nsites + 3 };
		add_places(m, pool, kernels, n, nall, &wraps[nwraps++], job.nsites);
		for (uint32_t k = 0; k < NKINDS; k++)
			sites[job.nsites++] = site_of(&kernels[i], kinds[k]);
	}
	gpubpf_diag_init(&diag);
	if (gpubpf_spv_inject(m, &job, wraps, nwraps, &twin, &diag) == 0) {
		check_twin(&twin, n, nwraps);
		free(twin.data);
	}
	free(sites);
	free(wraps);
}

static void try_module(const uint8_t *data, size_t size)
{
	struct gpubpf_pool pool = GPUBPF_POOL_INIT;
	struct gpubpf_spv_kernel *kernels;
	struct gpubpf_blob same;
	struct gpubpf_diag diag;
	struct gpubpf_spv m;
	uint32_t n;

	gpubpf_diag_init(&diag);
	if (gpubpf_spv_read(data, size, &pool, &m, &diag) < 0) {
		if (diag.code == GPUBPF_OK || !diag.what[0])
			abort();
	} else {
		if (gpubpf_spv_write(&m, &same) < 0 || same.size != size || memcmp(same.data, data, size) != 0)
			abort();
		free(same.data);
		if (gpubpf_spv_lines(&m, &pool) < 0)
			abort();
		if (gpubpf_spv_kernels(&m, &pool, &kernels, &n) == 0)
			inject_all(&m, &pool, kernels, n);
	}
	gpubpf_pool_finish(&pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpubpf_cl_parts parts;

	try_module(data, size);
	if (gpubpf_cl_parts_read(data, size, &parts) == 0)
		gpubpf_cl_parts_finish(&parts);
	return 0;
}
