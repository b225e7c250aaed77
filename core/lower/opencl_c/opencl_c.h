/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowering to portable OpenCL C 1.2: the device library's own text, then for each site its programs as static functions
 * and the function gpubpf_site_<i> that runs them (core/lower/lower.h).
 *
 *   opencl_c.c          the module: prelude, sites, kernels
 *   func.c     a verified function: registers as variables, jumps as gotos, sub-programs as calls
 *   insn.c     arithmetic and conditions, the same in both modes
 *   mem.c      loads, stores and atomics through the verifier's facts
 *   call.c     helpers
 *   maps.c     the operations of each map
 *   checked.c  a program without facts: one switch loop, every access checked (conformance tool)
 */
#ifndef GPUBPF_LOWER_CLC_H
#define GPUBPF_LOWER_CLC_H

#include "core/target.h"
#include "core/lower/text.h"

/* Emits the module of a job; with opts->kernels also kernels. 0; -EINVAL and a diagnostic; -ENOMEM. */
int gpubpf_clc_emit(const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts, struct gpubpf_blob *out,
		    struct gpubpf_diag *diag);

/* The state of the emission; private to the files above. */
struct clc {
	const struct gpubpf_lower_job *job;
	const struct gpubpf_site_desc *desc; /* the current site */
	uint32_t site, prog_nth;             /* site: its index; prog_nth: index in its list of the current program */
	const struct gpubpf_prog *prog;
	uint32_t func;       /* index of the function in prog->funcs */
	uint32_t stack_skip; /* bytes at the bottom of the stack that no access touches */
	bool *rmw_load;      /* [ninsns]: loads whose value a later atomic add uses */
	struct text *t;
	struct gpubpf_diag *diag;
};

/* format of the prefix of the current program's static functions; site index and nth follow: "%s%u_..." */
#define CLC_PROG "gpubpf_s%u_p%u"
#define CLC_PROG_ARGS(c) (c)->site, (c)->prog_nth

/* Returns the arena offset of the current program's struct gpubpf_run. */
static inline uint64_t clc_run(const struct clc *c)
{
	return gpubpf_lower_run(c->job, c->desc->progs[c->prog_nth]);
}

int clc_program(struct clc *c);
int clc_checked_program(struct clc *c);

/* Returns the source operand's text: "r3", or the immediate as a number of the instruction's width. */
const char *clc_source(const struct gpubpf_insn *insn, char buf[32]);
void clc_alu(struct clc *c, const struct gpubpf_insn *insn);
/* Emits the condition of a JCOND, in parentheses. */
void clc_condition(struct clc *c, const struct gpubpf_insn *insn);

int clc_load(struct clc *c, uint32_t pc);
int clc_store(struct clc *c, uint32_t pc);
int clc_atomic(struct clc *c, uint32_t pc);
/*
 * Emits one atomic on device memory at the expression `address`, or on private memory at the expression `private`.
 * Exactly one of the two is not NULL.
 */
void clc_atomic_at(struct clc *c, const struct gpubpf_insn *insn, const char *address, const char *private);
/* Is this STORE lowered to an atomic add? `*p += x` by many lanes must not lose an update. */
bool clc_is_atomic_add(const struct clc *c, uint32_t pc);
/* Returns the text of an index in the private array `stack`: that of an access at register + off. */
const char *clc_stack_index(const struct clc *c, const struct gpubpf_access *access, uint32_t reg, int32_t off,
			    char buf[48]);

int clc_call(struct clc *c, uint32_t pc);
/* Emits the calls of the function at pc `target` by bpf_loop(). */
int clc_loop(struct clc *c, uint32_t target);
/*
 * Emits the calls of the function at pc `target` by helper 164. `next` is the beginning of the call that finds the next
 * element (maps.c).
 */
int clc_each(struct clc *c, uint32_t target, const char *next);
/* Emits gpubpf_map<i>_<op> for each map of the unit, and gpubpf_print_<op> if there is a print ring. */
void clc_maps(struct text *t, const struct gpubpf_lower_job *job);

/* Emits the value of `width` bytes at context offset `off` as an expression. -EINVAL and a diagnostic. */
int clc_ctx_load(struct clc *c, uint32_t pc, uint32_t off, uint32_t width);

#define CLC_FROM "_from" /* suffix of an operation that takes the device address of its value */
/* format of the type through which `width` bytes aligned to `align` are accessed: "gpubpf_w4a2" */
#define CLC_MEM "gpubpf_w%ua%u"

#endif
