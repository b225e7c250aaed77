/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/diag.h"
#include "core/target.h"
#include "lines.h"

#define KEPT_BYTES (256u << 20)    /* of modules that were decompressed or copied */
#define KEPT_MOST 4096

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

struct passing {
	int (*fn)(void *arg, struct sass_module *module, struct gpubpf_diag *diag);
	void *arg;
};

static int pass(void *arg, const void *data, size_t size, struct gpubpf_diag *diag)
{
	const struct passing *p = arg;
	struct sass_module m = { 0 };
	int err = sass_cubin_open(data, size, &m.cubin, diag);

	if (!err)
		err = p->fn(p->arg, &m, diag);
	finish(&m);
	return err;
}

/* -- the cache -- */

/* the modules of the last image; an image with the same digest at the same address has the same bytes */
static struct kept {
	uint8_t digest[GPUBPF_IMAGE_DIGEST];
	const uint8_t *data;               /* NULL: the cache is empty */
	size_t size, copied;
	uint32_t sm, n;
	struct sass_module *modules[KEPT_MOST];
} kept;

static void drop(void)
{
	while (kept.n) {
		finish(kept.modules[--kept.n]);
		free(kept.modules[kept.n]);
	}
	kept.data = NULL;
	kept.copied = 0;
}

static bool is_kept(const struct gpubpf_image *image, uint32_t sm)
{
	return kept.data == image->data && kept.size == image->size && kept.sm == sm &&
	       !memcmp(kept.digest, image->digest, sizeof(kept.digest));
}

/* Decompressed bytes are valid only during the call, so they are copied. */
static const void *stay(struct sass_module *m, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	if (bytes >= kept.data && size <= kept.size && (size_t)(bytes - kept.data) <= kept.size - size)
		return data;
	kept.copied += size;
	m->bytes = kept.copied <= KEPT_BYTES ? malloc(size) : NULL;
	return m->bytes ? memcpy(m->bytes, data, size) : NULL;
}

static int keep(void *arg, const void *data, size_t size, struct gpubpf_diag *diag)
{
	struct sass_module *m = kept.n < KEPT_MOST ? calloc(1, sizeof(*m)) : NULL;
	const void *bytes = m ? stay(m, data, size) : NULL;

	(void)arg;
	if (m)
		kept.modules[kept.n++] = m;
	return bytes ? sass_cubin_open(bytes, size, &m->cubin, diag) : -E2BIG;
}

/* False: some module cannot be read, or does not fit into the cache. */
static bool keep_all(const struct gpubpf_image *image, uint32_t sm)
{
	struct gpubpf_diag ignored;

	if (is_kept(image, sm))
		return true;
	drop();
	memcpy(kept.digest, image->digest, sizeof(kept.digest));
	kept.data = image->data;
	kept.size = image->size;
	kept.sm = sm;
	gpubpf_diag_init(&ignored);
	if (!sass_image_each(image->data, image->size, sm, keep, NULL, &ignored))
		return true;
	drop();
	return false;
}

int sass_module_each(const struct gpubpf_image *image, uint32_t sm,
		     int (*fn)(void *arg, struct sass_module *module, struct gpubpf_diag *diag), void *arg,
		     struct gpubpf_diag *diag)
{
	struct passing p = { fn, arg };
	int err = 0;

	if (!image->digest || !keep_all(image, sm))
		return sass_image_each(image->data, image->size, sm, pass, &p, diag);
	for (uint32_t i = 0; !err && i < kept.n; i++)
		err = fn(arg, kept.modules[i], diag);
	return err;
}
