/* SPDX-License-Identifier: Apache-2.0 */
/* Private to check*.c: a twin that is being read back. */
#ifndef GPUBPF_SASS_CHECK_WORK_H
#define GPUBPF_SASS_CHECK_WORK_H

#include "check.h"
#include "form.h"

#define SASS_CHECK_SETTLED 8       /* cycles in a stub after which the predicates are the kernel's, behind the branch to it */

struct checked {
	const struct sass_code *code;      /* the kernel's own */
	uint32_t regs, text, info;         /* and its registers, its section, and that which says what it is like */
	struct sass_cubin twin;
	const uint8_t *bytes;
	uint32_t n, stubs;                 /* instructions; the first that was added, behind the kernel's or at its last EXIT */
	uint32_t all;                      /* from n on to here stand the stubs of single instructions */
	uint32_t at, moved;                /* the kernel's own that leads to the entry's probe, and where it is carried out */
	uint32_t new_regs, entry, exit;    /* entry, exit: SASS_NONE: none */
	uint32_t asks, apart;              /* where lanes of a warp go that are not all at an exit, and from where; SASS_NONE */
	bool counts;                       /* a block's lanes */
	const struct sass_arounds *around;
	const struct sass_cubin *app;
	const struct sass_binding *bindings; /* what the agent will fill in */
	uint32_t nbindings;
	uint8_t *met;                      /* malloc'd: of the instructions of stubs */
	bool *placed;                      /* malloc'd: of the kernel's own, whether it leads to a stub, */
	uint32_t *stands;                  /* and from where: itself, or where another has put it */
	struct gpubpf_diag *diag;
};

enum sass_met { SASS_MET = 1, SASS_MET_OWN = 2 }; /* it belongs to a stub; it is the kernel's, carried out there */

int sass_check_wrong(struct checked *c, uint32_t at, const char *what);
int64_t sass_check_target(const struct checked *c, uint32_t i);
/* Scoreboards that an exit's probe waits for first; that the entry's probe leaves behind. */
unsigned sass_check_exit_waits(const struct checked *c);
unsigned sass_check_left_by_entry(const struct checked *c);

/* A scoreboard tells of each predicate of the kernel's that comes late, what is carried out in a stub apart. */
int sass_check_told(struct checked *c);

/* Is it the kernel's own, carried out where it was put? */
bool sass_check_is_moved(const struct checked *c, uint32_t i);

static inline struct sass_insn insn_at(const struct checked *c, uint32_t i)
{
	return sass_read(c->bytes + (size_t)i * SASS_INSN);
}

static inline bool same(struct sass_insn a, struct sass_insn b)
{
	return a.lo == b.lo && a.hi == b.hi;
}

/* -- pass: what stands around single instructions -- */
int sass_check_around(struct checked *c);

/* -- pass: what reads __constant__ variables, there too -- */
int sass_check_constant(struct checked *c);

/* -- pass: behind the others stubs alone, of which each is of these -- */
int sass_check_rest(struct checked *c);

/* -- pass: a block's lanes are counted where all come, in memory that nobody else has -- */
int sass_check_counting(struct checked *c);
/* And nobody whom the kernel calls asks how much memory that is. */
int sass_check_asked(struct checked *c, const struct sass_kernel *kernel);

/* -- pass: no operation without a scoreboard is in flight where an exit's probe writes its registers */
int sass_check_flight(struct checked *c);

/* -- pass: what an exit's probe finds in registers is what the entry's has left there, and would be the same -- */
int sass_check_kept(struct checked *c);

/* -- pass: what of a probe itself is in flight -- */
int sass_check_pending(struct checked *c);

/* -- pass: what the twin says of its code -- */
int sass_check_said(struct checked *c);

#endif
