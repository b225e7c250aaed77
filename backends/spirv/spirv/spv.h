/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A SPIR-V module as its instructions, words unchanged: write(read(x)) == x. Every word that is looked
 * at was checked to lie in the module; ids are below the bound and defined once. Nothing else is
 * believed: whoever follows an id checks what it finds. Citations are of the SPIR-V specification 1.6.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_SPV_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_SPV_H

#include <spirv/unified1/spirv.h>
#include <stdbool.h>

#include "backends/spirv/wire/parts.h"
#include "core/target.h"
#include "core/wire/pool.h"

#define GPUBPF_SPV_HEADER 5            /* words before the first instruction, section 2.3 */
#define GPUBPF_SPV_MAX_BOUND 0x3fffffu /* section 2.17, universal limits */

struct gpubpf_spv_insn {
	uint32_t at;                   /* word of the module */
	uint16_t op, n;                /* opcode, words */
};

struct gpubpf_spv {
	uint32_t *words;               /* in host order */
	uint32_t nwords;
	bool swapped;                  /* the module came in the other byte order */
	uint32_t version, bound;
	struct gpubpf_spv_insn *insn;
	uint32_t ninsns;
	uint32_t *def;                 /* [bound]: index + 1 of the instruction that defines the id, 0 none */
	uint8_t *packed;               /* [bound]: the id is decorated CPacked */
	uint8_t *built_in;             /* [bound]: BuiltIn: a variable that no memory is behind, whatever its storage class */
	uint8_t *by_value;             /* [bound]: the parameter is decorated ByVal */
	uint32_t *name;                /* [bound]: index + 1 of its OpName, 0 none */
	uint32_t functions;            /* index of the first OpFunction, or ninsns */
	uint32_t *line;                /* [ninsns]: index + 1 of the OpLine whose line begins there (lines.c); NULL: not asked for */
};

/* 0, -ENOMEM, or -EINVAL and a diagnostic that names the word. Everything lies in the pool. */
int gpubpf_spv_read(const void *data, size_t size, struct gpubpf_pool *pool, struct gpubpf_spv *m,
		    struct gpubpf_diag *diag);
/* The module as bytes again; out->data is malloc'd. 0 or -ENOMEM. */
int gpubpf_spv_write(const struct gpubpf_spv *m, struct gpubpf_blob *out);

/* Word i of an instruction, 0 past its end. */
uint32_t gpubpf_spv_word(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn, uint32_t i);
/* The instruction that defines an id, NULL if none does. */
const struct gpubpf_spv_insn *gpubpf_spv_def(const struct gpubpf_spv *m, uint32_t id);
/* The type of a value; 0: it has none. */
uint32_t gpubpf_spv_type_of(const struct gpubpf_spv *m, uint32_t id);
/* The literal string at word i; "" if it does not end inside the instruction. *end: the word after it. */
const char *gpubpf_spv_string(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn, uint32_t i,
			      uint32_t *end);

/* Size and alignment of a type as OpenCL C lays it out (type.c). False: it has none, or lies. */
bool gpubpf_spv_layout(const struct gpubpf_spv *m, uint32_t type, uint32_t *size, uint32_t *align);

/* a kernel: an entry point of the execution model Kernel; or, by info.flags, a function that kernels may call */
struct gpubpf_spv_kernel {
	uint32_t entry;                /* index of its OpEntryPoint, of a kernel */
	uint32_t function;             /* id */
	uint32_t first_param;          /* index of the first OpFunctionParameter */
	uint32_t *param_type;          /* [info.nparams] ids */
	bool local;                    /* its module has local variables, or it has local parameters */
	bool hinted;                   /* it has the execution mode VecTypeHint */
	struct gpubpf_kernel_info info;
};

/* All kernels of a module with what a probe sees of them; those that cannot be taken have a reason
 * (kernels.c). 0 or -ENOMEM. */
int gpubpf_spv_kernels(const struct gpubpf_spv *m, struct gpubpf_pool *pool, struct gpubpf_spv_kernel **kernels,
		       uint32_t *nkernels);

/* Fill in the parameters of a kernel or function. False: they cannot be read. */
bool gpubpf_spv_params(const struct gpubpf_spv *m, struct gpubpf_pool *pool, struct gpubpf_spv_kernel *k);

/* Of kinds of places of instructions and functions (GPUBPF_TAKES): what kernels have in them, and behind the kernels the functions of the
 * module, each with what it calls and its places (functions.c). 0 or -ENOMEM. */
