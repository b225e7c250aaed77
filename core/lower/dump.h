/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the code after one pass or stage, for `prog dump --after` and `kernel dump --after`. */
#ifndef GPUBPF_CORE_LOWER_DUMP_H
#define GPUBPF_CORE_LOWER_DUMP_H

#include <stdlib.h>
#include <string.h>

#include "lower.h"

/* The code after the pass or stage `after` (core/model/passes.def, core/model/stages.def). */
struct gpubpf_dump {
	const char *after;
	struct gpubpf_blob code; /* malloc'd text or binary code; data is NULL until the pass has run */
};

static inline bool gpubpf_dump_wants(const struct gpubpf_lower_job *job, const char *pass)
{
	return job->dump && !strcmp(job->dump->after, pass);
}

/* Copies the code to the dump of the job, in place of earlier code. */
static inline void gpubpf_dump_set(const struct gpubpf_lower_job *job, const void *data, size_t size)
{
	struct gpubpf_blob *code = &job->dump->code;
	void *copy = malloc(size + 1);

	free(code->data);
	*code = (struct gpubpf_blob){ copy, copy ? size : 0 };
	if (copy)
		memcpy(copy, data, size);
}

/* Adds text to the code in the dump. */
static inline void gpubpf_dump_add(const struct gpubpf_lower_job *job, const void *data, size_t size)
{
	struct gpubpf_blob *code = &job->dump->code;
	char *grown = realloc(code->data, code->size + size + 1);

	if (!grown)
		return;
	memcpy(grown + code->size, data, size);
	*code = (struct gpubpf_blob){ grown, code->size + size };
}

#endif
