/* SPDX-License-Identifier: Apache-2.0 */
#include "compressed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "core/model/diag.h"
#include "core/wire/wire.h"

#define MAGIC "CCOB"
#define METHOD_ZSTD 1
#define MAX_DECOMPRESSED_BYTES (1ull << 30)

bool hip_is_compressed(const void *image, size_t size)
{
	return size >= strlen(MAGIC) && !memcmp(image, MAGIC, strlen(MAGIC));
}

/* Header of a compressed bundle. */
struct head {
	uint16_t version, method;
	/* bytes of the compressed bundle (0 in version 1, whose header does not have this field); bytes after
	 * decompression */
	uint64_t size, plain;
};

static struct head read_head(struct gpubpf_reader *r)
{
	struct head h = { 0 };

	gpubpf_get_raw(r, strlen(MAGIC));
	h.version = gpubpf_get_u16(r);
	h.method = gpubpf_get_u16(r);
	if (h.version >= 3) {
		h.size = gpubpf_get_u64(r);
		h.plain = gpubpf_get_u64(r);
	} else {
		h.size = h.version == 2 ? gpubpf_get_u32(r) : 0;
		h.plain = gpubpf_get_u32(r);
	}
	gpubpf_get_u64(r); /* skip the hash of the bundle */
	return h;
}

static int expand(const struct gpubpf_reader *r, const struct head *h, struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	size_t n;

	out->size = h->plain;
	out->data = malloc(h->plain + 1);
	if (!out->data)
		return -ENOMEM;
	n = ZSTD_decompress(out->data, out->size, r->at, r->end - r->at);
	if (n == out->size)
		return 0;
	free(out->data);
	return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the compressed bundle is damaged");
}

int hip_decompress(const void *image, size_t size, struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	struct gpubpf_reader r;
	struct head h;

	gpubpf_reader_init(&r, image, size);
	h = read_head(&r);
	if (r.failed || h.version < 1 || h.version > 3 || h.plain > MAX_DECOMPRESSED_BYTES || h.size > size)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "the compressed bundle's header is invalid (version %u)", h.version);
	if (h.method != METHOD_ZSTD)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "the bundle is compressed by method %u, not by zstd; build it with hipcc "
				       "-no-offload-compress",
				       h.method);
	if (h.size)
		r.end = (const uint8_t *)image + h.size;
	return r.at <= r.end ? expand(&r, &h, out, diag) :
			       gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the compressed bundle is damaged");
}
