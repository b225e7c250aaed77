/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A SPIR-V module as a list of instructions whose words are unchanged: writing a module that was read returns the same
 * bytes. The reader guarantees that instructions lie inside the module, and that each id is below the bound and defined
 * once. It guarantees nothing else: code that looks up an id must check the instruction that defines it. Section
 * numbers refer to the SPIR-V specification 1.6.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_SPV_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_SPV_H

#include <spirv/unified1/spirv.h>
#include <stdbool.h>

#include "backends/spirv/wire/parts.h"
#include "core/target.h"
#include "core/wire/pool.h"

#define GPUBPF_SPV_HEADER 5            /* number of words before the first instruction (section 2.3) */
#define GPUBPF_SPV_MAX_BOUND 0x3fffffu /* section 2.17, universal limits */

struct gpubpf_spv_insn {
	uint32_t at;    /* index of the instruction's first word in the module */
	uint16_t op, n; /* opcode, length in words */
};

struct gpubpf_spv {
	uint32_t *words; /* in the host's byte order */
	uint32_t nwords;
	bool swapped; /* the byte order of the module was the opposite of the host's */
	uint32_t version, bound;
	struct gpubpf_spv_insn *insn;
	uint32_t ninsns;
	uint32_t *def;   /* [bound]: index + 1 of the instruction that defines the id, or 0 */
	uint8_t *packed; /* [bound]: the id has the decoration CPacked */
	/* [bound]: the id has the decoration BuiltIn; such a variable is not memory in any storage class */
	uint8_t *built_in;
	uint8_t *constant;  /* [bound]: the id has the decoration Constant: the module never writes the variable */
	uint8_t *by_value;  /* [bound]: the parameter has the decoration ByVal */
	uint32_t *name;     /* [bound]: index + 1 of the id's OpName, or 0 */
	uint32_t functions; /* index of the first OpFunction, or ninsns */
	/*
	 * [ninsns]: index + 1 of the OpLine whose line begins at this instruction (lines.c), or 0. NULL: not requested
	 */
	uint32_t *line;
};

/*
 * Parse a module. Returns 0, -ENOMEM, or -EINVAL and a diagnostic with the index of the wrong word. The pool owns all
 * memory.
 */
int gpubpf_spv_read(const void *data, size_t size, struct gpubpf_pool *pool, struct gpubpf_spv *m,
		    struct gpubpf_diag *diag);
/* Write the module to *out; out->data is malloc'd. Returns 0 or -ENOMEM. */
int gpubpf_spv_write(const struct gpubpf_spv *m, struct gpubpf_blob *out);

/* Returns word i of an instruction, or 0 past its end. Word 0 holds the opcode and the length. */
uint32_t gpubpf_spv_word(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn, uint32_t i);
/* Returns the instruction that defines an id, or NULL. */
const struct gpubpf_spv_insn *gpubpf_spv_def(const struct gpubpf_spv *m, uint32_t id);
/* Returns the id of a value's type, or 0 if the value has no type. */
uint32_t gpubpf_spv_type_of(const struct gpubpf_spv *m, uint32_t id);
/*
 * Returns the literal string that starts at word i, or "" if it does not end inside the instruction. The result *end is
 * the index of the word after the string.
 */
const char *gpubpf_spv_string(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn, uint32_t i, uint32_t *end);

/*
 * Store the size and alignment of a type in bytes, by the layout rules of OpenCL C (type.c). Returns false if the type
 * has no size or is malformed.
 */
bool gpubpf_spv_layout(const struct gpubpf_spv *m, uint32_t type, uint32_t *size, uint32_t *align);

/*
 * A kernel, that is an entry point with the execution model Kernel. If info.flags has GPUBPF_KINFO_FUNCTION, it is a
 * function that kernels may call.
 */
struct gpubpf_spv_kernel {
	uint32_t entry;         /* index of the OpEntryPoint; only for a kernel */
	uint32_t function;      /* id of the OpFunction */
	uint32_t first_param;   /* index of the first OpFunctionParameter */
	uint32_t *param_type;   /* [info.nparams] ids */
	bool has_local_memory;  /* the module has Workgroup variables, or the kernel has local parameters */
	bool has_vec_type_hint; /* the kernel has the execution mode VecTypeHint */
	struct gpubpf_kernel_info info;
};

/*
 * List all kernels of a module with the properties that probes use (kernels.c). If a kernel cannot be probed,
 * info.reason says why. Returns 0 or -ENOMEM.
 */
int gpubpf_spv_kernels(const struct gpubpf_spv *m, struct gpubpf_pool *pool, struct gpubpf_spv_kernel **kernels,
		       uint32_t *nkernels);

/* Fill in the parameters of a kernel or function. Returns false if they are malformed. */
bool gpubpf_spv_params(const struct gpubpf_spv *m, struct gpubpf_pool *pool, struct gpubpf_spv_kernel *k);

