/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the target "clc" of gpubpf-clread. It emits lowered BPF programs as OpenCL C text
 * (core/lower/opencl_c/opencl_c.h). The target "wrap" inserts this text into a source.
 */
#include "target_clc.h"

#include <errno.h>
#include <string.h>

#include "backends/spirv/opencl_c/read/read.h"
#include "core/model/diag.h"
#include "core/lower/opencl_c/opencl_c.h"

/* Parse the emitted text with clang as the device's compiler would. Returns an error if clang reports one. */
static int clc_validate(const struct gpubpf_twin_piece *piece, const struct gpubpf_device_caps *caps,
			struct gpubpf_diag *diag)
{
	struct gpubpf_pool pool = { 0 };
	struct gpubpf_cl_source source = { .size = piece->blob.size, .options = piece->options };
	struct gpubpf_cl_unit unit;
	int err;

	if (!source.size || memchr(piece->blob.data, '\0', source.size))
		return gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC,
				       "the generated OpenCL C text is empty or contains a zero byte");
	source.text = gpubpf_pool_strndup(&pool, piece->blob.data, source.size);
	err = source.text ? gpubpf_cl_read(&source, caps, &pool, &unit, diag) : -ENOMEM;
	if (!err && unit.error)
		err = gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "the OpenCL C text, %s", unit.error);
	gpubpf_pool_finish(&pool);
	return err;
}

const struct gpubpf_target gpubpf_target_clc = {
	.emit = gpubpf_clc_emit,
	.validate = clc_validate,
};
