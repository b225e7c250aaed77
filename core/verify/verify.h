/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the verifier's files share. docs/reference/verifier.md describes the algorithm.
 *
 *   verify.c  the walk over all paths            cfg.c     functions, reachability, live registers
 *   state.c   registers, frames, marks           prune.c   when an earlier state covers a state
 *   alu.c     arithmetic, pointers included      memory.c  loads, stores and atomics
 *   stack.c   stack slots                        branch.c  comparisons and their consequences
 *   facts.c   facts for lowering                 report.c  diagnostics
 *   cost.c    worst-case cost and iterations     uniform.c values that are equal in all lanes
 *   simt.c    rules that depend on uniformity    wait.c    loops that wait for other lanes
 *   limits.c  limits of one target               trace.c   the walk, line by line
 *   call.c, args.c    calls of helpers and functions, and their arguments
 *   callback.c, format.c, iterator.c, dynptr.c  what such calls add: callbacks, formats, iterators, dynptrs
 *   ranges/           partly known numbers
 */
#ifndef GPUBPF_VERIFY_VERIFY_H
#define GPUBPF_VERIFY_VERIFY_H

#include "core/model/diag.h"
#include "core/model/facts.h"
#include "core/model/prog.h"
#include "core/verify/ranges/range.h"

#define MAX_OFFSET (1 << 29)      /* absolute limit of a pointer's offset: the sum of two never overflows */
#define MAX_SLOTS (GPUBPF_STACK_SIZE / 8)
#define MAX_PENDING 8192          /* maximum number of queued branches */
#define MAX_REFS 16
#define MAX_LOOPS 8               /* maximum number of back edges whose iterations are counted */
/* maximum number of calls of helpers with callbacks, of bpf_iter_num_next() and of may_goto, whose iterations are counted */
#define MAX_CALLING 16
#define MAX_ROUNDS (GPUBPF_MAX_FRAMES + MAX_CALLING)

/* remedy for a program that dereferences a kernel's argument */
#define NO_DEVICE_MEMORY \
	"read memory that a kernel's argument points to with bpf_probe_read_kernel(&to, " \
	"size, ctx->arg[i]), and a struct that is passed by value with bpf_gpu_read_arg(); " \
	"read other fields directly (ctx->launch)"

enum reg_type {
	R_UNINIT,
	R_SCALAR,
	R_CTX,
	R_MAP,   /* a map itself */
	R_VALUE, /* a pointer into a map value */
	R_STACK,
	R_RECORD, /* a pointer into a reserved ring-buffer record */
	R_KEY,    /* a read-only pointer to the key that for_each_map_elem passes to its callback */
	/*
	 * a pointer into memory of a known size: from helper 531, from a dynptr, or the block of plain_mem (struct
	 * gpubpf_verify_opts)
	 */
	R_MEM,
	R_FUNC,   /* the address of a function, for a callback */
	R_INT,    /* a read-only pointer to the number of an iterator */
	R_ITER,   /* an iterator, only in stack slots */
	R_DYNPTR, /* a half of a dynptr, only in stack slots */
};

/*
 * The known content of a register or of a spilled slot. For a number, `mark` records whether a bound, a branch or a
 * size depends on it. When states are compared, numbers on which nothing depends are ignored (state.c).
 */
struct reg {
	uint8_t type; /* enum reg_type */
	bool or_null; /* the register holds this pointer or NULL */
	/*
	 * STACK, INT: call depth of the frame into which the pointer points. DYNPTR, MEM of a dynptr: alignment of the
	 * memory in bytes
	 */
	uint8_t frame;
	/*
	 * SCALAR: if not 0, the number is the sum of the other numbers with its id and `off`, computed with 4 or 8
	 * bytes
 */
	uint8_t linked;
	int16_t map; /* VALUE, MAP, RECORD, KEY, DYNPTR, MEM of a dynptr: index of the map in the unit */
	/*
	 * SCALAR: registers with equal ids hold equal numbers. or_null: pointers with equal ids are all NULL or all not
	 * NULL
 */
	uint32_t id;
	/*
	 * RECORD: reference that must be released. ITER, INT: id of the iterator. DYNPTR, MEM of a dynptr: id of the
	 * dynptr, for a ring the reference. UNINIT: the reference that was released, or 0
	 */
	uint32_t ref;
	int32_t off; /* pointers: known part of the offset; s is the unknown part */
	/*
	 * size of a RECORD or MEM in bytes, or pc of a FUNC. ITER: maximum number of further numbers. INT: stack offset
	 * of its iterator. DYNPTR: 1 for the upper half
	 */
	uint32_t size;
	uint32_t mark; /* SCALAR: index of the precision mark, or 0 */
	struct scalar s;
};

