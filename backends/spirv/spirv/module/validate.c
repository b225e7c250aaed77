/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "backends/spirv/wire/parts.h"
#include "core/model/diag.h"
#include "spv.h"

#if GPUBPF_SPIRV_TOOLS
#include <spirv-tools/libspirv.h>

static int check_module(const void *data, size_t size, struct gpubpf_diag *diag)
{
	spv_context ctx = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
	spv_diagnostic why = NULL;
	int err = 0;

	if (spvValidateBinary(ctx, data, size / 4, &why) != SPV_SUCCESS)
		err = gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "SPIRV-Tools: %s", why ? why->error : "?");
	spvDiagnosticDestroy(why);
	spvContextDestroy(ctx);
	return err;
}
#else
static int check_module(const void *data, size_t size, struct gpubpf_diag *diag)
{
	return 0;
}
#endif

/*
 * Returns true if the module has declarations of SPV_INTEL_memory_access_aliasing. DPC++ emits them, but the
 * SPIRV-Tools of 2023 reject them.
 */
static bool uses_unsupported_opcodes(const struct gpubpf_spv *m)
{
	for (uint32_t i = 0; i < m->functions; i++)
		if (m->insn[i].op >= SpvOpAliasDomainDeclINTEL && m->insn[i].op <= SpvOpAliasScopeListDeclINTEL)
			return true;
	return false;
}

static int check_piece(const void *data, size_t size, struct gpubpf_diag *diag)
{
	struct gpubpf_pool pool = GPUBPF_POOL_INIT;
	struct gpubpf_spv module;
	int err = gpubpf_spv_read(data, size, &pool, &module, diag);

	if (!err && !uses_unsupported_opcodes(&module))
		err = check_module(data, size, diag);
	gpubpf_pool_finish(&pool);
	return err;
}

int gpubpf_spirv_validate(const struct gpubpf_twin_piece *piece, const struct gpubpf_device_caps *caps,
			  struct gpubpf_diag *diag)
{
	struct gpubpf_cl_parts parts;
	int err;

	if (piece->kind == GPUBPF_IMAGE_SPIRV)
		return check_piece(piece->blob.data, piece->blob.size, diag);
	err = piece->kind == GPUBPF_IMAGE_OPENCL_PARTS ?
		      gpubpf_cl_parts_read(piece->blob.data, piece->blob.size, &parts) :
		      -EINVAL;
	if (err < 0)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "a part of the twin's code is neither SPIR-V nor a list of SPIR-V modules");
	for (uint32_t i = 0; !err && i < parts.nparts; i++)
		if (parts.part[i].kind == GPUBPF_IMAGE_SPIRV) /* other parts are unchanged code of the application */
			err = check_piece(parts.part[i].data, parts.part[i].size, diag);
	gpubpf_cl_parts_finish(&parts);
	return err;
}
