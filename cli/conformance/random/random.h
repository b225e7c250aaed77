/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs random programs that the verifier accepts, both on the interpreter and on a device. The result r0 and the
 * contents of all maps must be equal. A program whose results differ is minimised and written to a file as a case.
 */
#ifndef GPUBPF_CLI_CONFORMANCE_RANDOM_H
#define GPUBPF_CLI_CONFORMANCE_RANDOM_H

#include "maps/maps.h"
#include "gen.h"
#include "cli/conformance/raw/emit.h"
#include "cli/conformance/suite/suite.h"

#define RANDOM_GROUP 512         /* maximum number of programs in one module */
#define RANDOM_INPUTS 8          /* number of inputs with which each program runs on a device */

struct random_program {
	struct gpubpf_raw_insn insns[GEN_INSNS];
	uint32_t n;
	uint32_t begin[GEN_PARTS]; /* index of each part's first instruction (gen_program()) */
	/* the program's input: the launch number, which is also the seed of the maps' contents */
	uint64_t launch;
	/*
	 * Compile for a CPU without optimisation, which takes a fifth of the time. All programs of a module have the
	 * same setting.
	 */
	bool unoptimised;
	bool is_run; /* a program of kind GEN_DIRECT */
};

/* the results of a program on the interpreter and on a device */
struct random_outcome {
	bool differs;
	bool left_out;      /* the Linux kernel's verifier refuses the program, so it did not run there */
	uint64_t launch;    /* the program's launch number in the run to which the other members belong */
	uint64_t want, got; /* want: r0 of the interpreter; got: r0 of the device */
	char what[256];     /* description of the first difference between maps; "": no map differs */
};

/* -- group.c: programs that are verified together -- */

struct random_group {
	struct gpubpf_unit unit; /* a unit that contains all programs */
	struct gpubpf_map maps[GEN_NMAPS];
	struct gpubpf_prog progs[RANDOM_GROUP];
	struct gpubpf_unit owners[RANDOM_GROUP];
	uint64_t launch[RANDOM_GROUP];
	uint32_t n;
	uint32_t map_use[GEN_NMAPS];
	struct gpubpf_layout layout;
	size_t size; /* size of the arena in bytes. The run record (struct gpubpf_run) follows the maps. */
};

uint32_t random_parts(const struct random_program *program);
/* Returns true if the program tail-calls its other parts. Then only 32 bits of r0 are compared. */
bool random_has_tail_calls(const struct random_program *program);
/* Returns true if the verifier accepts the program. */
bool random_is_proven(const struct random_program *program);
/* Generate the program for a seed and a kind. The verifier accepts the program. */
void random_make(uint64_t seed, enum gen_kind kind, struct random_program *program);
/*
 * Create a group of proven programs. Returns 0, or -errno with a diagnostic. Call random_group_finish() in both cases.
 */
int random_group_init(struct random_group *g, const struct random_program *const *programs, uint32_t n,
		      struct gpubpf_diag *diag);
void random_group_finish(struct random_group *g);
/* Reset the arena to the state in which program i starts. */
void random_reset(struct random_group *g, uint32_t i, void *arena);
/* Fill in the context that a program gets in the launch with this number. */
void random_ctx(uint64_t launch, struct gpubpf_ctx *ctx);
/*
 * Run program i on the interpreter. Returns 0, or -errno with a diagnostic if the interpreter stopped the program,
 * which a proven program must not cause.
 */
int random_run_host(struct random_group *g, uint32_t i, void *arena, uint64_t *r0, struct gpubpf_diag *diag);

/* -- compare.c -- */

/*
 * Returns true if the maps of two arenas differ for readers, and describes the first difference in `what`. With `all`,
 * parts of maps that readers do not see are compared too. The comparison may remove the contents of rings and queues.
 */
bool random_differs(const struct random_group *g, void *host, void *device, bool all, char *what, size_t size);

/* -- linux.c: runs programs on the Linux kernel instead of a device -- */

/* Check that this Linux kernel can run programs with BPF_PROG_TEST_RUN. Returns 0 or -errno. */
int random_check_linux(void);
/* Like random_run_group(), on the Linux kernel. Afterwards the calling thread stays pinned to its CPU. */
int random_run_linux(const struct random_program *const *programs, uint32_t n, struct random_outcome *outcomes,
		     struct gpubpf_reason *why);

/* -- device.c -- */

/*
 * Run all programs as one module. If d->ops is NULL, run them on the Linux kernel. Returns 0, or -errno with the
 * reason.
 */
int random_run_group(const struct conformance_device *d, const struct random_program *const *programs, uint32_t n,
		     struct random_outcome *outcomes, struct gpubpf_reason *why);

/* -- minimise.c -- */

/*
 * Remove instructions from a program as long as its results still differ. Stores the result of the remaining program in
 * *outcome.
 */
void random_minimise(const struct conformance_device *d, struct random_program *program, struct random_outcome *outcome);

/* -- direct.c: runs random programs of kind GEN_DIRECT by gpubpf_prog__test_run(), for the run's seeds -- */

void random_run_direct(const struct suite_run *run, const struct suite_device *device, struct suite_result *result);

/* -- random.c: runs one case on a device: the program in the case, or random programs -- */

void random_run(const struct suite_run *run, struct suite_device *device, uint32_t index,
		const struct conformance_opts *opts);

#endif