enum byte_kind {
	B_INVALID, /* never written */
	B_MISC,    /* an unknown number */
	B_ZERO,
	B_SPILL,  /* a byte of slot.reg */
	B_UPPER,  /* a byte of slot.upper */
	B_ITER,   /* a byte of an iterator; all bytes of the slot are of this kind */
	B_DYNPTR, /* a byte of a dynptr; all bytes of two slots are of this kind */
};

#define UPPER 4 /* index of the first byte of a slot's upper half */

struct stack_slot {      /* 8 bytes of the stack */
	uint8_t kind[8]; /* enum byte_kind of each byte, from the lowest address */
	/* liveness mark, set if the slot is read; 0: all bytes were written since the last checkpoint */
	uint32_t read;
	struct reg reg;
	struct reg upper; /* a number of up to 4 bytes that was spilled to the slot's upper half */
};

struct frame {
	struct reg regs[GPUBPF_NREGS];
	uint32_t callsite; /* pc of the call in the caller's frame */
	uint16_t func;
	uint16_t nslots;          /* number of slots from r10 downwards; the bytes below them were never written */
	struct stack_slot *slots; /* slot i covers [-8 (i + 1), -8 i) from r10 */
	bool called_back;         /* this frame belongs to a callback, called by the helper at callsite */
	uint32_t nrefs;           /* for a callback: number of reserved records when it began */
	uint32_t rounds;          /* number of iterations so far of the helper with a callback that this frame calls */
	uint32_t rounds_id;       /* number of this or the next call of a helper with a callback */
	uint32_t id;              /* number of this call of the function */
	uint32_t may_left;        /* number of further may_goto that do not jump */
};

/*
 * The cost of a part of a path. The arrays trips and calls count how often this part takes each back edge, and how
 * often it calls each helper with a callback.
 */
struct tally {
	struct gpubpf_cost cost;
	uint32_t trips[MAX_LOOPS];
	uint32_t calls[MAX_CALLING];
};

/* An instruction of calls_back or advances: its maximum number of iterations, and the cost of one iteration. */
struct calling {
	uint32_t pc;
	uint64_t rounds;
	struct tally round;
};

struct state {
	uint32_t nframes;
	struct frame *frame[GPUBPF_MAX_FRAMES];
	uint32_t refs[MAX_REFS];
	uint32_t nrefs;
	struct checkpoint *parent; /* last checkpoint of the path */
	struct tally tally;        /* cost since that checkpoint */
};

/* A state that was stored at an instruction where paths merge. */
struct checkpoint {
	struct checkpoint *next; /* next checkpoint at the same pc */
	struct checkpoint *all;  /* list of all checkpoints, to free them */
	struct checkpoint *parent;
	struct state *state; /* stored state; NULL after it was discarded */
	struct tally rest;   /* worst case from here to the end of the program */
	/*
	 * [MAX_ROUNDS], by frame, then by 'calling': worst case from here to the end of the current iteration, or NULL if
	 * no iteration has ended
	 */
	struct tally *round;
	struct tally from_parent;
	uint32_t pc;
	uint32_t branches; /* number of paths from here that have not ended */
	uint32_t hits, misses;
};

struct pending {
	struct state *state;
	uint32_t pc, from;
};

struct mark {
	uint32_t from[2]; /* indices of the input marks; 0: none */
	bool on;
};

struct value_note { /* A constant result that is a fact only if its mark is set at the end. */
	uint32_t pc, mark;
	int8_t arg; /* index of the call's argument; -1: the result */
};

