/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The twin of a CUDA kernel, as PTX: that kernel and what it calls, nothing else of the module, with
 * probe code inlined at its entry, at the top of functions that it calls and where they return, around single
 * instructions (around.h), where the first lane of a block enters and the last leaves (leave.c), and before each of its exits (ret, predicated ret, exit, and exit in the functions that it calls). Probe code stands at every exit by
 * itself: a common exit block would be a point where early lanes wait for the others, which a barrier of the
 * kernel could not survive.
 *
 * The twin is a module of its own. References to the application's variables become addresses that the
 * agent stores into the twin's constants after loading: `bindings` names them. Constants read by address
 * come through global memory.
 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_SPLICE_H
#define GPUBPF_BACKENDS_CUDA_PTX_SPLICE_H

#include <stddef.h>
#include <stdint.h>

#include "ptx.h"

struct gpubpf_diag;
struct gpubpf_lower_job;

#define CUDA_TWIN_PREFIX "gpubpf_twin_"
#define CUDA_BIND_PREFIX "gpubpf_bind_" /* .visible .const .u64 gpubpf_bind_<i>: address of binding i */
#define CUDA_MAX_EXITS 64               /* exits of one kernel, returns of its functions too, that get probe code inlined */
#define CUDA_MAX_SUMS 8
#define CUDA_SUM "%gpubpf_sum" /* .b64, and of a map where the multiprocessor has its values */
#define CUDA_FIRST "%gpubpf_first"      /* .b64: where the multiprocessor has the first value of a map */
#define CUDA_MAX_FIRSTS 4
#define CUDA_TOLD "%gpubpf_told"        /* .b32: 1 where a place's text says how many bytes are accessed, 0 where a register does */
#define CUDA_CAME "%gpubpf_came"        /* .b32: lanes that come to the place together; CUDA_WHOLE, .pred: they are all of the warp */
#define CUDA_WHOLE "%gpubpf_whole"
#define CUDA_HAS_CAME ".reg .b32 " CUDA_CAME ";\n.reg .pred " CUDA_WHOLE ";\n"
#define CUDA_ASK_CAME "activemask.b32 " CUDA_CAME ";\nsetp.eq.u32 " CUDA_WHOLE ", " CUDA_CAME ", 0xffffffff;\n"
#define CUDA_SIDE "%gpubpf_side"        /* .b32, at branches: the lanes that go the way of this one */
#define CUDA_MAX_KEYS 2
#define CUDA_KEY "%gpubpf_key"          /* .b32: of the value for which a place keeps CUDA_KEPT; CUDA_KEEPS: it does */
#define CUDA_KEPT "%gpubpf_kept"
#define CUDA_KEEPS "%gpubpf_keeps"
#define CUDA_MAX_KEEPERS 8
#define CUDA_KEEPER "%gpubpf_keeper"    /* .b32 each: lanes that keep what a warp adds, one for each of a probe's adds; CUDA_KEEPS 2 */
#define CUDA_SM "%gpubpf_sm"            /* .b32, where probes at instructions ask for them: %smid and %laneid, */
#define CUDA_LANE "%gpubpf_lane"        /* of which each look takes long, read at the function's top */
#define CUDA_CTAID "%gpubpf_ctaid_"     /* .b32, x, y and z: %ctaid's, for what the first or last lane of a block runs */
#define CUDA_OTHERS "%gpubpf_others"    /* .pred, where that stands: this lane is not the one */
#define CUDA_RESULT "%gpubpf_result"    /* .b64, where a probe reads it: the first 8 bytes of what the function returns */

#define CUDA_OPERAND "%gpubpf_o"        /* .b64 each */

/* PTX statements to put into a block of their own: registers, labels, code; it ends by falling through.
 * `module` is text for the module's top level that the statements need (constants, functions). */
struct cuda_probe {
	char *body;
	size_t body_size;
	bool flat;               /* for launches of one dimension: whose other indices are 0, and sizes 1; set before it is extracted */
	bool reads_params;       /* of the kernel: it cannot stand in the functions that the kernel calls */
	bool reads_result;       /* CUDA_RESULT */
	bool ends_thread;        /* it may (helper 507) */
	bool parts_lanes;        /* it may: it has loops */
	bool at_insns;           /* it stands at single instructions; set before it is extracted */
	bool adds_alone;         /* and may be run later (late.c); set likewise */
	bool reads_sm, reads_lane; /* CUDA_SM, CUDA_LANE */
	bool of_blocks, of_last; /* a lane of a block runs it, its last one; set likewise */
	bool reads_ctaid;        /* CUDA_CTAID */
	bool asks_others;        /* CUDA_OTHERS, who may run it: they come to its end with nothing done */
	struct cuda_sum {        /* that it keeps, CUDA_SUM <name> (core/lower/llvm_sums.c) */
		char name[32];   /* "<bytes>_<map>_<offset>"; of keys without the offset */
	} sums[CUDA_MAX_SUMS], keys[CUDA_MAX_KEYS], firsts[CUDA_MAX_FIRSTS]; /* of the last "<map>": CUDA_FIRST */
	uint32_t nsums, nkeys, nfirsts;
	struct cuda_sum keepers[CUDA_MAX_KEEPERS]; /* CUDA_KEEPER "<number>" */
	uint32_t nkeepers;
	bool asks_told, asks_side; /* CUDA_TOLD, CUDA_SIDE */
	bool asks_came;          /* CUDA_CAME or CUDA_WHOLE */
	bool asks_keeps;         /* CUDA_KEEPS; what follows from it may have come to nothing */
	uint64_t reads;          /* bit i: CUDA_OPERAND "<i>", word i of what places of its kind give (core/lower/ctx.h) */
};

struct cuda_twin {
	char *text;              /* PTX, malloc'd */
	size_t size;
	char (*bindings)[256];   /* variables of the application, malloc'd */
	uint32_t nbindings;
};

/*
 * A module may be the text of several, one behind the other, which were linked. Its PTX ISA version: 804 for
 * ".version 8.4"; and the token of its architecture, of several the latest; PTX_NONE: it states none.
 */
uint32_t cuda_ptx_version(const struct ptx_module *module);
uint32_t cuda_ptx_target(const struct ptx_module *module);

/* What is put into a twin. */
struct cuda_probes {
	const struct cuda_probe *of_sites; /* by the job's sites */
	const struct cuda_probe *flat;     /* likewise, for launches of one dimension; NULL: there is nothing to gain */
	const char *prelude;               /* PTX for the top level of the twin's module: what they refer to */
	size_t prelude_size;
	uint32_t version;                  /* of the PTX ISA that their text needs; the twin states the later of it and the module's own */
};

/*
 * Make the twin of the kernel of the job's first site (its short name: core/wire/name.h): the probe of a site stands where the
 * job's insertions on that kernel say. A short one has a form for launches of one dimension too, CUDA_FLAT_SUFFIX behind the
 * twin's name, if there are probes for that. -EINVAL with the reason when the kernel cannot be probed this way; -ENOMEM.
 */
int cuda_inject(const struct ptx_module *module, const struct gpubpf_lower_job *job, const struct cuda_probes *probes,
		struct cuda_twin *twin, struct gpubpf_diag *diag);
void cuda_twin_finish(struct cuda_twin *twin);

#endif
