/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the checker: the state of a twin that is being checked. */
#ifndef GPUBPF_SASS_CHECK_WORK_H
#define GPUBPF_SASS_CHECK_WORK_H

#include "check.h"
#include "backends/cuda/sass/isa/form.h"
#include "backends/cuda/sass/isa/scoreboard.h"
#include "backends/cuda/sass/rewrite/insn_probe.h"
#include "backends/cuda/sass/rewrite/twin.h"

#define SASS_CHECK_PREDICATE_CYCLES 8       /* cycles in a stub, after the branch to it, until the kernel's writes of predicates
                                    * are complete */

struct checked {
	const struct sass_code *code;      /* of the kernel */
	uint32_t regs, text, info;         /* the kernel's registers, its code section, and its .nv.info.<kernel> */
	struct sass_cubin twin;
	const uint8_t *bytes;
	uint32_t n, stubs;                 /* instructions before the stubs of single instructions; the first one added,
	                                    * after the kernel's code or at its last EXIT */
	uint32_t all;                      /* number of all instructions; the stubs of single instructions are from n
	                                    * on */
	uint32_t at, moved;                /* the kernel's instruction that branches to the entry's probe, and where it
	                                    * executes */
	uint32_t new_regs, entry, exit;    /* the twin's registers; first instructions of the probes, SASS_NONE: none */
	uint32_t asks, apart;              /* the branch of an exit's probe for lanes without their whole warp, and its
	                                    * target; SASS_NONE: none */
	bool counts;                       /* it counts a block's lanes */
	const struct sass_insn_probes *around;
	const struct sass_cubin *app;
	const struct sass_binding *bindings; /* addresses that the agent fills in */
	uint32_t nbindings;
	uint8_t *met;                      /* malloc'd: flags of enum sass_stub_flag, per instruction from n on */
	bool *placed;                      /* malloc'd: per instruction of the kernel, whether it branches to a stub */
	uint32_t *stands;                  /* malloc'd: the instruction that branches there: itself, or its copy in
	                                    * another probe */
	struct gpubpf_diag *diag;
};

enum sass_stub_flag { SASS_IN_STUB = 1, SASS_IN_STUB_OWN = 2 }; /* it belongs to a stub; it is the kernel's instruction, executed
                                                   * there */

/* Sets the diagnostic: the instruction at index `at` is wrong. Returns -EINVAL. */
int sass_check_fail(struct checked *c, uint32_t at, const char *what);
/* The target of a branch, which may be anywhere. */
int64_t sass_check_target(const struct checked *c, uint32_t i);
/* The lowest register that the instructions use, and one above the highest. */
void sass_check_find_reg_span(const struct checked *c, uint32_t from, uint32_t to, uint32_t *low, uint32_t *top);
/* The instruction of an exit's probe that waits for the kernel's operations in flight. If the kernel falls through into
 * the probe, it is the second one: the first does not see yet a scoreboard that the kernel has just set. */
uint32_t sass_check_wait_index(const struct checked *c);
/* Scoreboards that an exit's probe waits for at its start; scoreboards that guard what the entry's probe leaves in
 * flight. */
unsigned sass_check_exit_waits(const struct checked *c);
unsigned sass_check_entry_pending(const struct checked *c);

/* Every predicate that the kernel writes with variable latency has a scoreboard, except in instructions moved into a
 * stub. */
int sass_check_predicate_boards(struct checked *c);

/* Is it the kernel's instruction, executed where a probe has put it? */
bool sass_check_is_moved(const struct checked *c, uint32_t i);

static inline struct sass_insn insn_at(const struct checked *c, uint32_t i)
{
	return sass_read(c->bytes + (size_t)i * SASS_INSN);
}

static inline bool same(struct sass_insn a, struct sass_insn b)
{
	return a.lo == b.lo && a.hi == b.hi;
}

/* Does `is` differ only by a scoreboard that `was` lacks? */
static inline bool has_added_board(struct sass_insn was, struct sass_insn is)
{
	return sass_lacks_board(was) && same(is, sass_with_board(was, SASS_PROBE_SB));
}

/* -- pass: the kernel's instructions are unchanged -- */
int sass_check_kernel_insns(struct checked *c);
/* Is it unchanged, or does it only have an added scoreboard? */
bool sass_check_is_unchanged(const struct checked *c, struct sass_insn was, struct sass_insn is);
/* Is it a branch of all lanes, with no other bits set? */
bool sass_check_is_bare_branch(const struct checked *c, uint32_t i);

/* -- pass: stubs of instruction probes -- */
int sass_check_insn_probes(struct checked *c);

/* -- pass: stubs of reads of __constant__ variables -- */
int sass_check_constant(struct checked *c);

/* -- pass: after the other code there are only stubs of these two passes -- */
int sass_check_unclaimed(struct checked *c);

/* -- pass: the code counts a block's lanes on every path, in memory that nothing else uses -- */
int sass_check_counting(struct checked *c);
/* -- pass: no callee of the kernel reads the size of that memory -- */
int sass_check_callee_sizes(struct checked *c, const struct sass_kernel *kernel);

/* -- pass: the instructions, barriers, branches and registers of probes -- */
int sass_check_added_insns(struct checked *c);

/* -- pass: the entry's probe preserves the kernel's registers -- */
int sass_check_entry(struct checked *c);

/* -- pass: an exit's probe waits for the kernel's operations in flight -- */
int sass_check_exit(struct checked *c);

/* -- pass: no operation without a scoreboard is in flight where an exit's probe writes its registers -- */
int sass_check_flight(struct checked *c);

/* -- pass: registers that an exit's probe only reads hold lasting values of the entry's probe -- */
int sass_check_reused_values(struct checked *c);

/* -- pass: a probe waits for its own operations in flight -- */
int sass_check_pending(struct checked *c);

/* -- pass: probes keep the latencies that the hardware does not check -- */
int sass_check_timing(struct checked *c);

/* -- pass: the twin's list of exits matches its code -- */
int sass_check_exit_list(struct checked *c);

/* -- pass: relocations of the twin's code, and copies of the functions that it calls. -ENOMEM too. -- */
int sass_check_texts(struct checked *c, const struct sass_kernel *kernel);

#endif
