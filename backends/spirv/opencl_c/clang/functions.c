/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the table of the functions that an OpenCL C source declares. The table is an array with a hash table over
 * libclang's canonical cursors.
 */
#include "reader.h"

static bool rehash(struct reader *r)
{
	uint32_t n = r->nbuckets ? 2 * r->nbuckets : 256;
	uint32_t *bucket = gpubpf_pool_alloc(r->pool, n, sizeof(*bucket));
	struct function *function = gpubpf_pool_alloc(r->pool, n / 2, sizeof(*function));

	if (!bucket || !function) {
		r->failed = true;
		return false;
	}
	for (uint32_t i = 0; i < r->nfunctions; i++) {
		uint32_t at = clang_hashCursor(r->function[i].cursor) & (n - 1);

		while (bucket[at])
			at = (at + 1) & (n - 1);
		bucket[at] = i + 1;
		function[i] = r->function[i];
	}
	r->bucket = bucket;
	r->nbuckets = n;
	r->function = function;
	return true;
}

/*
 * Returns the index of the function's hash bucket. If the table does not contain the function, returns the index of a
 * free bucket.
 */
static uint32_t bucket_of(const struct reader *r, CXCursor canonical)
{
	uint32_t at = clang_hashCursor(canonical) & (r->nbuckets - 1);

	while (r->bucket[at] && !clang_equalCursors(r->function[r->bucket[at] - 1].cursor, canonical))
		at = (at + 1) & (r->nbuckets - 1);
	return at;
}

uint32_t clread_function_index(struct reader *r, CXCursor c)
{
	CXCursor cursor = clang_getCanonicalCursor(c);
	uint32_t at;

	if (2 * (r->nfunctions + 1) > r->nbuckets && !rehash(r))
		return UINT32_MAX;
	at = bucket_of(r, cursor);
	if (r->bucket[at])
		return r->bucket[at] - 1;
	r->function[r->nfunctions] = (struct function){ .cursor = cursor, .kernel = -1 };
	r->bucket[at] = ++r->nfunctions;
	return r->nfunctions - 1;
}

bool clread_is_declared(const struct reader *r, CXCursor c)
{
	return r->nbuckets && r->bucket[bucket_of(r, clang_getCanonicalCursor(c))];
}
