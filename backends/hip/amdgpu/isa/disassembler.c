/* SPDX-License-Identifier: Apache-2.0 */
#include "disassembler.h"

#include <llvm-c/Target.h>

LLVMDisasmContextRef hip_disassembler_create(const struct hip_isa *isa, bool wave32)
{
	const char *features = !isa->wave32 ? "" : wave32 ? "+wavefrontsize32" : "+wavefrontsize64";

	LLVMInitializeAMDGPUTargetInfo();
	LLVMInitializeAMDGPUTargetMC();
	LLVMInitializeAMDGPUDisassembler();
	return LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", isa->name, features, NULL, 0, NULL, NULL);
}
