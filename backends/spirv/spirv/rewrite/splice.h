/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that build a twin, among them splice.c (kernels and the module) and insn_probe.c (places at
 * instructions). */
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

/* a body at a place; it runs in the launches of one twin */
struct spv_body {
	struct gpubpf_spv_place place;
	uint32_t twin; /* the twin's number */
};

/* variables that a twin may read; the twin's entry point must list them */
enum spv_input { SPV_LOCAL_ID, SPV_BLOCK_SIZE, SPV_LANES, SPV_NINPUTS };

struct inject {
	struct spv_build b;
	const struct gpubpf_lower_job *job;
	struct twin *twins;
	uint32_t ntwins;
	uint32_t u8, u32, u64, p8, p64; /* ids of types; p8, p64: pointers to private memory */
	uint32_t global8, site_type;
	uint32_t void_type; /* id of the type void */
	uint32_t *declared; /* [nsites]: id of the site's function, 0: not declared yet */
	/* [bound]: by function id, the id of the environment (a pointer to u64) in the function; 0: no environment */
	uint32_t *env;
	uint8_t *takes_env;            /* [bound]: by function id: the environment is its last parameter */
	struct spv_body *body;         /* sorted by their order in the code */
	uint32_t nbodies, next;        /* number of bodies; index of the body at which the next search begins */
	uint32_t words;                /* number of words after struct gpubpf_env, the maximum over all places */
	struct spv_call_sites *called; /* functions with programs at their calls or returns */
	uint32_t ncalled;
	/* [nsites]: bit i: the site's programs read word i after struct gpubpf_env */
	uint64_t *reads;
	uint32_t index[ENV_WORDS + 64]; /* [i]: id of the 64-bit constant i, 0: not created yet */
	uint32_t undef;                 /* id of an undefined value, passed where a function has no environment */
	uint32_t input[SPV_NINPUTS];    /* ids of the variables, 0: not read */
	struct spv_words definitions;   /* code of the functions that we add */
};

/* a twin being built; K is the original kernel */
struct twin {
	struct inject *in;
	const struct gpubpf_spv_wrap *wrap;
	const struct gpubpf_spv_kernel *kernel;
	const struct gpubpf_site_desc *site;
	char name[280];
	struct gpubpf_env_use use;
	struct spv_words variables, body; /* code of the new block that precedes K's first block */
	struct spv_words params;
	uint32_t *param; /* ids: K's parameters, then the twin's three own */
	uint32_t type;   /* id of the function's type */
	/* labels of its last blocks: `out` receives all returns, `ended` also the threads that a program ends */
	uint32_t out, ended;
	uint32_t env; /* id of the environment, a pointer to u64 */
};

/* Returns the index of the word that holds the twin's number. The word follows struct gpubpf_env and the words of the
 * places. */
static inline uint32_t spv_twin_word(const struct inject *in)
{
	return ENV_WORDS + in->words;
}

#endif
