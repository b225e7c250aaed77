/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between the AMD injector and the agent. The injector makes a twin's code object in a worker. The agent
 * loads it into a process that has loaded the application's code object already, and first writes addresses into the
 * twin's bytes. A table after the ELF file lists the words to write:
 *
 *   ELF file | struct hip_bind[count] | uint32_t count | "gpubpfB1"
 *
 * The table is packed, little-endian and unaligned. ELF loaders do not read past the file.
 */
#ifndef GPUBPF_BACKENDS_HIP_WIRE_BIND_H
#define GPUBPF_BACKENDS_HIP_WIRE_BIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HIP_BIND_MAGIC "gpubpfB1"

enum hip_bind_what {
	HIP_BIND_ARENA, /* the arena's address + addend */
	/* An address in the application's code object: where its byte of virtual address `addend` was loaded. With it a
	 * twin accesses the application's variables, including those without a symbol. */
	HIP_BIND_IMAGE,
	/* Not in the file: words that each launch fills, from kernel-argument offset `offset` of the twin `kernel` on.
	 * They follow all arguments of the original, including hidden ones. The twin's metadata lists them as by_value
	 * of 8 bytes each, in the order of the bits. part: enum hip_bind_args. */
	HIP_BIND_ARGS,
};

enum hip_bind_part { HIP_BIND_U64, HIP_BIND_LO32, HIP_BIND_HI32 };
enum hip_bind_args { HIP_BIND_LAUNCH = 1 << 0, HIP_BIND_PID = 1 << 1 };

struct hip_bind {
	uint32_t what;   /* enum hip_bind_what */
	uint32_t part;   /* the part of the value to write: enum hip_bind_part */
	uint64_t offset; /* in the file, of the 4 or 8 bytes to write */
	uint64_t addend;
	char kernel[256]; /* HIP_BIND_ARGS: the twin's name in the metadata, without ".kd" */
};

#define HIP_BIND_TAIL (sizeof(uint32_t) + sizeof(HIP_BIND_MAGIC) - 1)

/* The table of a twin; `at` points into it. */
struct hip_binds {
	const char *at;
	uint32_t count;
	size_t file_size; /* of the ELF file before it */
};

/* Opens the table and checks every entry against the file's size. Returns 0, or -EPROTO if it is not a twin. */
int hip_binds_open(const void *twin, size_t size, struct hip_binds *binds);
struct hip_bind hip_binds_get(const struct hip_binds *binds, uint32_t i);
/* Returns true if an entry refers to the application's code object. */
bool hip_binds_need_image(const struct hip_binds *binds);
/* Writes all values into a copy of the file. */
void hip_binds_write(const struct hip_binds *binds, void *file, uint64_t arena, uint64_t image);

#endif
