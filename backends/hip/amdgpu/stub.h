/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The twin of a kernel of machine code, as assembly. At a kernel's entry nothing is live but its initial
 * state, at s_endpgm nothing at all. So the twin keeps the initial state in two vector registers above all
 * that kernel and probes use: `state` has the scalar registers and EXEC in its lanes, `items` the work-item
 * ids.
 *
 *   gpubpf_twin_<kernel>   keeps the state; gives the entry probe its own; the probe's end comes back to
 *   HIP_STUB_TO_ENTRY      an s_nop that the linker makes a branch to the entry probe
 *   HIP_STUB_ENTERED       where the probe's end comes back to: gives the kernel its own state
 *   gpubpf_kernel          the kernel's instructions, but for each probed s_endpgm, which is a branch to
 *   gpubpf_leaving         gives the exit probe its own state, with EXEC as it was at entry;
 *   HIP_STUB_TO_EXIT       the branch there; the end of the exit probe is the twin's, or comes back to
 *   HIP_STUB_LEFT
 *   gpubpf_pc_<i>          s_getpc_b64 of the kernel, patch i: sets two registers to constants that the agent
 *                          writes, HIP_STUB_PC_LO and _HI bytes behind the label. They are what it gave in the
 *                          original, so all that the kernel reaches from there (variables, constants,
 *                          functions) is the original's.
 *   gpubpf_place_<i>       around single instructions, see around.c
 *
 * The kernel's code is in segments, behind each of which are the stubs of its places, as far as branches reach: the first one's
 * end goes to the next. What is further away is reached over islands (listing.h), by the kernel's own jumps too.
 *
 * With places of instructions in functions, or around calls, the functions that the kernel calls are behind its own code, and
 * calls go there, relative to where they stand.
 *
 * Probes of a block's first lane run behind the entry's, with EXEC of that lane alone (HIP_STUB_TO_BEGIN, HIP_STUB_BEGUN).
 * For those of its last one (HIP_STUB_TO_END) waves are counted, as all lanes of one end at once: four bytes of the group's
 * memory, behind the kernel's own and what the launch adds to it, are set to 0 by the first wave and then added to by each,
 * with a barrier behind both, and at gpubpf_ending the wave that takes the last one out again is the last.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_STUB_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_STUB_H

#include "core/target.h"
#include "code.h"
#include "descriptor.h"
#include "operands.h"

/* which probe stands at a place of some kind */
struct hip_stand {
	uint32_t body;             /* its number + 1; 0: none */
	uint32_t id;               /* of the place */
};

/* a probe at places of which a kernel has one of a kind, or one at each end */
struct hip_whole {
	uint32_t site;             /* in the job; UINT32_MAX: there is none */
	struct hip_descriptor descriptor;
};
enum hip_whole_kind { HIP_AT_ENTRY, HIP_AT_BEGIN, HIP_AT_EXIT, HIP_AT_END, HIP_NWHOLE };

/* a probe at single instructions */
struct hip_body {
	uint32_t site;             /* in the job */
	enum gpubpf_site kind;
	struct hip_descriptor descriptor;
	uint32_t given, same;      /* what it reads, enum hip_given and hip_same as bits */
};

/* What a twin is made of. */
struct gpubpf_function;
struct hip_draft {
	const struct hip_isa *isa;
	bool wave32;
	const char *name;          /* of the twin; no character that needs quoting but what "" quotes */
	const uint8_t *bytes;      /* the kernel's, and behind it those of the functions that are in the twin */
	const struct hip_code *code;
	const struct gpubpf_function **functions; /* of each site of the job; NULL: nothing is known of it */
	struct hip_descriptor kernel, twin;
	struct hip_whole whole[HIP_NWHOLE]; /* the probes' own kernels gpubpf_inline_<site> */
	uint32_t state, items;     /* vector registers */
	uint32_t aside;            /* two accumulation registers that have them while the kernel runs; UINT32_MAX: none */

	/* Of places of single instructions: [places of the code][accesses of each][kind]; NULL: there are none. Bodies are the
	 * probes that stand there; each is in the twin once, and called. */
	struct hip_stand (*stands)[HIP_MOST_ACCESSES][GPUBPF_NSITES];
	struct hip_body *bodies;
	uint32_t nbodies;
	/* vector registers: whose lanes have the kernel's scalar registers while a probe runs; with what all lanes are given; with
	 * what each is given, UINT32_MAX: no probe reads it; and from `copies` on, the kernel's while a probe has its own */
	uint32_t saved, same, given[HIP_NGIVEN], copies, ncopies;
	uint32_t scalars, vectors; /* registers that the bodies use */
	uint32_t arguments;        /* bytes of the kernel's, and what is behind them for probes */
	uint32_t reach;            /* bytes that a branch goes over at most */
};

#define HIP_REACH 131068       /* of 16 bits that count words from the one behind it (ISA guides, "SOPP") */

/* lanes of `saved`, the first registers of which are the kernel's s0 and so on: what else is kept there behind them */
enum hip_saved_lane {
	HIP_SAVED_RETURN, HIP_SAVED_SCC = 2, HIP_SAVED_MODE, HIP_SAVED_M0, HIP_SAVED_VCC, HIP_SAVED_EXEC = 7, HIP_SAVED_COMING = 9,
	HIP_SAVED_PARTED = 11, HIP_NSAVED = 13,
};

/* labels that the linker needs; the branches at the first and last go to what LLVM made of the probes */
#define HIP_STUB_TO_ENTRY "gpubpf_to_entry"
#define HIP_STUB_ENTERED "gpubpf_entered"
#define HIP_STUB_TO_BEGIN "gpubpf_to_begin"
#define HIP_STUB_BEGUN "gpubpf_begun"
#define HIP_STUB_TO_EXIT "gpubpf_to_exit"
#define HIP_STUB_LEFT "gpubpf_left"
#define HIP_STUB_TO_END "gpubpf_to_end"
/* and of a body's number: to it, and where its ends come back to */
#define HIP_STUB_TO_BODY "gpubpf_to_body_%u"
#define HIP_STUB_FROM_BODY "gpubpf_from_body_%u"

enum { HIP_STUB_PC_LO = 4, HIP_STUB_PC_HI = 12 };

/* Scalar registers that the stubs use themselves, from s0 on. */
#define HIP_STUB_SGPRS 2
#define HIP_STATE_SGPRS 3      /* where nothing is live but the state */

/* Bytes that the twin has of the group's memory besides the kernel's own, where waves are counted: four, however the launch's
 * are aligned. */
#define HIP_STUB_GROUP_BYTES 8

static inline bool hip_has(const struct hip_draft *draft, enum hip_whole_kind kind)
{
	return draft->whole[kind].site != UINT32_MAX;
}

/* The twin's text, struct hip_listing's. */
int hip_stub_write(const struct hip_draft *draft, struct gpubpf_blob *text);

#endif