/*
 * Add the places of the requested kinds (GPUBPF_SITE_BIT) to the kernels. Append the module's functions to the list,
 * each with its callees and places (functions.c). Returns 0 or -ENOMEM.
 */
int gpubpf_spv_functions(const struct gpubpf_spv *m, struct gpubpf_pool *pool, uint32_t kinds,
			 struct gpubpf_spv_kernel **kernels, uint32_t nkernels, uint32_t *n);

/* Returns the subset of `kinds` (GPUBPF_SITE_BIT) that can occur in the code of this kernel or function. */
uint32_t gpubpf_spv_kinds_of(const struct gpubpf_kernel_info *info, uint32_t kinds);

/* Compute m->line. Returns 0 or -ENOMEM. */
int gpubpf_spv_lines(struct gpubpf_spv *m, struct gpubpf_pool *pool);
/* Store "FILE:LINE" of the line that begins at an instruction in name[]. */
void gpubpf_spv_line_name(const struct gpubpf_spv *m, uint32_t insn, char *name, size_t size);

/* a place at an instruction of a function or kernel */
struct gpubpf_spv_place {
	enum gpubpf_site kind;
	uint32_t id, line; /* as in struct gpubpf_place */
	/* index of the instruction; index of the memory access in it (access.h) */
	uint32_t insn, access;
	/* for a place at a function's call or return: the function; else NULL */
	const struct gpubpf_spv_kernel *function;
	uint32_t site; /* site whose BPF programs run at this place; UINT32_MAX: not known yet */
};

/*
 * List the places of these kinds in a function, in code order, and return their number. If `out` is NULL, only count
 * them. For a kernel, pass only kinds of places at instructions.
 */
uint32_t gpubpf_spv_places(const struct gpubpf_spv *m, uint32_t function, uint32_t kinds, struct gpubpf_spv_place *out);

/* a kernel that gets a twin; entry, exit, begin and end are sites, as indices in the job, or UINT32_MAX */
struct gpubpf_spv_wrap {
	const struct gpubpf_spv_kernel *kernel;
	uint32_t entry, exit, begin, end; /* begin, end: probes in the first and last lane of a work-group */
	struct gpubpf_spv_place *places;  /* places in the kernel's code and in the functions that it calls */
	uint32_t nplaces;
	uint32_t site; /* any site of the kernel, even if no place belongs to it */
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

/*
 * Build the twin module (backends/spirv/spirv/rewrite/splice.c). It contains the kernels of wraps[] as
 * gpubpf_twin_<name>, and no other twins. *out is malloc'd. Returns 0, -ENOMEM, or -EINVAL and a diagnostic.
 */
int gpubpf_spv_inject(const struct gpubpf_spv *m, const struct gpubpf_lower_job *job, const struct gpubpf_spv_wrap *wraps,
		      uint32_t nwraps, struct gpubpf_blob *out, struct gpubpf_diag *diag);

/*
 * The operation `validate` of gpubpf_target_spirv (validate.c). gpubpf's own reader always checks the piece;
 * SPIRV-Tools check it too if they are compiled in.
 */
int gpubpf_spirv_validate(const struct gpubpf_twin_piece *piece, const struct gpubpf_device_caps *caps,
			  struct gpubpf_diag *diag);

/* An opened image: one module, or several linked parts. Exactly one part is a module with kernels. */
struct gpubpf_spv_image {
	struct gpubpf_pool pool;
	struct gpubpf_cl_part single; /* if the image is one module: this module as a part */
	struct gpubpf_cl_parts parts;
	bool owned;    /* true: gpubpf_spv_image_finish() frees `parts` */
	uint32_t part; /* index in `parts` of the part that is `module` */
	struct gpubpf_spv module;
	struct gpubpf_spv_kernel *kernels;
	/* kernels[] has nfunctions entries: first nkernels kernels, then the other functions */
	uint32_t nkernels, nfunctions;
};

/*
 * Open an image. *p must be zeroed; `kinds` has the GPUBPF_SITE_BIT of the requested places. Returns 0, -ENOMEM,
 * -ENOENT (no part has kernels in IL), -EBADMSG, or -EINVAL with a diagnostic. The caller must call
 * gpubpf_spv_image_finish() in every case (image.c).
 */
int gpubpf_spv_image_read(struct gpubpf_spv_image *p, const struct gpubpf_image *image, uint32_t kinds,
			  struct gpubpf_diag *diag);
void gpubpf_spv_image_finish(struct gpubpf_spv_image *p);
/* Returns the reason why the kernel cannot be probed on the device, or "". */
const char *gpubpf_spv_reason(const struct gpubpf_kernel_info *info, const struct gpubpf_device_caps *caps);

/* The operations of gpubpf_target_spirv on IL (inspect.c, inject.c). */
int gpubpf_spirv_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
			 struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag);
int gpubpf_spirv_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
			const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag);

#endif
