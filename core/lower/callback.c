/* SPDX-License-Identifier: Apache-2.0 */
#include "callback.h"

#include <errno.h>

#include "core/model/diag.h"
#include "core/model/facts.h"
#include "core/model/prog.h"

static int refuse(uint32_t pc, struct gpubpf_diag *diag)
{
	gpubpf_diag_set(diag, GPUBPF_E_TARGET_LACKS, pc,
			"passes one of several functions as a callback, depending on the path");
	gpubpf_diag_remedy(diag, "call the helper separately for each function");
	return -EINVAL;
}

int lower_callback(const struct gpubpf_prog *prog, uint32_t pc, uint32_t *target, struct gpubpf_diag *diag)
{
	const struct gpubpf_call_facts *facts = prog->facts->insn[pc].call;
	uint64_t function = facts->konst[1];

	if (!(facts->konst_mask >> 1 & 1) || function >= prog->ninsns)
		return refuse(pc, diag);
	*target = (uint32_t)function;
	return 0;
}
