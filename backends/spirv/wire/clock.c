/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"

#define DECLARE "ulong gpubpf_clock_read(void);\nulong gpubpf_clock_read(void) {\n"

const char *gpubpf_cl_clock_options(enum gpubpf_clock clock)
{
	return clock == GPUBPF_CLOCK_KHR ? "-cl-std=CL3.0" : "";
}

const char *gpubpf_cl_clock_source(enum gpubpf_clock clock)
{
	switch (clock) {
	case GPUBPF_CLOCK_TSC:
		return DECLARE "	uint low, high;\n"
			       "	__asm__ volatile(\"rdtsc\" : \"=a\"(low), \"=d\"(high));\n"
			       "	return (ulong)high << 32 | low;\n}\n";
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