struct insn_aux {
	bool prune;      /* paths merge here, so checkpoints are stored here */
	bool leader;     /* first instruction of a basic block */
	uint8_t seen;    /* for a JCOND: bit 0 is set if a path fell through, bit 1 if a path took the jump */
	bool calls_back; /* a call of a helper with a callback */
	bool advances;   /* a call of bpf_iter_num_next(), or a may_goto */
	/* 1 + index in verifier.calling; 0: none, or more than MAX_CALLING */
	uint8_t calling;
	uint8_t ptr_kind;    /* kind of memory that the instruction accesses: 1 = the context, 2 = other memory */
	uint8_t value_state; /* state of the result: 0 = none yet, 1 = always the same number so far, 2 = varies */
	uint8_t arg_state[5];
	uint16_t live; /* set of registers that are live before the instruction */
	uint8_t loop;  /* for a back edge: 1 + its index, or 0 beyond MAX_LOOPS */
	uint16_t func;
	uint32_t walked;
	bool outside;   /* a call with a constant index outside of its array */
	uint32_t index; /* index of that call */
	struct checkpoint *saved;
};

struct func_info {
	uint32_t first, end;
	uint32_t stack; /* number of stack bytes that the function accesses */
	bool called_back;
	/* size in bytes of the deepest call chain from here on; `height` is its number of frames */
	uint32_t height_stack;
	uint32_t height;
	uint8_t colour;
};

