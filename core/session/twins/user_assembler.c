/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the path and identity of the user's assembler, which builders use. */
#include "private.h"

#include <stdlib.h>

void gpubpf_session_set_assembler(struct gpubpf_session *s, char *assembler)
{
	free(s->twins->assembler);
	s->twins->assembler = assembler;
}

const char *gpubpf_session_assembler(const struct gpubpf_session *s)
{
	return s->twins->assembler;
}
