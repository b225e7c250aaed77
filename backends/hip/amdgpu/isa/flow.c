/* SPDX-License-Identifier: Apache-2.0 */
#include "flow.h"

#include <stddef.h>
#include <string.h>

/* Source: RDNA3 and CDNA2 ISA guides, "Program flow control". */
enum hip_flow hip_flow_of(const char *name)
{
	static const char *const unknown[] = {
		"s_setpc_b64",    "s_call_b64",       "s_rfe",     "s_cbranch_i_fork", "s_cbranch_g_fork",
		"s_cbranch_join", "s_subvector_loop", "s_endpgm_", "s_alloc_vgpr",
	};

	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		if (!strncmp(name, unknown[i], strlen(unknown[i])))
			return HIP_UNKNOWN;
	if (!strcmp(name, "s_endpgm"))
		return HIP_ENDS;
	if (!strcmp(name, "s_branch"))
		return HIP_BRANCHES;
	return strncmp(name, "s_cbranch_", 10) ? HIP_FALLS_THROUGH : HIP_MAY_BRANCH;
}

bool hip_narrows_exec(const char *name, const char *operands, bool *at_loop_end)
{
	bool exec = !strncmp(operands, " exec", 5) && strstr(operands + 5, " exec");
	bool first = !strncmp(operands, " exec, exec,", 12) || !strncmp(operands, " exec_lo, exec_lo,", 18);

	*at_loop_end = first && (!strncmp(name, "s_andn2_b", 9) || !strncmp(name, "s_and_not1_b", 12));
	return *at_loop_end || !strncmp(name, "s_and_saveexec_b", 16) || !strncmp(name, "v_cmpx_", 7) ||
	       (exec && (!strcmp(name, "s_and_b64") || !strcmp(name, "s_and_b32")));
}

bool hip_is_uniform_branch(const char *name)
{
	return !strncmp(name, "s_cbranch_", 10) && strncmp(name + 10, "exec", 4);
}

bool hip_is_wait(const char *name, const char *operands, const char **why)
{
	*why = NULL;
	if (!strcmp(name, "ds_gws_barrier")) {
		*why = "a barrier of the whole device";
		return true;
	}
	if (strcmp(name, "s_barrier") && strcmp(name, "s_barrier_wait"))
		return false;
	if (name[9] && strcmp(operands, " -1") && strcmp(operands, " 0xffff"))
		*why = "a barrier of a scope other than the group";
	return true;
}
