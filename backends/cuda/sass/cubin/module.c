/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/target.h"
#include "lines.h"

#define MAX_CACHE_BYTES (256u << 20) /* maximum number of bytes of decompressed modules in the cache */
#define MAX_CACHE_MODULES 4096

static void finish(struct sass_module *m)
{
	sass_cubin_finish(&m->cubin);
	gpubpf_lines_finish(&m->lines);
	gpubpf_lines_finish(&m->starts);
	free(m->bytes);
}

const struct gpubpf_lines *sass_module_lines(struct sass_module *m, bool starts)
{
	if (starts && !m->has_starts)
		sass_lines_read_starts(&m->cubin, &m->starts);
	else if (!starts && !m->has_lines)
		sass_lines_read(&m->cubin, &m->lines);
	*(starts ? &m->has_starts : &m->has_lines) = true;
	return starts ? &m->starts : &m->lines;
}

/* -- without a cache -- */

struct visit_ctx {
	int (*fn)(void *arg, struct sass_module *module, struct gpubpf_diag *diag);
	void *arg;
};

static int visit_once(void *arg, const void *data, size_t size, struct gpubpf_diag *diag)
{
	const struct visit_ctx *p = arg;
	struct sass_module m = { 0 };
	int err = sass_cubin_open(data, size, &m.cubin, diag);

	if (!err)
		err = p->fn(p->arg, &m, diag);
	finish(&m);
	return err;
}

/* -- the cache -- */

/* The open modules of the last image. An image with the same digest, address and size has the same bytes. */
static struct module_cache {
	uint8_t digest[GPUBPF_IMAGE_DIGEST];
	const uint8_t *data; /* NULL: the cache is empty */
	size_t size, copied;
	uint32_t sm, n;
	struct sass_module *modules[MAX_CACHE_MODULES];
} cache;

static void clear_cache(void)
{
	while (cache.n) {
		finish(cache.modules[--cache.n]);
		free(cache.modules[cache.n]);
	}
	cache.data = NULL;
	cache.copied = 0;
}

static bool is_cached(const struct gpubpf_image *image, uint32_t sm)
{
	return cache.data == image->data && cache.size == image->size && cache.sm == sm &&
	       !memcmp(cache.digest, image->digest, sizeof(cache.digest));
}

/* Returns a module's bytes that live as long as the cache; NULL: they do not fit. Uncompressed bytes are part of the
 * image. Decompressed bytes are valid only during the call, so the result is a copy of them. */
static const void *cache_bytes(struct sass_module *m, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	if (bytes >= cache.data && size <= cache.size && (size_t)(bytes - cache.data) <= cache.size - size)
		return data;
	cache.copied += size;
	m->bytes = cache.copied <= MAX_CACHE_BYTES ? malloc(size) : NULL;
	return m->bytes ? memcpy(m->bytes, data, size) : NULL;
}

static int cache_module(void *arg, const void *data, size_t size, struct gpubpf_diag *diag)
{
	struct sass_module *m = cache.n < MAX_CACHE_MODULES ? calloc(1, sizeof(*m)) : NULL;
	const void *bytes = m ? cache_bytes(m, data, size) : NULL;

	(void)arg;
	if (m)
		cache.modules[cache.n++] = m;
	return bytes ? sass_cubin_open(bytes, size, &m->cubin, diag) : -E2BIG;
}

/* Fills the cache with the modules of the image. False: a module cannot be read or does not fit. */
static bool cache_image(const struct gpubpf_image *image, uint32_t sm)
{
	struct gpubpf_diag ignored;

	if (is_cached(image, sm))
		return true;
	clear_cache();
	memcpy(cache.digest, image->digest, sizeof(cache.digest));
	cache.data = image->data;
	cache.size = image->size;
	cache.sm = sm;
	gpubpf_diag_init(&ignored);
	if (!sass_image_each(image->data, image->size, sm, cache_module, NULL, &ignored))
		return true;
	clear_cache();
	return false;
}

int sass_module_each(const struct gpubpf_image *image, uint32_t sm,
		     int (*fn)(void *arg, struct sass_module *module, struct gpubpf_diag *diag), void *arg,
		     struct gpubpf_diag *diag)
{
	struct visit_ctx p = { fn, arg };
	int err = 0;

	if (!image->digest || !cache_image(image, sm))
		return sass_image_each(image->data, image->size, sm, visit_once, &p, diag);
	for (uint32_t i = 0; !err && i < cache.n; i++)
		err = fn(arg, cache.modules[i], diag);
	return err;
}