/* A function for tests that observes the verifier before each walked instruction. */
struct verifier;
struct watch {
	void (*fn)(void *arg, const struct verifier *v);
	void *arg;
	/* compare all numbers as if their marks were set, so that an observed state includes each state of a path */
	bool compare_all;
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
	/* the program has an instruction of verifier.calling, so comparisons of states ignore marks (prune.c) */
	bool compare_all;
	bool no_memory;
	bool reads_texts; /* the helper reads an array whose pointers are checked texts (core/verify/format.c) */
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

/* Like gpubpf_verify(), with an observer. */
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
/*
 * Returns the slot that covers the byte at offset `off` (negative) of the frame, or NULL if nothing was written there.
 */
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
/* Calls fn for every register and spilled slot of a state, in all frames. */
typedef void (*reg_fn)(struct verifier *v, struct reg *r, void *arg);
void state_each_reg(struct verifier *v, struct state *s, reg_fn fn, void *arg);
int ref_acquire(struct verifier *v, uint32_t *ref);
int ref_release(struct verifier *v, uint32_t ref);
void ref_drop(struct state *s, uint32_t ref);

/* prune.c: returns 1 if an earlier state covers the current state, 0 to continue, or < 0 if the program is refused */
int prune_at(struct verifier *v, uint32_t pc);
void path_done(struct verifier *v, const struct tally *rest);
void tally_add(struct tally *sum, const struct tally *t);
void tally_max(struct tally *max, const struct tally *t);
/*
 * Iterations of helpers with callbacks:
 *   rounds_begin()   the helper at the current pc is called
 *   round_end()      an iteration ends
 * round_covered()  a path ends inside an iteration because checkpoint c covers it
 * rounds_add()     at the end of the walk, adds the cost of all iterations that were not walked
 */
void rounds_begin(struct verifier *v, uint64_t most);
void round_end(struct verifier *v);
void round_covered(struct verifier *v, const struct checkpoint *c);
/* Ends an iteration of an instruction that advances, and begins the next one. The current path arrives at pc. */
void rounds_arrive(struct verifier *v, uint32_t pc);
void rounds_add(struct verifier *v);
/* Counts that this state takes the jump at pc. */
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
/*
 * Checks stack memory that a helper fills (`write`) or reads. The memory must be initialized if the helper reads it, or
 * if the helper may fill only a part of it.
 */
int stack_helper(struct verifier *v, const struct reg *p, uint64_t size, bool write, const char *who,
		 struct gpubpf_access *a);
/*
 * Checks that p points to a slot of 8 bytes at a constant offset, which holds an iterator or, if `fresh`, becomes one.
 * Returns the slot in *slot.
 */
int stack_iterator(struct verifier *v, const struct reg *p, bool fresh, const char *who, struct gpubpf_access *a,
		   struct stack_slot **slot);
/* Checks that p + [0, size) is inside of the stack, and describes the access in *a. */
int stack_reach(struct verifier *v, const struct reg *p, uint64_t size, struct gpubpf_access *a);
bool stack_known(struct verifier *v, const struct reg *p, unsigned int size, uint64_t *value);
bool stack_byte(struct verifier *v, const struct reg *p, int off, uint64_t *value);

/* branch.c */
int do_jcond(struct verifier *v, const struct gpubpf_insn *insn);

/* core/verify/format.c: r1 to r5 are the arguments of helper h. */
/* Checks the conversions of a constant format in r1. */
int format_check(struct verifier *v, const struct gpubpf_helper *h);
/* Returns true if the format in r1 prints a value, counted from 0, with %s. */
bool format_prints_text(struct verifier *v, int value);
/* Checks a text that lies in a map. The host reads it there, so the words of the value must be contiguous. */
int format_check_text(struct verifier *v, const struct reg *p, int i, const struct gpubpf_helper *h);
/* Checks the texts to which words of the array in r3 point, and sets v->reads_texts if all pointers are texts. */
int format_check_texts(struct verifier *v, const struct gpubpf_helper *h);
int format_check_written(struct verifier *v, const struct gpubpf_helper *h);

/* core/verify/iterator.c */
/* Checks argument i of a helper, an iterator. */
int iter_check_arg(struct verifier *v, const struct gpubpf_helper *h, int i);
/* Walks a call of a helper on iterators whose arguments are checked. */
int iter_call(struct verifier *v, const struct gpubpf_helper *h);
int do_may_goto(struct verifier *v, const struct gpubpf_insn *insn);
bool has_iterator(const struct frame *f);
/*
 * The loop of an instruction that advances: its id, and the maximum number of further iterations. The id is that of the
 * iterator, or of the current call of the function. It is 0 if the iterator is unknown.
 */
struct loop_state {
	uint32_t id, left;
};
struct loop_state loop_at(const struct verifier *v, const struct state *s, uint32_t pc);

/* core/verify/dynptr.c */
/* Checks argument i of a helper, a dynptr. */
int dynptr_check_arg(struct verifier *v, const struct gpubpf_helper *h, int i);
/*
 * Makes the memory at `at` a dynptr of the map. `data` is the pointer to its memory, or NULL for a record, to which the
 * dynptr then holds a reference.
 */
int dynptr_begin(struct verifier *v, const struct reg *at, const struct reg *data, int map);
int dynptr_end(struct verifier *v, const struct reg *at);
/* Sets *r0 to `size` bytes at `offset` of the dynptr, or NULL. */
int dynptr_slice(struct verifier *v, const struct reg *at, const struct reg *offset, uint64_t size, struct reg *r0);
/* Ends the dynptrs that a write to the bytes [lo, end) of the frame overwrites. Refuses the write for a record. */
int dynptr_overwrite(struct verifier *v, struct frame *f, int lo, int end);

/* core/verify/call.c */
int do_call(struct verifier *v, const struct gpubpf_insn *insn);

/* core/verify/callback.c */
int do_call_local(struct verifier *v, const struct gpubpf_insn *insn);
/* Returns 1 if the path ended. */
int do_exit(struct verifier *v);
/* Makes numbers of `now` unknown that differ from `before` and on which no check relied. */
void widen_state(struct verifier *v, struct state *now, const struct state *before);
int callback_enter(struct verifier *v, const struct gpubpf_helper *h, int map, uint32_t target);

/* facts.c */
int facts_init(struct verifier *v);
void facts_helper(struct gpubpf_facts *f, const struct gpubpf_helper *h); /* records what a call of helper h requires */
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

/* trace.c: if v->trace is NULL, all these functions except trace_init() do nothing */
int trace_init(struct verifier *v);
void trace_before(struct verifier *v);
void trace_after(struct verifier *v, bool ended);
void trace_path(struct verifier *v, uint32_t from);
void trace_covered(struct verifier *v);

/* report.c */
void report_fill(struct verifier *v);
int reg_format(const struct verifier *v, const struct reg *r, char *buf, size_t size);

#endif
