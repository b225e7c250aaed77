/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam between the AMD injector, which makes a twin's code object in a worker, and the agent, which
 * loads it where the application's own code object lies already. What is known only there is written into
 * the twin's bytes before the runtime sees them. The words to write are a table behind the ELF file:
 *
 *	ELF file | struct hip_bind[count] | uint32_t count | "gpubpfB1"
 *
 * Packed, little-endian, of no alignment; loaders of ELF do not look behind the file.
 */
#ifndef GPUBPF_BACKENDS_HIP_WIRE_BIND_H
#define GPUBPF_BACKENDS_HIP_WIRE_BIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HIP_BIND_MAGIC "gpubpfB1"

enum hip_bind_what {
	HIP_BIND_ARENA,          /* the arena's address + addend */
	/* An address in the application's code object: where its byte of virtual address `addend` was loaded.
	 * So a twin reads and writes the application's own variables, those without a symbol too. */
	HIP_BIND_IMAGE,
	/* Not in the file: words that each launch fills, at kernel-argument offset `offset` of the
	 * twin `kernel`, behind everything that the original has (hidden arguments too), which the twin's
	 * metadata lists as by_value of 8 bytes each, in the order of the bits. part: enum hip_bind_args. */
	HIP_BIND_ARGS,
};

enum hip_bind_part { HIP_BIND_U64, HIP_BIND_LO32, HIP_BIND_HI32 };
enum hip_bind_args { HIP_BIND_LAUNCH = 1 << 0, HIP_BIND_PID = 1 << 1 };

struct hip_bind {
	uint32_t what;           /* enum hip_bind_what */
	uint32_t part;           /* how much of the value: enum hip_bind_part */
	uint64_t offset;         /* in the file, of the 4 or 8 bytes to write */
	uint64_t addend;
	char kernel[256];        /* HIP_BIND_ARGS: the twin's name in the metadata, without ".kd" */
};

#define HIP_BIND_TAIL (sizeof(uint32_t) + sizeof(HIP_BIND_MAGIC) - 1)

/* The table of a twin; `at` points into it. */
struct hip_binds {
	const char *at;
	uint32_t count;
	size_t file_size;        /* of the ELF file before it */
};

/* Every entry is checked against the file's size. -EPROTO: not a twin. */
int hip_binds_open(const void *twin, size_t size, struct hip_binds *binds);
struct hip_bind hip_binds_get(const struct hip_binds *binds, uint32_t i);
/* Does any of them want an address in the application's code object? */
bool hip_binds_want_image(const struct hip_binds *binds);
/* Write what they want into a copy of the file. */
void hip_binds_write(const struct hip_binds *binds, void *file, uint64_t arena, uint64_t image);

#endif
