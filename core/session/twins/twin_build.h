/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a twin's build in a builder's thread. All steps of the build share it. */
#ifndef GPUBPF_CORE_SESSION_TWIN_MAKE_H
#define GPUBPF_CORE_SESSION_TWIN_MAKE_H

#include "core/model/diag.h"
#include "build_pool.h"

struct gpubpf_twin_build {
	const struct gpubpf_session *s;
	struct gpubpf_worker_set *set;
	const struct gpubpf_twin_req *req;
	const struct gpubpf_image *image;
	struct gpubpf_twin *twin;
	struct gpubpf_diag diag;
	uint64_t start_ns;

	const struct gpubpf_target_info *target; /* target that builds the twin from the image */
	/* target that emits the probes, if the route has a job that only emits; else NULL */
	const struct gpubpf_target_info *emitter;
	struct gpubpf_kernel_info *infos;
	uint32_t ninfos;
	/* The selected programs of each place, from gpubpf_twin_build_select_sites(). */
	struct gpubpf_site_desc *sites;
	uint32_t *site_kernel; /* [nsites]: index of the site's kernel in twin->kernels */
	uint32_t *progs;       /* indexes of programs in the unit; sites[].progs points into this array */
	uint32_t nsites, nprogs;
	struct gpubpf_insertions insertions;

	char *answer;                 /* answer of the device's compiler to the target's query; owned */
	struct gpubpf_image answered; /* the image with that answer, set by gpubpf_twin_build_query() */

	struct gpubpf_twin_image probes; /* output of the stages emit and assemble, one piece; input of inject */
	struct gpubpf_twin_image pieces; /* the twin after the stage inject */

	const char *after;        /* pass or stage after which the build ends (kernel dump); NULL: build completely */
	struct gpubpf_blob *dump; /* receives the code after that pass or stage */
};

/*
 * Implemented in select_sites.c. Select the sites of each kernel and their places, or store why a kernel has no sites.
 * Returns 0 or -ENOMEM.
 */
int gpubpf_twin_build_select_sites(struct gpubpf_twin_build *m);
/* Returns the worker that inspects the image and injects probes into it. */
struct gpubpf_worker *gpubpf_twin_build_reader(const struct gpubpf_twin_build *m);
/*
 * Implemented in assemble.c. Assemble the text of probes with the user's assembler, instead of GPUBPF_WORKER_ASSEMBLE.
 * Returns -ENOENT if the user has no assembler.
 */
int gpubpf_twin_build_assemble_probes(struct gpubpf_twin_build *m, const struct gpubpf_twin_piece *text,
				      struct gpubpf_twin_image *code, char *log, size_t log_size);
/* Store the most useful line of a compiler's log in buf: the first error, or else the last line. */
void gpubpf_compiler_log_summary(const char *log, char *buf, size_t size);
/* twin_build.c */
/* Refuse the kernels that the worker refused when it made m->pieces. */
void gpubpf_twin_build_apply_refusals(struct gpubpf_twin_build *m);
/* Run the steps of m->target's route up to m->after. Returns 0, or -errno with a diagnostic in m->diag. */
int gpubpf_twin_build_run(struct gpubpf_twin_build *m);
/* Free everything that a build allocated in *m. */
void gpubpf_twin_build_finish_state(struct gpubpf_twin_build *m);
/* Returns the next target after `last` (NULL: the first) that accepts the image and that the user allows. */
const struct gpubpf_target_info *gpubpf_twin_build_next_target(const struct gpubpf_twin_build *m,
							       const struct gpubpf_target_info *last);
/* If the time limit for building the twin has passed, refuse the twin and return true. */
bool gpubpf_twin_build_deadline_passed(struct gpubpf_twin_build *m);

/*
 * The steps of routes, each named after its last stage. `step` is the set of stages that the step runs. They return 0,
 * or -errno with a diagnostic in m->diag.
 */
/* Implemented in device_query.c. Adds the device compiler's answer to m->image. */
int gpubpf_twin_build_query(struct gpubpf_twin_build *m, uint32_t step);
/* Implemented in probes.c. Emits the probes into m->probes. */
int gpubpf_twin_build_emit(struct gpubpf_twin_build *m, uint32_t step);
/* Implemented in probe_code.c. Assembles the text in m->probes into machine code. */
int gpubpf_twin_build_assemble(struct gpubpf_twin_build *m, uint32_t step);
/* Implemented in probes.c. Inserts the probes into the kernels; the result is in m->pieces. */
int gpubpf_twin_build_inject(struct gpubpf_twin_build *m, uint32_t step);
/*
 * Implemented in vendor_build.c. Lets the vendor's compiler build m->pieces, unless the device's runtime builds them.
 */
int gpubpf_twin_build_vendor(struct gpubpf_twin_build *m, uint32_t step);
/*
 * Implemented in assemble.c. Sets m->twin->code to machine code from the twin's text, if the user has an assembler and
 * it succeeds.
 */
int gpubpf_twin_build_finish(struct gpubpf_twin_build *m, uint32_t step);

/*
 * Implemented in twin_dump.c. Called after a step that returned err. If the step succeeded and has the stage m->after,
 * copies the code to m->dump. Returns true if the build ends after this step.
 */
bool gpubpf_twin_dump_step(struct gpubpf_twin_build *m, uint32_t step, int err);

/*
 * Implemented in probes.c. Replaces the last piece, which is the probes, by probes in the next kind of code that
 * m->target accepts. Returns -ENOTSUP if there is no such kind.
 */
int gpubpf_twin_build_emit_again(struct gpubpf_twin_build *m);
/* Refuse the kernel with this reason, unless the kernel already has a reason. */
void gpubpf_twin_build_refuse(struct gpubpf_twin_kernel *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
