/* SPDX-License-Identifier: Apache-2.0 */
/* The clc target: the text of core/lower/clc.h. Wrapping a source around it is the target wrap's. */
#include "target.h"

#include <errno.h>
#include <string.h>

#include "core/diag.h"
#include "core/lower/clc.h"

/* Text without NULs that ends its last line; compilers are the real judges (tests/lower). */
static int clc_validate(const struct gpubpf_twin_piece *piece, const struct gpubpf_device_caps *caps,
			struct gpubpf_diag *diag)
{
	const char *text = piece->blob.data;
	size_t size = piece->blob.size;

	if (!size || memchr(text, '\0', size) || text[size - 1] != '\n')
		return gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "the OpenCL C text is cut off");
	return 0;
}

const struct gpubpf_target gpubpf_target_clc = {
	.emit = gpubpf_clc_emit,
	.validate = clc_validate,
};
