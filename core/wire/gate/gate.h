/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gate decides which launches run the program of a link. The tool writes it into the kernel table while applications
 * run. The agent evaluates it at each launch, so a change needs no new twin.
 */
#ifndef GPUBPF_CORE_WIRE_GATE_H
#define GPUBPF_CORE_WIRE_GATE_H

#include <stdint.h>

/* Which launches are probed. `round` counts the changes by the tool; `first` counts anew after each change. */
struct gpubpf_rate {
	uint64_t sample;   /* every n-th launch of a kernel; 0 or 1: each launch */
	uint64_t first;    /* only this number of launches of a kernel in each process; 0: no limit */
	uint64_t every_ns; /* at most one launch of a kernel in this time; 0: no limit */
	uint64_t round;
};

enum gpubpf_gate_field {
#define GPUBPF_GATE_FIELD(id, name, kind, meaning) GPUBPF_GATE_##id,
#include "fields.def"
	GPUBPF_GATE_FIELDS,
};

enum gpubpf_gate_compare {
	GPUBPF_GATE_EQ,
	GPUBPF_GATE_NE,
	GPUBPF_GATE_LT,
	GPUBPF_GATE_LE,
	GPUBPF_GATE_GT,
	GPUBPF_GATE_GE,
	GPUBPF_GATE_COMPARES,
};

#define GPUBPF_GATE_TERMS 8
#define GPUBPF_GATE_NAME 104

/*
 * One comparison. The terms of a gate form groups. A launch passes if all terms of one group are true. A term with
 * `begins` set is the first of its group.
 */
struct gpubpf_gate_term {
	uint32_t field, compare, begins;
	uint32_t index; /* dimension from 1, or 0 for the product; for ARGUMENT the number of the argument */
	uint64_t value;
	char name[GPUBPF_GATE_NAME]; /* for KERNEL: EQ and NE compare with this glob */
};

/*
 * The tool writes the gate. Agents write `used`, the number of armed launches that they have admitted, and `granted` when
 * a program has requested launches.
 */
struct gpubpf_gate {
	struct gpubpf_gate_rule {
		struct gpubpf_rate rate;
		uint32_t waits; /* 1: only armed launches pass: as long as used < granted */
		uint32_t nterms;
		/*
		 * 1 + row in the arena's table of the map in which programs request armed launches
		 * (include/gpubpf/arm.h); 0: none
		 */
		uint32_t requests, unused;
	} rule;
	uint64_t granted, used; /* sums over all processes */
	uint64_t exists;        /* 0: the link has no gate, so all launches pass */
	struct gpubpf_gate_term term[GPUBPF_GATE_TERMS];
};

#endif
