/* SPDX-License-Identifier: Apache-2.0 */
#include "parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/wire.h"

#define PARTS_MAGIC 0x73747261704c4362ull /* "bCLparts" */

/* Strings are encoded with their terminating zero, so that decoded structs can point into the data. */
static void put_text(struct gpubpf_writer *w, const char *s)
{
	s = s ? s : "";
	gpubpf_put_bytes(w, s, strlen(s) + 1);
}

static const char *get_text(struct gpubpf_reader *r)
{
	size_t size;
	const char *s = gpubpf_get_bytes(r, &size);

	if (!s || !size || memchr(s, 0, size) != s + size - 1) {
		r->failed = true;
		return "";
	}
	return s;
}

int gpubpf_cl_parts_write(const struct gpubpf_cl_parts *parts, struct gpubpf_blob *out)
{
	struct gpubpf_writer w = { 0 };

	gpubpf_put_u64(&w, PARTS_MAGIC);
	put_text(&w, parts->link_options);
	gpubpf_put_u32(&w, parts->nparts);
	for (uint32_t i = 0; i < parts->nparts; i++) {
		const struct gpubpf_cl_part *p = &parts->part[i];

		gpubpf_put_u32(&w, p->kind);
		gpubpf_put_bytes(&w, p->data, p->size);
		put_text(&w, p->options);
		gpubpf_put_u32(&w, p->nheaders);
		for (uint32_t k = 0; k < p->nheaders; k++) {
			put_text(&w, p->headers[k].name);
			gpubpf_put_bytes(&w, p->headers[k].data, p->headers[k].size);
		}
	}
	if (w.failed) {
		gpubpf_writer_finish(&w);
		return -ENOMEM;
	}
	out->data = w.data;
	out->size = w.size;
	return 0;
}

static int read_part(struct gpubpf_reader *r, struct gpubpf_cl_part *p)
{
	struct gpubpf_header *headers;

	p->kind = gpubpf_get_u32(r);
	p->data = gpubpf_get_bytes(r, &p->size);
	p->options = get_text(r);
	p->nheaders = gpubpf_get_count(r, 9);
	if (r->failed ||
	    (p->kind != GPUBPF_IMAGE_OPENCL_C && p->kind != GPUBPF_IMAGE_SPIRV && p->kind != GPUBPF_IMAGE_OPENCL_BINARY))
		return -EBADMSG;
	headers = calloc(p->nheaders + 1, sizeof(*headers));
	if (!headers)
		return -ENOMEM;
	p->headers = headers;
	for (uint32_t i = 0; i < p->nheaders; i++) {
		headers[i].name = get_text(r);
		headers[i].data = gpubpf_get_bytes(r, &headers[i].size);
	}
	return r->failed ? -EBADMSG : 0;
}

int gpubpf_cl_parts_read(const void *data, size_t size, struct gpubpf_cl_parts *parts)
{
	struct gpubpf_cl_parts got = { 0 };
	struct gpubpf_reader r;
	uint32_t n;
	int err;

	gpubpf_reader_init(&r, data, size);
	if (gpubpf_get_u64(&r) != PARTS_MAGIC)
		return -EBADMSG;
	got.link_options = get_text(&r);
	n = gpubpf_get_count(&r, 17);
	got.part = calloc(n + 1, sizeof(*got.part));
	if (!got.part)
		return -ENOMEM;
	for (err = 0; err == 0 && got.nparts < n; got.nparts++)
		err = read_part(&r, &got.part[got.nparts]);
	if (err == 0 && !gpubpf_reader_done(&r))
		err = -EBADMSG;
	if (err < 0) {
		gpubpf_cl_parts_finish(&got);
		return err;
	}
	*parts = got;
	return 0;
}

void gpubpf_cl_parts_finish(struct gpubpf_cl_parts *parts)
{
	for (uint32_t i = 0; i < parts->nparts; i++)
		free((void *)parts->part[i].headers);
	free(parts->part);
	memset(parts, 0, sizeof(*parts));
}
