/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel's instructions, as LLVM's disassembler reads them: all that control reaches from its first one
 * without leaving for other functions, and of these the ones that a twin must replace.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_CODE_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isa.h"

struct gpubpf_diag;

enum hip_patch_kind {
	HIP_PATCH_END,             /* s_endpgm */
	HIP_PATCH_PC,              /* s_getpc_b64: where the code itself lies */
	HIP_PATCH_FREE,            /* s_sendmsg(MSG_DEALLOC_VGPRS): gives the registers away before the end */
};

struct hip_patch {
	enum hip_patch_kind kind;
	uint32_t off;              /* from the first instruction */
	char reg[2][8];            /* PC: the two registers that it sets */
	bool probed;               /* END, in a twin: the exit probe stands here */
};

struct hip_code {
	uint32_t size;             /* bytes up to the end of the last instruction that is reached */
	struct hip_patch *patches;
	uint32_t npatches;
	bool calls;                /* it calls functions */
	bool barrier;
};

void hip_code_init(void);
/* What control reaches from `start`, an offset in bytes. 0; -EINVAL and the reason for which no twin can be made;
 * -ENOMEM. */
int hip_code_read(const struct hip_isa *isa, bool wave32, const uint8_t *bytes, size_t size, size_t start,
		  struct hip_code *code, struct gpubpf_diag *diag);
void hip_code_finish(struct hip_code *code);

#endif
