/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores machine code after a twin's text, if the user has an assembler (session.h). The runtime would compile the text
 * in the application, one twin after the other; the assembler compiles several at a time, and caches the results. The
 * text stays, in case the assembler fails or the runtime does not load the code. A failure costs only time, so it is
 * not reported.
 *
 * Does: Assembles the built twin's text, and appends the code to it. Before: m->built has one piece of text with
 * options for the assembler. After: The piece is the text, a NUL and the code, or the text alone. Its options are
 * removed. Requires: A target with `appends_code`, and an assembler in the session's options.
 */
#include "twin_build.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/worker/job.h"
#include "core/session/session.h"

static void append_code(struct gpubpf_twin_piece *piece, const struct gpubpf_blob *code)
{
	char *data = piece->blob.size + 1 + code->size > GPUBPF_IMAGE_MAX ?
			     NULL :
			     realloc(piece->blob.data, piece->blob.size + 1 + code->size);

	if (!data)
		return;
	data[piece->blob.size] = 0;
	memcpy(data + piece->blob.size + 1, code->data, code->size);
	piece->blob.data = data;
	piece->blob.size += 1 + code->size;
}

static int run_assembler(struct gpubpf_twin_build *m, const struct gpubpf_twin_piece *piece, const char *options,
			 struct gpubpf_twin_image *code, char *log, size_t log_size)
{
	char all[PATH_MAX + 256];
	const struct gpubpf_device_caps any = { 0 }; /* the options name the architecture */
	struct gpubpf_twin_image text = { .piece[0] = *piece, .npieces = 1 };
	struct gpubpf_diag diag;

	if ((size_t)snprintf(all, sizeof(all), "%s\n%s", m->s->assembler, options) >= sizeof(all))
		return -ENAMETOOLONG;
	gpubpf_diag_init(&diag);
	text.piece[0].options = all;
	return gpubpf_worker_build(m->set->worker[GPUBPF_WORKER_PTXAS], &any, &text, code, log, log_size, &diag);
}

/* Store "ptxas 13.0.88" from a line with V13.0.88, which NVIDIA's tools print, or "ptxas" for other output. */
static void query_assembler_version(struct gpubpf_twin_build *m)
{
	const struct gpubpf_twin_piece nothing = { .kind = GPUBPF_IMAGE_PTX, .blob = { (void *)"", 0 } };
	struct gpubpf_twin_image code = { 0 };
	const char *at = NULL;
	char log[1024];

	if (!run_assembler(m, &nothing, GPUBPF_ASSEMBLER_WHICH, &code, log, sizeof(log)))
		for (at = strstr(log, " V"); at && (at[2] < '0' || at[2] > '9'); at = strstr(at + 2, " V"))
			;
	gpubpf_twin_image_finish(&code);
	snprintf(m->set->assembler, sizeof(m->set->assembler), "ptxas%s%.*s", at ? " " : "",
		 at ? (int)strspn(at + 2, "0123456789.") : 0, at ? at + 2 : "");
}

int gpubpf_twin_build_assemble_probes(struct gpubpf_twin_build *m, const struct gpubpf_twin_piece *text,
				      struct gpubpf_twin_image *code, char *log, size_t log_size)
{
	char options[128];
	int err = 0;

	if (!m->s->assembler || m->set->assembler_hangs)
		return -ENOENT;
	for (int old = 0; !err && !code->npieces && old < 2; old++) { /* old assemblers lack the option */
		snprintf(options, sizeof(options), "%s-arch=%.64s", old ? "" : GPUBPF_ASSEMBLER_PROBES "\n",
			 m->req->caps.arch);
		err = run_assembler(m, text, options, code, log, log_size);
	}
	m->set->assembler_hangs = err == -ETIMEDOUT;
	return err ? err : code->npieces == 1 ? 0 : -EINVAL;
}

void gpubpf_twin_build_append_code(struct gpubpf_twin_build *m)
{
	struct gpubpf_twin_piece *piece = &m->built.piece[0];
	const char *options = piece->options;
	struct gpubpf_twin_image code = { 0 };
	char log[512];
	int err;

	if (!m->target->appends_code || m->built.npieces != 1)
		return;
	piece->options = NULL; /* the options are for the assembler, not for the runtime */
	if (!m->s->assembler || !options || !options[0] || m->set->assembler_hangs)
		return;
	err = run_assembler(m, piece, options, &code, log, sizeof(log));
	m->set->assembler_hangs = err == -ETIMEDOUT;
	if (!err && code.npieces == 1) {
		append_code(piece, &code.piece[0].blob);
		if (!m->set->assembler[0])
			query_assembler_version(m);
		snprintf(m->twin->assembler, sizeof(m->twin->assembler), "%s", m->set->assembler);
	}
	gpubpf_twin_image_finish(&code);
}
