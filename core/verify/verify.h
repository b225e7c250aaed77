/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the verifier's files share. docs/reference/verifier.md describes the algorithm.
 *
 *   verify.c  the walk over all paths            cfg.c     functions, reachability, live registers
 *   state.c   registers, frames, checkpoints     prune.c   when an earlier state covers a state
 *   alu.c     arithmetic, pointers included      memory.c  loads, stores, atomics by space
 *   stack.c   stack slots                        branch.c  comparisons and their consequences
 *   call.c    helpers, arguments                 callback.c sub-programs, callbacks, returns
 *   facts.c   facts for lowering                 report.c  diagnostics
 *   cost.c    worst case and trips               uniform.c uniformity of values over lanes
 *   simt.c    rules that depend on uniformity    wait.c    loops that wait for other lanes
 *   limits.c  limits of one target               trace.c   the walk, line by line
 *   tnum.c range*.c  numbers (pure)
 */
#ifndef GPUBPF_VERIFY_VERIFY_H
#define GPUBPF_VERIFY_VERIFY_H

#include "core/model/diag.h"
#include "core/model/facts.h"
#include "core/model/prog.h"
#include "range.h"

#define MAX_OFFSET (1 << 29)      /* absolute limit of a pointer's offset, so that the sum of two never overflows */
#define MAX_SLOTS (GPUBPF_STACK_SIZE / 8)
#define MAX_PENDING 8192          /* branches queued and not walked yet */
#define MAX_REFS 16
#define MAX_LOOPS 8               /* back edges whose iterations are counted */
#define MAX_CALLING 8             /* calls of helpers that call back whose iterations are counted */

/* remedy for a program that reads memory through a kernel's argument */
#define NO_DEVICE_MEMORY \
	"a kernel's arguments are numbers; memory that they point to is read by bpf_probe_read_kernel(&to, size, ctx->arg[i]), the " \
	"bytes of a struct that is passed by value by bpf_gpu_read_arg(); the context's fields are read as they are (ctx->launch)"

enum reg_type {
	R_UNINIT,
	R_SCALAR,
	R_CTX,
	R_MAP,   /* a map itself */
	R_VALUE, /* a pointer into a map value */
	R_STACK,
	R_RECORD, /* a pointer into a reserved ring-buffer record */
	R_KEY,    /* a pointer into the key that for_each_map_elem passes to its callback; read-only */
	R_MEM,    /* a pointer into the memory block of the conformance tool */
	R_FUNC,   /* the address of a callback */
};

/*
 * The content of a register or a spilled slot. `mark` records whether a bound, branch or size depends on a number;
 * states are compared without numbers that nothing depends on (state.c).
 */
struct reg {
	uint8_t type;   /* enum reg_type */
	bool or_null;   /* the pointer may be NULL */
	uint8_t frame;  /* STACK: depth of the frame it points into */
	uint8_t linked; /* SCALAR: if not 0, this number differs by `off` from others with its id, by a sum of 4
			     * or 8 bytes */
	int16_t map;    /* VALUE, MAP, RECORD, KEY: index of the map in the unit */
	uint32_t id;    /* SCALAR: registers with equal ids hold equal numbers. or_null: pointers with equal ids
			     * are NULL together */
	uint32_t ref;   /* RECORD: the reference to release. UNINIT: the released reference, or 0 */
	int32_t off;    /* pointers: known part of the offset; the unknown part is s */
	uint32_t size;  /* RECORD, MEM: bytes; FUNC: pc of its first instruction */
	uint32_t mark;  /* SCALAR: precision mark, 0 none */
	struct scalar s;
};

enum byte_kind {
	B_INVALID, /* never written */
	B_MISC,    /* an unknown number */
	B_ZERO,
	B_SPILL, /* a byte of slot.reg */
	B_UPPER, /* a byte of slot.upper */
};

#define UPPER 4 /* the first byte of a slot's upper half */

struct stack_slot {      /* 8 bytes of the stack */
	uint8_t kind[8]; /* enum byte_kind of each byte, lowest address first */
	uint32_t read;   /* liveness mark; 0: fully written since the last checkpoint */
	struct reg reg;
	struct reg upper; /* a number of up to 4 bytes that was spilled to the slot's upper half */
};

