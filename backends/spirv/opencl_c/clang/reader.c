/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates the memory of a reader: copies of strings, and growing arrays. */
#include <string.h>

#include "reader.h"

char *clread_text(struct reader *r, CXString s)
{
	const char *text = clang_getCString(s);
	char *copy = gpubpf_pool_strndup(r->pool, text ? text : "", text ? strlen(text) : 0);

	clang_disposeString(s);
	return copy ? copy : "";
}

/*
 * Make room for one more element in a growing array of n elements. Returns the array, which may have moved, or NULL if
 * memory runs out. The old array stays allocated in the pool.
 */
void *clread_grow(struct reader *r, void *array, uint32_t n, size_t size)
{
	void *bigger;

	if (n & (n - 1) || (n && n < 16))
		return array;
	bigger = gpubpf_pool_alloc(r->pool, n ? 2 * n : 16, size);
	if (!bigger) {
		r->failed = true;
		return NULL;
	}
	if (n)
		memcpy(bigger, array, n * size);
	return bigger;
}
