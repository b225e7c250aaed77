/* SPDX-License-Identifier: Apache-2.0 */
/* A twin while it is made, in a maker's thread: what the steps of twin_make.c hand on. */
#ifndef GPUBPF_CORE_SESSION_TWIN_MAKE_H
#define GPUBPF_CORE_SESSION_TWIN_MAKE_H

#include "core/diag.h"
#include "makers.h"

struct gpubpf_making {
	const struct gpubpf_session *s;
	struct gpubpf_worker_set *set;
	const struct gpubpf_twin_req *req;
	const struct gpubpf_image *image;
	struct gpubpf_twin *twin;
	struct gpubpf_diag diag;
	uint64_t start_ns;

	const struct gpubpf_target_info *target;  /* that takes the image, */
	const struct gpubpf_target_info *emitter; /* and that emits the probes, where they are a piece of their own */
	struct gpubpf_kernel_info *infos;
	uint32_t ninfos;
	/* which programs stand where: gpubpf_making_choose() */
	struct gpubpf_site_desc *sites;
	uint32_t *site_kernel;               /* [nsites]: index in twin->kernels */
	uint32_t *progs;                     /* what sites point into */
	uint32_t nsites, nprogs;
	struct gpubpf_insertions puts;

	char *answer;                        /* of the device's compiler to the target's query, owned; */
	struct gpubpf_image answered;        /* the image with it: gpubpf_making_query() */

	struct gpubpf_twin_image pieces, built;
};

/* twin_sites.c: the sites of each kernel of the twin and where they stand; for kernels that have none, why. 0, -ENOMEM. */
int gpubpf_making_choose(struct gpubpf_making *m);
/* twin_query.c: from now on m->image has the answer of the device's compiler to the target's query. 0, or -errno and a
 * diagnostic. */
int gpubpf_making_query(struct gpubpf_making *m);
/* The worker that reads the image. */
struct gpubpf_worker *gpubpf_making_reader(const struct gpubpf_making *m);
/* twin_probes.c: the job's probes as machine code, of what the target emits. */
int gpubpf_making_assemble(struct gpubpf_making *m, const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts,
			   struct gpubpf_twin_image *probes);
/* twin_code.c: probes' text by the user's assembler, as GPUBPF_WORKER_ASSEMBLE would. -ENOENT: the user has none. */
int gpubpf_making_assemble_probes(struct gpubpf_making *m, const struct gpubpf_twin_piece *text, struct gpubpf_twin_image *code,
				  char *log, size_t log_size);
/* twin_code.c: put machine code behind the text of what was built, if the user can have it made. */
void gpubpf_making_code(struct gpubpf_making *m);
/* The line of a compiler's log that tells most: the first error, else the last line. */
void gpubpf_telling_line(const char *log, char *buf, size_t size);
/* No twin of this kernel; the first reason stays. */
void gpubpf_making_refuse(struct gpubpf_twin_kernel *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