struct frame {
	struct reg regs[GPUBPF_NREGS];
	uint32_t callsite; /* pc of the call in the caller */
	uint16_t func;
	uint16_t nslots;          /* number of slots, from r10 downwards; bytes below them are B_INVALID */
	struct stack_slot *slots; /* slot i covers [-8 (i + 1), -8 i) from r10 */
	bool called_back;         /* the helper called at callsite calls this frame */
	uint32_t nrefs;           /* called_back: number of records reserved when the callback began */
	uint32_t rounds;          /* iterations so far of the helper that this frame calls */
};

/*
 * The cost of a part of a path, with the number of times that it takes each back edge and reaches each helper that
 * calls back.
 */
struct tally {
	struct gpubpf_cost cost;
	uint32_t trips[MAX_LOOPS];
	uint32_t calls[MAX_CALLING];
};

/* A call of a helper that calls back: its maximum number of iterations, and the cost of one iteration. */
struct calling {
	uint64_t rounds;
	struct tally round;
};

struct state {
	uint32_t nframes;
	struct frame *frame[GPUBPF_MAX_FRAMES];
	uint32_t refs[MAX_REFS];
	uint32_t nrefs;
	struct checkpoint *parent; /* the path's last checkpoint */
	struct tally tally;        /* cost since that checkpoint */
};

/* A state stored where paths merge. */
struct checkpoint {
	struct checkpoint *next; /* next checkpoint at the same pc */
	struct checkpoint *all;  /* list of all checkpoints of the program, to free them */
	struct checkpoint *parent;
	struct state *state; /* NULL after the state was discarded */
	struct tally rest;   /* worst case from here to the end of the program */
	struct tally *round; /* by frame: worst case from here to the end of the frame's current iteration;
				      * NULL: no iteration has ended yet */
	struct tally from_parent;
	uint32_t pc;
	uint32_t branches; /* number of unfinished paths from here; 0: complete */
	uint32_t hits, misses;
};

struct pending {
	struct state *state;
	uint32_t pc, from;
};

struct mark {
	uint32_t from[2]; /* marks of the inputs; 0: none */
	bool on;
};

struct value_note { /* A result known on this visit, to be confirmed when all marks are final. */
	uint32_t pc, mark;
	int8_t arg; /* index of a call's argument; -1: the result */
};

struct insn_aux {
	bool prune;          /* a place for checkpoints: paths merge here */
	bool leader;         /* first instruction of a basic block */
	uint8_t seen;        /* JCOND: bit 0: the walk fell through, bit 1: it took the jump */
	bool calls_back;     /* a call of a helper that calls back: */
	uint8_t calling;     /* 1 + its index among these calls; 0: there are more than MAX_CALLING */
	uint8_t ptr_kind;    /* kind of memory that it accessed, 1 = the context, 2 = other */
	uint8_t value_state; /* its result: 0 = none yet, 1 = always the same number so far, 2 = varies */
	uint8_t arg_state[5];
	uint16_t live; /* registers that are live before it */
	uint8_t loop;  /* back edge: 1 + its index; 0: no back edge, or more than MAX_LOOPS */
	uint16_t func;
	uint32_t walked;
	bool outside;   /* a call with a constant index outside of its array: */
	uint32_t index; /* that index */
	struct checkpoint *saved;
};

struct func_info {
	uint32_t first, end;
	uint32_t stack; /* bytes of the frame that it touches */
	bool called_back;
	uint32_t height_stack; /* stack of the deepest call chain from here, in bytes; below, in frames */
	uint32_t height;
	uint8_t colour;
};

/* A callback that observes the verifier before each walked instruction. */
struct verifier;
struct watch {
	void (*fn)(void *arg, const struct verifier *v);
	void *arg;
	bool compare_all; /* compares all numbers as if their marks were set, so that each state of a path
				      * is included in an observed state */
};

struct verifier {
	const struct gpubpf_unit *unit;
	const struct gpubpf_prog *prog;
	const struct gpubpf_insn *insns;
	uint32_t n;
	struct gpubpf_verify_opts opts;
	struct gpubpf_diag *diag;
	struct gpubpf_facts *facts;
	struct insn_aux *aux;
	struct func_info *funcs;
	uint32_t nfuncs;

