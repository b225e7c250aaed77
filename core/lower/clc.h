/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowering to portable OpenCL C 1.2: the device library's own text, then for each site its programs as
 * static functions and the function gpubpf_site_<i> that runs them (core/lower/lower.h).
 *
 *   clc.c          the module: prelude, sites, kernels
 *   clc_func.c     a verified function: registers as variables, jumps as gotos, sub-programs as calls
 *   clc_insn.c     arithmetic and conditions, the same in both modes
 *   clc_mem.c      loads, stores and atomics through the verifier's facts
 *   clc_call.c     helpers
 *   clc_maps.c     the operations of each map
 *   clc_checked.c  a program without facts: one switch loop, every access checked (conformance tool)
 */
#ifndef GPUBPF_LOWER_CLC_H
#define GPUBPF_LOWER_CLC_H

#include "core/target.h"
#include "text.h"

/* opts->kernels adds the kernels. 0; -EINVAL and a diagnostic; -ENOMEM. */
int gpubpf_clc_emit(const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts,
		    struct gpubpf_blob *out, struct gpubpf_diag *diag);

/* private to the files above: where we are */
struct clc {
	const struct gpubpf_lower_job *job;
	const struct gpubpf_site_desc *desc; /* the site */
	uint32_t site, nth;                  /* its index; which program of its list */
	const struct gpubpf_prog *prog;
	uint32_t func;                       /* index of the function in prog->funcs */
	uint32_t stack_skip;                 /* bytes at the bottom of the stack that nothing touches */
	bool *rmw_load;                      /* [ninsns] loads whose value an atomic add needs later */
	struct text *t;
	struct gpubpf_diag *diag;
};

/* the prefix that the static functions of the current program have, for "%s%u_..." */
#define CLC_PROG "gpubpf_s%u_p%u"
#define CLC_PROG_ARGS(c) (c)->site, (c)->nth

/* where the current program has its struct gpubpf_run */
static inline uint64_t clc_run(const struct clc *c)
{
	return gpubpf_lower_run(c->job, c->desc->progs[c->nth]);
}

int clc_program(struct clc *c);
int clc_checked_program(struct clc *c);

/* "r3", or the immediate as a number of the instruction's width */
const char *clc_source(const struct gpubpf_insn *insn, char buf[32]);
void clc_alu(struct clc *c, const struct gpubpf_insn *insn);
/* the condition of a JCOND, in parentheses */
void clc_condition(struct clc *c, const struct gpubpf_insn *insn);

int clc_load(struct clc *c, uint32_t pc);
int clc_store(struct clc *c, uint32_t pc);
int clc_atomic(struct clc *c, uint32_t pc);
/* One atomic: on device memory at the expression `address`, or on private memory that the expression
 * `private` points to; one of the two is NULL. */
void clc_atomic_at(struct clc *c, const struct gpubpf_insn *insn, const char *address, const char *private);
/* STORE: is it lowered to an atomic add? (*p += x by many lanes must lose nothing) */
bool clc_is_atomic_add(const struct clc *c, uint32_t pc);
/* Where an access at register + off lies in the private array `stack`, as an expression. */
const char *clc_stack_index(const struct clc *c, const struct gpubpf_access *access, uint32_t reg, int32_t off,
			    char buf[48]);

int clc_call(struct clc *c, uint32_t pc);
/* Calls of the function at `target` by helper loop. */
int clc_loop(struct clc *c, uint32_t target);
/* And by helper 164; next: the beginning of a call that finds the next element (clc_maps.c). */
int clc_each(struct clc *c, uint32_t target, const char *next);
/* gpubpf_map<i>_<op> for each map of the unit, gpubpf_print_<op> if there is a print ring */
void clc_maps(struct text *t, const struct gpubpf_lower_job *job);

/* the value of `width` bytes at offset `off` of the context, as an expression; -EINVAL and a diagnostic */
int clc_ctx_load(struct clc *c, uint32_t pc, uint32_t off, uint32_t width);

#define CLC_FROM "_from" /* behind the name of an operation whose value is an address */
/* The type through which `width` bytes aligned to `align` are accessed: "gpubpf_w4a2". */
#define CLC_MEM "gpubpf_w%ua%u"

#endif
