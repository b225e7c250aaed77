/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes machine code from a twin's PTX text with the user's assembler (gpubpf_session_set_assembler()). Without it, the
 * runtime compiles the text in the application, one twin after the other. The assembler compiles several twins at a
 * time, and caches the results.
 *
 * The text stays in the twin. It is used if the assembler fails or the runtime does not load the machine code. A
 * failure costs only time, so it is not reported.
 *
 * Does: Assembles the twin's text. Before: m->pieces is one piece of text, with an architecture. After: m->twin->code
 * is the machine code, or empty. Requires: A route with the stage finish, and an assembler in the session's options.
 */
#include "twin_build.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/worker/job.h"
#include "core/worker/spawn.h"
#include "core/session/session.h"

static int run_assembler(struct gpubpf_twin_build *m, struct gpubpf_assembly *what, struct gpubpf_twin_image *code,
			 char *log, size_t log_size)
{
	char identity[PATH_MAX + 64];
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	gpubpf_worker_identity(gpubpf_session_assembler(m->s), identity, sizeof(identity));
	what->path = gpubpf_session_assembler(m->s);
	what->identity = identity;
	return gpubpf_worker_assemble(m->set->worker[GPUBPF_WORKER_PTXAS], what, code, log, log_size, &diag);
}

/*
 * Store the assembler's name and version in m->set->assembler. NVIDIA's tools print the version as V13.0.88, which
 * gives "ptxas 13.0.88". Other output gives "ptxas".
 */
static void query_assembler_version(struct gpubpf_twin_build *m)
{
	struct gpubpf_assembly version = { .arch = "", .is_version = true };
	struct gpubpf_twin_image code = { 0 };
	const char *at = NULL;
	char log[1024];

	if (!run_assembler(m, &version, &code, log, sizeof(log)))
		for (at = strstr(log, " V"); at && (at[2] < '0' || at[2] > '9'); at = strstr(at + 2, " V"))
			;
	gpubpf_twin_image_finish(&code);
	snprintf(m->set->assembler, sizeof(m->set->assembler), "ptxas%s%.*s", at ? " " : "",
		 at ? (int)strspn(at + 2, "0123456789.") : 0, at ? at + 2 : "");
}

int gpubpf_twin_build_assemble_probes(struct gpubpf_twin_build *m, const struct gpubpf_twin_piece *text,
				      struct gpubpf_twin_image *code, char *log, size_t log_size)
{
	struct gpubpf_assembly what = { .arch = m->req->caps.arch, .text = text->blob };
	int err = 0;

	if (!gpubpf_session_assembler(m->s) || m->set->assembler_hangs)
		return -ENOENT;
	for (int old = 0; !err && !code->npieces && old < 2; old++) {
		what.keeps_literals = !old;
		err = run_assembler(m, &what, code, log, log_size);
	}
	m->set->assembler_hangs = err == -ETIMEDOUT;
	return err ? err : code->npieces == 1 ? 0 : -EINVAL;
}

int gpubpf_twin_build_finish(struct gpubpf_twin_build *m, uint32_t step)
{
	const struct gpubpf_twin_piece *piece = &m->pieces.piece[0];
	struct gpubpf_assembly what = { .arch = piece->arch, .text = piece->blob };
	struct gpubpf_twin_image code = { 0 };
	char log[512];
	int err;

	if (m->pieces.npieces != 1 || !gpubpf_session_assembler(m->s) || !piece->arch[0] || m->set->assembler_hangs)
		return 0;
	err = run_assembler(m, &what, &code, log, sizeof(log));
	m->set->assembler_hangs = err == -ETIMEDOUT;
	if (!err && code.npieces == 1 && piece->blob.size + 1 + code.piece[0].blob.size <= GPUBPF_IMAGE_MAX) {
		m->twin->code = code.piece[0].blob;
		code.piece[0].blob = (struct gpubpf_blob){ 0 };
		if (!m->set->assembler[0])
			query_assembler_version(m);
		snprintf(m->twin->assembler, sizeof(m->twin->assembler), "%s", m->set->assembler);
	}
	gpubpf_twin_image_finish(&code);
	return 0;
}