	struct state *cur;
	uint32_t pc;
	struct pending *pending;
	uint32_t npending, cap_pending;
	struct checkpoint *checkpoints;
	struct tally worst;
	uint32_t nloops;
	uint32_t ncalling;
	struct calling calling[MAX_CALLING];
	struct mark *marks;
	uint32_t nmarks, cap_marks;
	uint32_t *mark_work;
	uint32_t cap_work;
	struct value_note *notes;
	uint32_t nnotes, cap_notes;
	uint32_t next_id;
	uint64_t walked;
	uint32_t insns_since, jumps_since;
	size_t state_bytes;
	bool compare_all; /* some helper calls back, so comparisons ignore marks: prune.c */
	bool no_memory;
	const struct watch *watch; /* NULL except in tests */
	struct trace *trace;       /* NULL without opts.trace */
};

/* every step function returns 0, or -EINVAL with v->diag filled */

/* verify.c */
static inline struct frame *cur_frame(struct verifier *v)
{
	return v->cur->frame[v->cur->nframes - 1];
}

static inline struct reg *cur_regs(struct verifier *v)
{
	return cur_frame(v)->regs;
}

/* gpubpf_verify() with a watch. */
int verify_watched(const struct gpubpf_unit *unit, struct gpubpf_prog *prog, const struct gpubpf_verify_opts *opts,
		   const struct watch *watch, struct gpubpf_diag *diag);

/* cfg.c */
int cfg_check(struct verifier *v);
int cfg_stack_depth(struct verifier *v);
void cfg_liveness(struct verifier *v);
int cfg_func_at(const struct verifier *v, uint32_t pc);
uint32_t insn_next(const struct verifier *v, uint32_t pc);

/* state.c */
bool holds_upper(const struct stack_slot *s);
int refuse(struct verifier *v, enum gpubpf_error code, const char *what, ...) __attribute__((format(printf, 3, 4)));
int push_branch(struct verifier *v, struct state *state, uint32_t pc);
struct state *state_new(struct verifier *v);
struct state *state_copy(struct verifier *v, const struct state *from);
void state_free(struct verifier *v, struct state *s);
/* Returns the slot that covers byte off (negative) of the frame, NULL if nothing was written there. */
struct stack_slot *slot_of(const struct frame *f, int off);
struct frame *frame_push(struct verifier *v, struct state *s, uint16_t func, uint32_t callsite);
void frame_pop(struct verifier *v, struct state *s);
int frame_reserve(struct verifier *v, struct frame *f, uint32_t nslots);
uint32_t mark_new(struct verifier *v, uint32_t a, uint32_t b);
bool mark_is_on(const struct verifier *v, uint32_t mark);
void mark_precise(struct verifier *v, uint32_t mark);
void mark_reg(struct verifier *v, const struct reg *r);
uint32_t new_id(struct verifier *v);
void reg_uninit(struct reg *r);
void reg_unknown(struct reg *r);
void reg_const(struct reg *r, uint64_t value);
bool reg_is_ptr(const struct reg *r);
bool reg_is_zero(const struct reg *r);
/* Visits every register and spilled slot of a state, in all frames. */
typedef void (*reg_fn)(struct verifier *v, struct reg *r, void *arg);
void state_each_reg(struct verifier *v, struct state *s, reg_fn fn, void *arg);
int ref_acquire(struct verifier *v, uint32_t *ref);
int ref_release(struct verifier *v, uint32_t ref);
void ref_drop(struct state *s, uint32_t ref);

/* prune.c: 1: an earlier state covers the current one; 0: continue; < 0: refused */
int prune_at(struct verifier *v, uint32_t pc);
void path_done(struct verifier *v, const struct tally *rest);
void tally_add(struct tally *sum, const struct tally *t);
void tally_max(struct tally *max, const struct tally *t);
/*
 * Iterations of helpers that call back.
 *   rounds_begin()   the helper at the current pc is called
 *   round_end()      an iteration ends
 *   round_covered()  a path ends inside an iteration because the checkpoint covers it
 *   rounds_add()     adds the cost of all iterations that were not walked, at the end of the walk
 */
