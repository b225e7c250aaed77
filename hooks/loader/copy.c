/* SPDX-License-Identifier: Apache-2.0 */
/* Writes results to the caller's bpf(2) attribute, and copies data of the caller. */
#include "loader.h"

#include <errno.h>
#include <stdlib.h>

int give_back(const struct call *c, size_t at, const void *value, size_t size)
{
	return caller_write(c->user + at, value, size);
}

void *copied(uint64_t from, size_t size, int *err)
{
	void *to = malloc(size + 1);

	*err = to ? caller_read(to, from, size) : -ENOMEM;
	if (*err < 0) {
		free(to);
		return NULL;
	}
	return to;
}
