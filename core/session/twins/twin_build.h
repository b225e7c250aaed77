/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a twin's build in a builder's thread, which the steps of twin_build.c share. */
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

	const struct gpubpf_target_info *target;  /* the target that accepts the image */
	const struct gpubpf_target_info *emitter; /* the target that emits the probes, if they are a separate piece;
						   * else NULL */
	struct gpubpf_kernel_info *infos;
	uint32_t ninfos;
	/* The selected programs for each place: see gpubpf_twin_build_select_sites(). */
	struct gpubpf_site_desc *sites;
	uint32_t *site_kernel; /* [nsites]: index in twin->kernels */
	uint32_t *progs;       /* indexes of programs in the unit, to which the sites point */
	uint32_t nsites, nprogs;
	struct gpubpf_insertions insertions;

	char *answer;                 /* the device compiler's answer to the target's query, owned */
	struct gpubpf_image answered; /* the image with that answer: see gpubpf_twin_build_query() */

	struct gpubpf_twin_image pieces, built;
};

/* select_sites.c: selects the sites of each kernel and their places; or stores the reason why a kernel has no sites. 0
 * or -ENOMEM. */
int gpubpf_twin_build_select_sites(struct gpubpf_twin_build *m);
/* device_query.c: add the device compiler's answer to the target's query to m->image. 0, or -errno and a diagnostic. */
int gpubpf_twin_build_query(struct gpubpf_twin_build *m);
/* The worker that inspects the image and injects into it. */
struct gpubpf_worker *gpubpf_twin_build_reader(const struct gpubpf_twin_build *m);
/* probe_code.c: assemble the probes that the target emits into machine code. */
int gpubpf_twin_build_assemble(struct gpubpf_twin_build *m, const struct gpubpf_lower_job *job,
			       const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *probes);
/* assemble.c: assemble the text of probes with the user's assembler, instead of GPUBPF_WORKER_ASSEMBLE. -ENOENT: the
 * user has no assembler. */
int gpubpf_twin_build_assemble_probes(struct gpubpf_twin_build *m, const struct gpubpf_twin_piece *text,
				      struct gpubpf_twin_image *code, char *log, size_t log_size);
/* assemble.c: appends machine code to the text of the built twin, if the user has an assembler and it succeeds. */
void gpubpf_twin_build_append_code(struct gpubpf_twin_build *m);
/* The most useful line of a compiler's log: the first error, else the last line. */
void gpubpf_compiler_log_summary(const char *log, char *buf, size_t size);
/* Refuse the kernel, unless it has a reason already. */
void gpubpf_twin_build_refuse(struct gpubpf_twin_kernel *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
