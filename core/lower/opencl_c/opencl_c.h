/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowers programs to portable OpenCL C 1.2. The text begins with the device library. For each site it has the site's
 * programs as static functions, and a function gpubpf_site_<i> that runs them (core/lower/lower.h). Two targets of
 * backends/spirv/opencl_c use this text. Target "clc" emits it as the source of the probes. Target "wrap" inserts it
 * into the twin of an application's OpenCL C source.
 *
 *   opencl_c.c   emits the module: prelude, sites, kernels
 *   func.c       emits a verified function: registers as variables, jumps as gotos, sub-programs as calls
 *   insn.c       emits arithmetic and conditions, both for verified programs and in checked mode
 *   mem.c        emits loads, stores and atomics by the verifier's facts
 *   ctx.c        emits reads of the context
 *   call.c       emits helper calls
 *   maps.c       emits the operations of each map
 *   checked.c    emits a program without facts: a switch in a loop, with a check of every access (conformance tool)
 *   prelude.cl   text between the device library and the programs: accesses, copies, total arithmetic
 *   checked.cl   text for programs without facts: the checks of accesses
 */
#ifndef GPUBPF_LOWER_CLC_H
#define GPUBPF_LOWER_CLC_H

#include "core/target.h"
#include "core/lower/text.h"

/*
 * Emits the module of a job, and kernels if opts->kernels is set. Returns 0, -ENOMEM, or -EINVAL and sets a diagnostic.
 */
int gpubpf_clc_emit(const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts, struct gpubpf_blob *out,
		    struct gpubpf_diag *diag);

/* State while a module is emitted, for the files above. */
struct clc {
	const struct gpubpf_lower_job *job;
	const struct gpubpf_site_desc *desc; /* the current site */
	/* index of the current site; index of the current program in the site's list */
	uint32_t site, prog_nth;
	const struct gpubpf_prog *prog;
	uint32_t func;       /* index of the current function in prog->funcs */
	uint32_t stack_skip; /* number of bytes at the stack's low end that no access touches */
	bool *rmw_load;      /* [ninsns]: true for a load whose value a later atomic add uses */
	struct text *t;
	struct gpubpf_diag *diag;
};

/*
 * format of the names of the current program's static functions; the numbers are the site and the program's index in it
 */
#define CLC_PROG "gpubpf_s%u_p%u"
#define CLC_PROG_ARGS(c) (c)->site, (c)->prog_nth

/* Returns the arena offset of the current program's struct gpubpf_run. */
static inline uint64_t clc_run(const struct clc *c)
{
	return gpubpf_lower_run(c->job, c->desc->progs[c->prog_nth]);
}

int clc_program(struct clc *c);
int clc_checked_program(struct clc *c);

/* Returns the source operand as text: a register such as "r3", or the immediate as a number. */
const char *clc_source(const struct gpubpf_insn *insn, char buf[32]);
void clc_alu(struct clc *c, const struct gpubpf_insn *insn);
/* Returns true if the instruction is a may_goto. */
static inline bool clc_is_may_goto(const struct gpubpf_insn *insn)
{
	return insn->kind == GPUBPF_INSN_JCOND && insn->op == GPUBPF_MAY_GOTO;
}
/* Emits the condition of a conditional jump, in parentheses. */
void clc_condition(struct clc *c, const struct gpubpf_insn *insn);

int clc_load(struct clc *c, uint32_t pc);
int clc_store(struct clc *c, uint32_t pc);
int clc_atomic(struct clc *c, uint32_t pc);
/*
 * Emits one atomic on device memory at the expression `address`, or on private memory at the expression `private`.
 * Exactly one of the two is not NULL.
 */
void clc_atomic_at(struct clc *c, const struct gpubpf_insn *insn, const char *address, const char *private);
/* Returns true if the store is lowered to an atomic add. If many lanes execute `*p += x`, no update may be lost. */
bool clc_is_atomic_add(const struct clc *c, uint32_t pc);
/* Returns an expression for the index in the private array `stack` of an access at register + off. */
const char *clc_stack_index(const struct clc *c, const struct gpubpf_access *access, uint32_t reg, int32_t off,
			    char buf[48]);

int clc_call(struct clc *c, uint32_t pc);
/* Emits bpf_loop() with the function at pc `target` as callback. */
int clc_loop(struct clc *c, uint32_t target);
/*
 * Emits helper 164 with the function at pc `target` as callback. `next` is the beginning of the call that finds the
 * next element (maps.c).
 */
int clc_each(struct clc *c, uint32_t target, const char *next);
/*
 * Emits a function gpubpf_map<i>_<op> for each map of the unit and each operation, and gpubpf_print_<op> if there is a
 * print ring.
 */
void clc_maps(struct text *t, const struct gpubpf_lower_job *job);

/* Emits an expression for the `width` bytes at context offset `off`. Returns 0, or -EINVAL and sets a diagnostic. */
int clc_ctx_load(struct clc *c, uint32_t pc, uint32_t off, uint32_t width);

#define CLC_FROM "_from" /* name suffix of map operations that take the device address of a value */
/* format of the type of an access of `width` bytes that is aligned to `align` bytes, such as "gpubpf_w4a2" */
#define CLC_MEM "gpubpf_w%ua%u"

#endif
