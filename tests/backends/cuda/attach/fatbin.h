/* SPDX-License-Identifier: Apache-2.0 */
/* Fat binaries with one uncompressed PTX text, in the form in which nvcc writes them into the data of host code. */
#ifndef GPUBPF_TESTS_CUDA_FATBIN_H
#define GPUBPF_TESTS_CUDA_FATBIN_H

#include <stdint.h>

/* the text of a kernel that adds 1 to a word in each thread; `line` has directives for the fake driver */
#define TEXT(name, line)                                                                                                        \
	".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry " name "(.param .u64 to)\n{\n//fake param\n" line   \
	"//fake counter\n\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n\tld.param.u64 %rd1, [to];\n"                             \
	"\tatom.global.add.u32 %r1, [%rd1], 1;\n\tret;\n}\n"

struct container {
	uint32_t magic;
	uint16_t version, header;
	uint64_t size;
	struct {
		uint16_t kind, version;
		uint32_t header;
		uint64_t size;
		uint32_t packed, unused[2], arch;
		uint64_t unused2, flags, unused3, plain;
	} entry;
	char text[512];
};

#define CONTAINER(name, line)                                                                                                     \
	{                                                                                                                   \
		0xba55ed50u, 1, 16, sizeof(struct container) - 16, { 1, 0x101, 64, 512, 0, { 0 }, 75 }, TEXT(name, line)          \
	}

/* a structure by which host code registers a fat binary */
struct wrapper {
	uint32_t magic, version;
	const void *data, *more;
};

#endif
