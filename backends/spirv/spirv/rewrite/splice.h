/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the files of this folder share. splice.c builds the twin module and its kernels; insn_probe.c
 * inserts probes at instructions.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_SPLICE_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_SPLICE_H

#include <stddef.h>

#include "backends/spirv/common/env_use.h"
#include "maps/device/devlib.h"
#include "backends/spirv/spirv/module/write.h"

#define ENV_WORDS (sizeof(struct gpubpf_env) / 8)
#define ENV_WORD(member) (offsetof(struct gpubpf_env, member) / 8)

struct twin;

struct spv_call_sites;

/* a place in one twin; the BPF programs of place.site run there */
struct spv_body {
	struct gpubpf_spv_place place;
	uint32_t twin; /* the twin's number */
};

/* variables that a twin may read; its entry point must list them */
enum spv_input { SPV_LOCAL_ID, SPV_BLOCK_SIZE, SPV_LANES, SPV_NINPUTS };

struct inject {
	struct spv_build b;
	const struct gpubpf_lower_job *job;
	struct twin *twins;
	uint32_t ntwins;
	uint32_t u8, u32, u64, p8, p64; /* ids of types; p8, p64: pointers to u8 and u64 in private memory */
	uint32_t global8, site_type;
	uint32_t void_type; /* id of the type void */
	uint32_t *declared; /* [nsites]: id of the site's function, or 0 if not declared yet */
	/* [bound]: for each function id, the id of its environment (a pointer to u64), or 0 */
	uint32_t *env;
	/* [bound]: for each function id, whether the environment is its last parameter */
	uint8_t *takes_env;
	struct spv_body *body;  /* [nbodies]: in the order of the code */
	uint32_t nbodies, next; /* next: index of the body at which the next search begins */
	/* number of words after struct gpubpf_env; the maximum over all kinds of places used */
	uint32_t words;
	struct spv_call_sites *called; /* [ncalled]: functions with BPF programs at their calls or returns */
	uint32_t ncalled;
	/* [nsites]: bit i: the site's BPF programs read word i after struct gpubpf_env */
	uint64_t *reads;
	uint32_t index[ENV_WORDS + 64]; /* [i]: id of the 64-bit constant i, or 0 if not created yet */
	uint32_t undef;                 /* id of an undefined value, passed by callers that have no environment */
	uint32_t input[SPV_NINPUTS];    /* id of each variable of enum spv_input; 0: not used */
	struct spv_words definitions;   /* code of new functions */
};

/* a twin being built; K is its original kernel */
struct twin {
	struct inject *in;
	const struct gpubpf_spv_wrap *wrap;
	const struct gpubpf_spv_kernel *kernel;
	const struct gpubpf_site_desc *site;
	char name[280];
	struct gpubpf_env_use use;
	struct spv_words variables, body; /* variables and code of the new basic block before K's first block */
	struct spv_words params;
	uint32_t *param; /* ids of K's parameters, then of the twin's three additional parameters */
	uint32_t type;   /* id of the function type */
	/*
	 * labels of the last two blocks: all returns branch to `out`; threads that a BPF program ends branch to `ended`
	 */
	uint32_t out, ended;
	uint32_t env; /* id of the environment, of type pointer to u64 */
};

/*
 * Returns the index of the environment word that holds the twin's number. This word follows struct gpubpf_env and the
 * words of the places.
 */
static inline uint32_t spv_twin_word(const struct inject *in)
{
	return ENV_WORDS + in->words;
}

#endif
