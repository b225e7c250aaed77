/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs random programs that the verifier accepts, on the interpreter and on a device. r0 and the contents of all maps
 * must be equal. A program with a difference is minimised and written to a file as a case.
 */
#ifndef GPUBPF_CLI_CONFORMANCE_RANDOM_H
#define GPUBPF_CLI_CONFORMANCE_RANDOM_H

#include "maps/maps.h"
#include "gen.h"
#include "cli/conformance/raw/emit.h"
#include "cli/conformance/suite/suite.h"

#define RANDOM_GROUP 512         /* maximum number of programs in a module */
#define RANDOM_INPUTS 8          /* number of inputs with which a device runs each program */

struct random_program {
	struct gpubpf_raw_insn insns[GEN_INSNS];
	uint32_t n;
	uint32_t begin[GEN_PARTS]; /* index of each part's first instruction (gen_program()) */
	uint64_t launch;           /* the program's input: the launch number, by which the maps are filled too */
	/* compile for a CPU without optimisation, in a fifth of the time; equal for all programs of a module */
	bool unoptimised;
};

/* the result of running a program */
struct random_outcome {
	bool differs;
	bool left_out;      /* the Linux kernel's verifier refuses the program */
	uint64_t launch;    /* the launch number with which the results differ */
	uint64_t want, got; /* want: r0 of the interpreter; got: r0 of the device */
	char what[256];     /* the first difference between maps; "": there is none */
};

/* -- group.c: programs that are verified together -- */

struct random_group {
	struct gpubpf_unit unit; /* one unit with all programs */
	struct gpubpf_map maps[GEN_NMAPS];
	struct gpubpf_prog progs[RANDOM_GROUP];
	struct gpubpf_unit owners[RANDOM_GROUP];
	uint64_t launch[RANDOM_GROUP];
	uint32_t n;
	uint32_t map_use[GEN_NMAPS];
	struct gpubpf_layout layout;
	size_t size; /* size of the arena in bytes; the run record (struct gpubpf_run) follows the maps */
};

uint32_t random_parts(const struct random_program *program);
/* Does the program tail-call its other parts? Then only 32 bits of r0 are compared. */
bool random_has_tail_calls(const struct random_program *program);
/* Does the verifier accept the program? */
bool random_is_proven(const struct random_program *program);
/* Generate the program of a seed and kind. The verifier accepts it. */
void random_make(uint64_t seed, enum gen_kind kind, struct random_program *program);
/*
 * Create a group of proven programs. Returns 0, or -errno with a diagnostic; call random_group_finish() in both cases.
 */
int random_group_init(struct random_group *g, const struct random_program *const *programs, uint32_t n,
		      struct gpubpf_diag *diag);
void random_group_finish(struct random_group *g);
/* Reset the arena to the initial state of program i. */
void random_reset(struct random_group *g, uint32_t i, void *arena);
/* Fill in the context of the thread for a launch number. */
void random_ctx(uint64_t launch, struct gpubpf_ctx *ctx);
/*
 * Run program i on the interpreter. Returns 0, or -errno with a diagnostic if the interpreter stopped the program
 * although it is proven.
 */
int random_run_host(struct random_group *g, uint32_t i, void *arena, uint64_t *r0, struct gpubpf_diag *diag);

/* -- compare.c -- */

/*
 * Do the maps of two arenas differ for their readers or, with `all`, also in words that readers do not see? Describes
 * the first difference. May remove the contents of rings and queues.
 */
bool random_differs(const struct random_group *g, void *host, void *device, bool all, char *what, size_t size);

/* -- linux.c: the Linux kernel instead of a device -- */

/* Can programs run on this Linux kernel by BPF_PROG_TEST_RUN? Returns 0 or -errno. */
int random_check_linux(void);
/* Run programs like random_run_group(), on the Linux kernel. Afterwards the calling thread stays pinned to its CPU. */
int random_run_linux(const struct random_program *const *programs, uint32_t n, struct random_outcome *outcomes,
		     struct gpubpf_reason *why);

/* -- device.c -- */

/* Run all programs as one module; if d has no operations, on the Linux kernel. Returns 0, or -errno with the reason. */
int random_run_group(const struct conformance_device *d, const struct random_program *const *programs, uint32_t n,
		     struct random_outcome *outcomes, struct gpubpf_reason *why);

/* -- minimise.c -- */

/*
 * Remove instructions from a program as long as its results still differ. *outcome becomes the result of the remaining
 * program.
 */
void random_minimise(const struct conformance_device *d, struct random_program *program, struct random_outcome *outcome);

/*
 * -- random.c: run the case of an index on a device: its fixed program, or the random programs that the run requests --
 */

void random_run(const struct suite_run *run, struct suite_device *device, uint32_t index,
		const struct conformance_opts *opts);

#endif