int gpubpf_spv_functions(const struct gpubpf_spv *m, struct gpubpf_pool *pool, uint32_t kinds,
			 struct gpubpf_spv_kernel **kernels, uint32_t nkernels, uint32_t *n);

/* Of these kinds of places those that a kernel or function can have in its code. */
uint32_t gpubpf_spv_kinds_of(const struct gpubpf_kernel_info *info, uint32_t kinds);

/* Fill in m->line. 0 or -ENOMEM. */
int gpubpf_spv_lines(struct gpubpf_spv *m, struct gpubpf_pool *pool);
/* FILE:LINE of the line that begins at an instruction. */
void gpubpf_spv_line_name(const struct gpubpf_spv *m, uint32_t insn, char *name, size_t size);

/* an instruction's place, of a function or kernel */
struct gpubpf_spv_place {
	enum gpubpf_site kind;
	uint32_t id, line;             /* as in struct gpubpf_place */
	uint32_t insn, access;         /* index; which of its accesses (access.h) */
	const struct gpubpf_spv_kernel *function; /* of a function's place: whose it is */
	uint32_t site;                 /* whose body stands there, when that is known */
};

/* The places of these kinds in a function, of a kernel those of instructions alone, in the order of the code; returns how many.
 * out NULL: counts them. */
uint32_t gpubpf_spv_places(const struct gpubpf_spv *m, uint32_t function, uint32_t kinds, struct gpubpf_spv_place *out);

/* one kernel of the twin: the sites on it as indices in the job, UINT32_MAX: none */
struct gpubpf_spv_wrap {
	const struct gpubpf_spv_kernel *kernel;
	uint32_t entry, exit, begin, end; /* begin, end: of blocks */
	struct gpubpf_spv_place *places; /* in its code and that of functions that it calls */
	uint32_t nplaces;
	uint32_t site;                 /* any on the kernel, which may have none of its places */
};

static inline uint32_t gpubpf_spv_first_site(const struct gpubpf_spv_wrap *w)
{
	uint32_t first = w->entry < w->exit ? w->entry : w->exit;

	first = w->begin < first ? w->begin : first;
	first = w->end < first ? w->end : first;
	for (uint32_t i = 0; i < w->nplaces; i++)
		first = w->places[i].site < first ? w->places[i].site : first;
	return first == UINT32_MAX ? w->site : first;
}

/* The twin module: the kernels of wraps[] as gpubpf_twin_<name>, no others (splice.c). *out is
 * malloc'd. 0, -ENOMEM, or -EINVAL and a diagnostic. */
int gpubpf_spv_inject(const struct gpubpf_spv *m, const struct gpubpf_lower_job *job,
		      const struct gpubpf_spv_wrap *wraps, uint32_t nwraps, struct gpubpf_blob *out,
		      struct gpubpf_diag *diag);

/* What gpubpf_target_spirv says of what was made (validate.c): as SPIRV-Tools sees it, or, where they are not there, as
 * our own reader does. */
int gpubpf_spirv_validate(const struct gpubpf_twin_piece *piece, const struct gpubpf_device_caps *caps,
			  struct gpubpf_diag *diag);

/* an image being read: a module, or programs that were linked, of which one part is a module with kernels */
struct gpubpf_spv_image {
	struct gpubpf_pool pool;
	struct gpubpf_cl_part single;  /* the part of an image that is a module */
	struct gpubpf_cl_parts parts;
	bool owned;                    /* parts is to be finished */
	uint32_t part;                 /* the module's */
	struct gpubpf_spv module;
	struct gpubpf_spv_kernel *kernels;
	uint32_t nkernels, nfunctions; /* functions: kernels, and what is behind them */
};

/* p is zeroed; kinds: GPUBPF_TAKES of places that are asked for. 0, -ENOMEM, -ENOENT (no part has kernels in IL), -EBADMSG,
 * or -EINVAL with a diagnostic; p is to be finished either way (image.c). */
int gpubpf_spv_image_read(struct gpubpf_spv_image *p, const struct gpubpf_image *image, uint32_t kinds,
			  struct gpubpf_diag *diag);
void gpubpf_spv_image_finish(struct gpubpf_spv_image *p);
/* Why the kernel cannot be taken on the device; "": it can. */
const char *gpubpf_spv_reason(const struct gpubpf_kernel_info *info, const struct gpubpf_device_caps *caps);

/* What gpubpf_target_spirv does with IL (inspect.c, inject.c). */
int gpubpf_spirv_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
			 struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag);
int gpubpf_spirv_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
			const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out,
			struct gpubpf_diag *diag);

#endif
