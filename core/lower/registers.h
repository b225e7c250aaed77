/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes the registers that the text of inlined sites uses but does not declare. The lowering fills a table of these
 * registers, and the injector looks up names in this table. A register's purpose follows from its table only, not from
 * its name.
 */
#ifndef GPUBPF_CORE_LOWER_REGISTERS_H
#define GPUBPF_CORE_LOWER_REGISTERS_H

#include <stdint.h>

#define GPUBPF_MAX_SUMS 8      /* largest number of sums of a job; each takes two 32-bit registers of a lane */
#define GPUBPF_MAX_KEYS 2      /* largest number of register pairs that cache the value of a map's last add */
#define GPUBPF_MAX_MAP_BASES 4
#define GPUBPF_MAX_ACC_LANES 8 /* largest number of adds of a job for which one lane accumulates for its warp */

struct gpubpf_acc_register {
	char name[32]; /* suffix of the register's name; the prefix depends on the kind of register */
	/*
	 * index of the map, offset of the value in the map, size of the value in bytes. For a key, off is 0, because
	 * the register itself has the offset.
	 */
	uint32_t map, off, bytes;
};

/* The registers of a job's sites (core/lower/llvm/accumulators.c). */
struct gpubpf_site_registers {
	struct gpubpf_acc_register sums[GPUBPF_MAX_SUMS];
	/* pairs of registers: offset of a value in the map, and its sum */
	struct gpubpf_acc_register keys[GPUBPF_MAX_KEYS];
	/* registers with the address of a map's first value */
	struct gpubpf_acc_register map_bases[GPUBPF_MAX_MAP_BASES];
	/* registers with the number of the lane that accumulates an add */
	struct gpubpf_acc_register acc_lanes[GPUBPF_MAX_ACC_LANES];
	uint32_t nsums, nkeys, nmap_bases, nacc_lanes;
};

#endif
