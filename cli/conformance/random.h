/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs that the verifier accepts, on the interpreter and on a device: r0 and what readers find in all maps must
 * be the same. One that differs is made smaller while it does, and written down as a case.
 */
#ifndef GPUBPF_CLI_CONFORMANCE_RANDOM_H
#define GPUBPF_CLI_CONFORMANCE_RANDOM_H

#include "maps/maps.h"
#include "random_gen.h"
#include "raw_emit.h"
#include "suite.h"

#define RANDOM_GROUP 512         /* programs in a module at most */
#define RANDOM_INPUTS 8          /* with which a device runs each */

struct random_program {
	struct gpubpf_raw_insn insns[GEN_INSNS];
	uint32_t n;
	uint32_t begin[GEN_PARTS]; /* of its parts (gen_program()) */
	uint64_t launch;         /* the launch's number, which fills the maps and is read by programs */
	bool unoptimised;        /* by a CPU's compiler, which takes a fifth of the time then; those of a module alike */
};

/* what came of a program */
struct random_outcome {
	bool differs;
	bool left_out;           /* the Linux kernel's verifier refuses it */
	uint64_t launch;         /* the input that it differs with */
	uint64_t want, got;      /* r0 of the interpreter, of the device */
	char what[256];          /* the first difference in maps; "": none */
};

/* -- random_group.c: programs that are proven together -- */

struct random_group {
	struct gpubpf_unit unit; /* of all */
	struct gpubpf_map maps[GEN_NMAPS];
	struct gpubpf_prog progs[RANDOM_GROUP];
	struct gpubpf_unit owners[RANDOM_GROUP];
	uint64_t launch[RANDOM_GROUP];
	uint32_t n;
	uint32_t map_use[GEN_NMAPS];
	struct gpubpf_layout layout;
	size_t size;             /* of the arena, with the record of the run behind the maps */
};

uint32_t random_parts(const struct random_program *program);
/* Does it go on in its parts? Then r0 has 32 bits. */
bool random_goes_on(const struct random_program *program);
/* Does the verifier take it? */
bool random_is_proven(const struct random_program *program);
/* The program of that seed and kind, one that it takes. */
void random_make(uint64_t seed, enum gen_kind kind, struct random_program *program);
/* Of proven programs. 0, or -errno with a diagnostic; to be finished either way. */
int random_group_init(struct random_group *g, const struct random_program *const *programs, uint32_t n,
		      struct gpubpf_diag *diag);
void random_group_finish(struct random_group *g);
/* The arena as program i begins with it. */
void random_reset(struct random_group *g, uint32_t i, void *arena);
/* What a program is told of its thread. */
void random_ctx(uint64_t launch, struct gpubpf_ctx *ctx);
/* 0, or -errno with a diagnostic: the interpreter stopped a proven program. */
int random_run_host(struct random_group *g, uint32_t i, void *arena, uint64_t *r0, struct gpubpf_diag *diag);

/* -- random_compare.c -- */

/* Do maps differ as their readers see them, and `all`: in what they keep beside that? The first difference then, in words.
 * May take what is in rings and queues. */
bool random_differs(const struct random_group *g, void *host, void *device, bool all, char *what, size_t size);

/* -- random_linux.c: the Linux kernel in the place of a device -- */

/* Can it be asked? 0 or -errno. */
int random_ask_linux(void);
/* As random_run_group(); the calling thread stays on its CPU from then on. */
int random_run_linux(const struct random_program *const *programs, uint32_t n, struct random_outcome *outcomes,
		     struct gpubpf_why *why);

/* -- random_device.c -- */

/* All programs, as one module; on the Linux kernel where the device has no ops. 0, or -errno with the reason. */
int random_run_group(const struct conformance_device *d, const struct random_program *const *programs, uint32_t n,
		     struct random_outcome *outcomes, struct gpubpf_why *why);

/* -- random_minimise.c -- */

/* Leave out of a program what it differs without; *outcome becomes that of what is left. */
void random_minimise(const struct conformance_device *d, struct random_program *program, struct random_outcome *outcome);

/* -- random.c: the case of that index on a device: its program, or as many from the run's seed on as the run asks for -- */

void random_run(const struct suite_run *run, struct suite_device *device, uint32_t index,
		const struct conformance_opts *opts);

#endif
