/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that make a twin share: splice.c (kernels and the module), around.c (places of instructions). */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_SPLICE_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_SPLICE_H

#include <stddef.h>

#include "backends/spirv/common/env_use.h"
#include "maps/devlib.h"
#include "write.h"

#define ENV_WORDS (sizeof(struct gpubpf_env) / 8)
#define ENV_WORD(member) (offsetof(struct gpubpf_env, member) / 8)

struct twin;

struct spv_called;

/* a place's body, which stands there for the launches of one twin */
struct spv_body {
	struct gpubpf_spv_place place;
	uint32_t twin;                     /* its number */
};

/* variables that a twin may read: its entry point names them */
enum spv_input { SPV_LOCAL_ID, SPV_BLOCK_SIZE, SPV_LANES, SPV_NINPUTS };

struct inject {
	struct spv_build b;
	const struct gpubpf_lower_job *job;
	struct twin *twins;
	uint32_t ntwins;
	uint32_t u8, u32, u64, p8, p64;    /* types; p: pointer to private memory */
	uint32_t global8, site_type;
	uint32_t none;                     /* void */
	uint32_t *declared;                /* [nsites]: id of the site's function, 0: not yet */
	uint32_t *env;                     /* [bound]: the environment, a pointer to u64, in a function; 0: it has none */
	uint8_t *takes_env;                /* [bound]: the function has it as its last parameter */
	struct spv_body *body;             /* in the order of the code */
	uint32_t nbodies, next;            /* next: where the last search ended */
	uint32_t words;                    /* most that a place gives: behind struct gpubpf_env */
	struct spv_called *called;         /* functions with programs at their calls and returns */
	uint32_t ncalled;
	uint64_t *reads;                   /* [nsites]: of those words */
	uint32_t index[ENV_WORDS + 64];    /* constants, 0: not made yet */
	uint32_t undef;                    /* in place of an environment */
	uint32_t input[SPV_NINPUTS];       /* 0: it is not read */
	struct spv_words definitions;      /* functions of ours */
};

/* one twin being written */
struct twin {
	struct inject *in;
	const struct gpubpf_spv_wrap *wrap;
	const struct gpubpf_spv_kernel *kernel;
	const struct gpubpf_site_desc *site;
	char name[280];
	struct gpubpf_env_use use;
	struct spv_words variables, body;  /* of the block before K's first */
	struct spv_words params;
	uint32_t *param;                   /* ids: K's, then the three of the twin */
	uint32_t type;                     /* of the function */
	uint32_t out, ended;               /* its last blocks: where all returns go; where threads go that programs end */
	uint32_t env;                      /* as a pointer to u64 */
};

/* The word behind struct gpubpf_env and what places give that has the twin's number. */
static inline uint32_t spv_twin_word(const struct inject *in)
{
	return ENV_WORDS + in->words;
}

#endif