void rounds_begin(struct verifier *v, uint64_t most);
void round_end(struct verifier *v);
void round_covered(struct verifier *v, const struct checkpoint *c);
void rounds_add(struct verifier *v);
/* Counts the jump at pc for this state. */
void tally_jump(struct verifier *v, struct state *st, uint32_t pc);

/* alu.c */
int do_alu(struct verifier *v, const struct gpubpf_insn *insn);
int do_imm64(struct verifier *v, const struct gpubpf_insn *insn);
int write_reg(struct verifier *v, unsigned int r);
int read_reg(struct verifier *v, unsigned int r);
int leak(struct verifier *v, enum gpubpf_error code, const char *what, ...) __attribute__((format(printf, 3, 4)));
void link_scalars(struct verifier *v, struct reg *r);
void sign_extend(const struct verifier *v, struct scalar *s, unsigned int from, unsigned int width);
const char *type_name(const struct reg *r);

/* memory.c */
int do_load(struct verifier *v, const struct gpubpf_insn *insn);
int do_store(struct verifier *v, const struct gpubpf_insn *insn);
int do_atomic(struct verifier *v, const struct gpubpf_insn *insn);
int check_region(struct verifier *v, const struct reg *p, int64_t off, uint64_t size, bool write, const char *who,
		 struct gpubpf_access *a);
int ptr_offset(const struct reg *p, int64_t off, int64_t *lo, int64_t *hi);
int check_align(struct verifier *v, const struct reg *p, int64_t off, unsigned int size, uint8_t *align);
const struct gpubpf_map *reg_map(const struct verifier *v, const struct reg *r);

/* stack.c */
int stack_load(struct verifier *v, const struct reg *p, int off, unsigned int size, bool sext, struct reg *dst,
	       struct gpubpf_access *a);
int stack_store(struct verifier *v, const struct reg *p, int off, unsigned int size, const struct reg *src,
		struct gpubpf_access *a);
/* Checks memory that a helper reads (initialized) or fills. */
int stack_helper(struct verifier *v, const struct reg *p, uint64_t size, bool write, const char *who,
		 struct gpubpf_access *a);
bool stack_known(struct verifier *v, const struct reg *p, unsigned int size, uint64_t *value);
bool stack_byte(struct verifier *v, const struct reg *p, int off, uint64_t *value);

/* branch.c */
int do_jcond(struct verifier *v, const struct gpubpf_insn *insn);

/* call.c */
int do_call(struct verifier *v, const struct gpubpf_insn *insn);

/* callback.c */
int do_call_local(struct verifier *v, const struct gpubpf_insn *insn);
/* Returns 1 if the path ended. */
int do_exit(struct verifier *v);
int callback_enter(struct verifier *v, const struct gpubpf_helper *h, int map, uint32_t target);

/* facts.c */
int facts_init(struct verifier *v);
void facts_helper(struct gpubpf_facts *f, const struct gpubpf_helper *h); /* records the requirements of a call of h */
void facts_access(struct verifier *v, const struct gpubpf_access *a);
void facts_arg(struct verifier *v, int i, const struct gpubpf_access *a);
void facts_value(struct verifier *v, uint32_t pc, const struct reg *r);
void facts_konst(struct verifier *v, int i, const struct reg *r);
void facts_map_arg(struct verifier *v, int map);
int facts_finish(struct verifier *v);
void access_merge(struct gpubpf_access *to, const struct gpubpf_access *from);

/* simt.c */
int simt_check(struct verifier *v);
int warn(struct verifier *v, uint32_t pc, const char *text, ...) __attribute__((format(printf, 3, 4)));

/* trace.c: all except trace_init() do nothing where v->trace is NULL */
int trace_init(struct verifier *v);
void trace_before(struct verifier *v);
void trace_after(struct verifier *v, bool ended);
void trace_path(struct verifier *v, uint32_t from);
void trace_covered(struct verifier *v);

/* report.c */
void report_fill(struct verifier *v);
int reg_format(const struct verifier *v, const struct reg *r, char *buf, size_t size);

#endif
