/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"

#include <spirv/unified1/spirv.h>
#include <string.h>

#define DECLARE "ulong gpubpf_clock_read(void);\nulong gpubpf_clock_read(void) {\n"

const char *gpubpf_cl_clock_options(enum gpubpf_clock clock)
{
	return clock == GPUBPF_CLOCK_KHR ? "-cl-std=CL3.0" : "";
}

const char *gpubpf_cl_clock_source(enum gpubpf_clock clock)
{
	switch (clock) {
	case GPUBPF_CLOCK_TSC:
		/* a builtin of clang, on which PoCL is based */
		return DECLARE "	return __builtin_readcyclecounter();\n}\n";
	case GPUBPF_CLOCK_KHR:
		return "#pragma OPENCL EXTENSION cl_khr_kernel_clock : enable\n" DECLARE
		       "	return clock_read_device();\n}\n";
	case GPUBPF_CLOCK_GLOBALTIMER:
		return DECLARE "	ulong t;\n"
			       "	__asm__ volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(t));\n"
			       "	return t;\n}\n";
	default:
		return DECLARE "	return 0;\n}\n";
	}
}

/*
 * Search the module for a LinkageAttributes decoration with the name gpubpf_clock_read and the linkage type Import,
 * which is the word after the name.
 */
bool gpubpf_spv_reads_clock(const void *module, size_t size)
{
	static const char name[20] = "gpubpf_clock_read";
	const char *at = module, *end = at + size;
	uint32_t linkage;

	while ((at = memmem(at, end - at, name, sizeof(name))) && end - at >= (ptrdiff_t)(sizeof(name) + sizeof(linkage))) {
		at += sizeof(name);
		memcpy(&linkage, at, sizeof(linkage));
		if (linkage == SpvLinkageTypeImport)
			return true;
	}
	return false;
}

#define OP(op, words) (words) << 16 | SpvOp##op
#define CHARS(a, b, c, d) (uint32_t)(d) << 24 | (c) << 16 | (b) << 8 | (a)

/* result ids in clock_module[] */
enum {
	VOID = 1,
	ULONG,
	POINTER,
	KERNEL_TYPE,
	READ_TYPE,
	CYCLES,
	READ,
	READ_LABEL,
	READ_VALUE,
	KERNEL,
	TO,
	KERNEL_LABEL,
	KERNEL_VALUE,
	BOUND
};

/*
 * A SPIR-V module that defines gpubpf_clock_read() by a call of a function from Intel's library, which reads the
 * register tm0. OpReadClockKHR (SPV_KHR_shader_clock) is not used, because Intel's compilers did not accept it for a
 * long time.
 */
static const uint32_t clock_module[] = {
	SpvMagicNumber,
	0x00010000,
	0,
	BOUND,
	0,
	OP(Capability, 2),
	SpvCapabilityAddresses,
	OP(Capability, 2),
	SpvCapabilityLinkage,
	OP(Capability, 2),
	SpvCapabilityKernel,
	OP(Capability, 2),
	SpvCapabilityInt64,
	OP(MemoryModel, 3),
	SpvAddressingModelPhysical64,
	SpvMemoryModelOpenCL,
	OP(EntryPoint, 7),
	SpvExecutionModelKernel,
	KERNEL,
	CHARS('g', 'p', 'u', 'b'),
	CHARS('p', 'f', '_', 'c'),
	CHARS('l', 'o', 'c', 'k'),
	0,
	OP(Decorate, 12),
	CYCLES,
	SpvDecorationLinkageAttributes,
	CHARS('_', '_', 'b', 'u'),
	CHARS('i', 'l', 't', 'i'),
	CHARS('n', '_', 'I', 'B'),
	CHARS('_', 'r', 'e', 'a'),
	CHARS('d', '_', 'c', 'y'),
	CHARS('c', 'l', 'e', '_'),
	CHARS('c', 'o', 'u', 'n'),
	CHARS('t', 'e', 'r', 0),
	SpvLinkageTypeImport,
	OP(Decorate, 9),
	READ,
	SpvDecorationLinkageAttributes,
	CHARS('g', 'p', 'u', 'b'),
	CHARS('p', 'f', '_', 'c'),
	CHARS('l', 'o', 'c', 'k'),
	CHARS('_', 'r', 'e', 'a'),
	CHARS('d', 0, 0, 0),
	SpvLinkageTypeExport,
	OP(TypeVoid, 2),
	VOID,
	OP(TypeInt, 4),
	ULONG,
	64,
	0,
	OP(TypePointer, 4),
	POINTER,
	SpvStorageClassCrossWorkgroup,
	ULONG,
	OP(TypeFunction, 4),
	KERNEL_TYPE,
	VOID,
	POINTER,
	OP(TypeFunction, 3),
	READ_TYPE,
	ULONG,
	OP(Function, 5),
	ULONG,
	CYCLES,
	SpvFunctionControlMaskNone,
	READ_TYPE,
	OP(FunctionEnd, 1),
	OP(Function, 5),
	ULONG,
	READ,
	SpvFunctionControlMaskNone,
	READ_TYPE,
	OP(Label, 2),
	READ_LABEL,
	OP(FunctionCall, 4),
	ULONG,
	READ_VALUE,
	CYCLES,
	OP(ReturnValue, 2),
	READ_VALUE,
	OP(FunctionEnd, 1),
	OP(Function, 5),
	VOID,
	KERNEL,
	SpvFunctionControlMaskNone,
	KERNEL_TYPE,
	OP(FunctionParameter, 3),
	POINTER,
	TO,
	OP(Label, 2),
	KERNEL_LABEL,
	OP(FunctionCall, 4),
	ULONG,
	KERNEL_VALUE,
	READ,
	OP(Store, 5),
	TO,
	KERNEL_VALUE,
	SpvMemoryAccessAlignedMask,
	8,
	OP(Return, 1),
	OP(FunctionEnd, 1),
};

const void *gpubpf_spv_clock(size_t *size)
{
	*size = sizeof(clock_module);
	return clock_module;
}
