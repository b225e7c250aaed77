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
	/* The address at which the byte of the application's code object with virtual address `addend` was loaded. With
	 * such addresses, a twin accesses the application's variables, including those without a symbol. */
	HIP_BIND_IMAGE,
	/* Describes kernel arguments instead of a word in the file. The agent sets these words at each launch, at
	 * kernel-argument offset `offset` of the twin `kernel`. They follow all arguments of the original, including
	 * hidden ones. `part` has the bits of enum hip_bind_args. Each set bit is one 8-byte word, in the order of the
	 * bits, and the twin's metadata lists each word as a by_value argument. */
	HIP_BIND_ARGS,
};

enum hip_bind_part { HIP_BIND_U64, HIP_BIND_LO32, HIP_BIND_HI32 };
enum hip_bind_args { HIP_BIND_LAUNCH = 1 << 0, HIP_BIND_PID = 1 << 1 };

struct hip_bind {
	uint32_t what;   /* enum hip_bind_what */
	uint32_t part;   /* enum hip_bind_part: write all 64 bits of the value, or one half. HIP_BIND_ARGS: see above */
	uint64_t offset; /* offset in the file of the 4 or 8 bytes to write */
	uint64_t addend;
	char kernel[256]; /* HIP_BIND_ARGS: name of the twin in the metadata, without ".kd" */
};

#define HIP_BIND_TAIL (sizeof(uint32_t) + sizeof(HIP_BIND_MAGIC) - 1)

/* The table of words of a twin; `at` points to the table inside the twin's bytes. */
struct hip_binds {
	const char *at;
	uint32_t count;
	size_t file_size; /* size of the ELF file that precedes the table, in bytes */
};

/* Finds the table of a twin and checks that every entry lies in the file. Returns 0, or -EPROTO if there is no valid
 * table. */
int hip_binds_open(const void *twin, size_t size, struct hip_binds *binds);
struct hip_bind hip_binds_get(const struct hip_binds *binds, uint32_t i);
/* Returns true if a word depends on where the application's code object was loaded. */
bool hip_binds_need_image(const struct hip_binds *binds);
/* Writes all words into `file`, a copy of the ELF file. `arena` is the arena's device address, and `image` the address
 * of the loaded code object. */
void hip_binds_write(const struct hip_binds *binds, void *file, uint64_t arena, uint64_t image);

#endif
