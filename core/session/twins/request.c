/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and frees requests for twins and their results, copies images, and computes cache keys. */
#include "build_pool.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/wire/checks.h"
#include "core/session/session.h"
#include "twin_store.h"

struct gpubpf_twin_req *gpubpf_twin_req_new(void)
{
	struct gpubpf_twin_req *req = calloc(1, sizeof(*req));

	if (req)
		req->image_fd = req->headers_fd = -1;
	return req;
}

void gpubpf_twin_req_free(struct gpubpf_twin_req *req)
{
	if (!req)
		return;
	if (req->image_fd >= 0)
		close(req->image_fd);
	if (req->headers_fd >= 0)
		close(req->headers_fd);
	gpubpf_twin_put(req->twin);
	gpubpf_image_copy_put(req->copy);
	free(req->names);
	free(req->options);
	free(req->headers);
	for (uint32_t i = 0; req->kernels && i < req->nkernels; i++)
		free(req->kernels[i].whole);
	free(req->kernels);
	free(req->links);
	free(req->unit.progs);
	free(req);
}

struct gpubpf_twin *gpubpf_twin_new(const struct gpubpf_twin_req *req)
{
	struct gpubpf_twin *twin = calloc(1, sizeof(*twin));

	if (!twin)
		return NULL;
	twin->refs = 1;
	twin->kernels = calloc(req->nkernels, sizeof(*twin->kernels));
	if (!twin->kernels) {
		free(twin);
		return NULL;
	}
	twin->nkernels = req->nkernels;
	for (uint32_t i = 0; i < req->nkernels; i++) {
		memcpy(twin->kernels[i].name, req->kernels[i].name, sizeof(twin->kernels[i].name));
		twin->kernels[i].id = req->kernels[i].id;
	}
	return twin;
}

void gpubpf_twin_put(struct gpubpf_twin *twin)
{
	if (!twin || !gpubpf_ref_was_last(__atomic_fetch_sub(&twin->refs, 1, __ATOMIC_ACQ_REL)))
		return;
	free(twin->image);
	free(twin->code.data);
	free(twin->included);
	for (uint32_t i = 0; i < twin->nkernels; i++) {
		free(twin->kernels[i].functions);
		free(twin->kernels[i].signature);
		free(twin->kernels[i].places);
	}
	free(twin->kernels);
	free(twin);
}

void gpubpf_twin_clear(struct gpubpf_twin *t)
{
	t->reason[0] = t->instead[0] = t->options[0] = t->assembler[0] = 0;
	free(t->image);
	free(t->code.data);
	t->image = NULL;
	t->code = (struct gpubpf_blob){ 0 };
	t->route = NULL;
	gpubpf_twin_store_clear_includes(t);
	for (uint32_t i = 0; i < t->nkernels; i++) {
		struct gpubpf_twin_kernel *k = &t->kernels[i];

		free(k->functions);
		free(k->signature);
		free(k->places);
		k->functions = NULL;
		k->signature = NULL;
		k->places = NULL;
		k->twin[0] = k->reason[0] = 0;
		k->flags = k->stack = 0;
		k->entry_only = k->recurses = false;
		memset(k->named, 0, sizeof(k->named));
	}
}

void gpubpf_twin_refuse(struct gpubpf_twin *twin, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (gpubpf_reason_set(twin->reason, sizeof(twin->reason), fmt, ap)) {
		free(twin->image);
		twin->image = NULL;
	}
	va_end(ap);
}

/*
 * Copy the content of a memfd. Each byte is read only once, because the sender may have mapped the memfd writable and
 * could change it.
 */
static int copy_fd(int fd, void **data, size_t *size, const char *what, char *why, size_t why_size)
{
	int64_t n = gpubpf_memfd_size(fd, GPUBPF_IMAGE_MAX);
	int64_t at = 0;

	if (n < 0 && fd < 0) {
		snprintf(why, why_size, "the application's %s did not arrive", what);
		return n;
	}
	if (n < 0) {
		snprintf(why, why_size, "the application's %s is not a sealed memfd of at most %u MiB", what,
			 GPUBPF_IMAGE_MAX >> 20);
		return n;
	}
	*data = calloc(1, n + 1);
	while (*data && at < n) {
		ssize_t got = pread(fd, (char *)*data + at, n - at, at);

		if (got <= 0)
			break;
		at += got;
	}
	if (!*data || at < n) {
		snprintf(why, why_size, "the application's %s of %lld bytes could not be read", what, (long long)n);
		return -ENOMEM;
	}
	*size = n;
	return 0;
}

static int copy_headers(const struct gpubpf_twin_req *req, struct gpubpf_image_copy *copy, char *why, size_t why_size)
{
	size_t size = 0;
	int err;

	if (!req->nheaders)
		return 0;
	err = copy_fd(req->headers_fd, &copy->header_data, &size, "container of headers", why, why_size);
	if (err < 0)
		return err;
	copy->headers = calloc(req->nheaders, sizeof(*copy->headers));
	for (uint32_t i = 0; copy->headers && i < req->nheaders; i++) {
		const struct gpubpf_twin_header *h = &req->headers[i];

		if (h->offset > size || h->size > size - h->offset) {
			snprintf(why, why_size, "header %s lies outside the container of headers", h->name);
			return -EPROTO;
		}
		copy->headers[i].name = h->name;
		copy->headers[i].data = (char *)copy->header_data + h->offset;
		copy->headers[i].size = h->size;
	}
	return copy->headers ? 0 : -ENOMEM;
}

struct gpubpf_image_copy *gpubpf_image_copy_get(struct gpubpf_image_copy *copy)
{
	__atomic_add_fetch(&copy->refs, 1, __ATOMIC_RELAXED);
	return copy;
}

void gpubpf_image_copy_put(struct gpubpf_image_copy *copy)
{
	if (!copy || !gpubpf_ref_was_last(__atomic_fetch_sub(&copy->refs, 1, __ATOMIC_ACQ_REL)))
		return;
	free(copy->data);
	free(copy->header_data);
	free(copy->headers);
	free((char *)copy->image.options);
	free((char *)copy->image.cwd);
	free(copy);
}

static int copy_image(const struct gpubpf_twin_req *req, struct gpubpf_image_copy *copy, char *why, size_t why_size)
{
	size_t size = 0;
	int err = copy_fd(req->image_fd, &copy->data, &size, "program's image", why, why_size);

	if (!err)
		err = copy_headers(req, copy, why, why_size);
	copy->image = (struct gpubpf_image){
		.data = copy->data,
		.size = size,
		.kind = req->kind,
		.options = strdup(req->options),
		.headers = copy->headers,
		.nheaders = req->nheaders,
		.cwd = strdup(req->cwd),
		.built_ns = req->built_ns,
		.kernel = "",
	};
	return !err && (!copy->image.options || !copy->image.cwd) ? -ENOMEM : err;
}

static void compute_digest(const void *data, size_t size, uint8_t out[32])
{
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, size, data);
	sha256_digest(&ctx, SHA256_DIGEST_SIZE, out);
}

int gpubpf_image_read(struct gpubpf_twin_req *req, char *why, size_t why_size)
{
	int err = -ENOMEM;

	if (req->copy)
		return 0;
	snprintf(why, why_size, "out of memory");
	req->copy = calloc(1, sizeof(*req->copy));
	if (!req->copy)
		return err;
	req->copy->refs = 1;
	err = copy_image(req, req->copy, why, why_size);
	if (err < 0)
		return err;
	compute_digest(req->copy->data, req->copy->image.size, req->copy->digest);
	memcpy(req->digest, req->copy->digest, sizeof(req->digest));
	if (req->copy->image.size)
		req->copy->image.digest = req->copy->digest;
	req->has_digest = true;
	return 0;
}

bool gpubpf_image_is_self_contained(const struct gpubpf_twin_req *req)
{
	return !req->built_ns && !req->nheaders;
}

static void hash_bytes(struct sha256_ctx *ctx, const void *data, size_t size)
{
	uint64_t n = size;

	sha256_update(ctx, sizeof(n), (const uint8_t *)&n);
	sha256_update(ctx, size, data);
}

/*
 * Returns true if the image's source may include files. Only the target, which reads the source, knows these files. So
 * the key contains the time of the application's build instead: two images of one build include the same text.
 */
static bool may_include(const struct gpubpf_image *image)
{
	return image->built_ns &&
	       (memmem(image->data, image->size, "include", strlen("include")) || strstr(image->options, "include"));
}

void gpubpf_image_key(const struct gpubpf_twin_req *req, uint8_t key[32])
{
	const struct gpubpf_image_copy *copy = req->copy; /* NULL: the image has no headers and includes no files */
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	hash_bytes(&ctx, &req->kind, sizeof(req->kind));
	hash_bytes(&ctx, &req->caps, sizeof(req->caps));
	hash_bytes(&ctx, &req->layout.hash, sizeof(req->layout.hash));
	hash_bytes(&ctx, req->digest, sizeof(req->digest));
	hash_bytes(&ctx, req->options, strlen(req->options));
	hash_bytes(&ctx, req->cwd, strlen(req->cwd));
	if (copy && may_include(&copy->image))
		hash_bytes(&ctx, &req->built_ns, sizeof(req->built_ns));
	for (uint32_t i = 0; copy && i < copy->image.nheaders; i++) {
		const struct gpubpf_header *h = &copy->image.headers[i];

		hash_bytes(&ctx, h->name, strlen(h->name));
		hash_bytes(&ctx, h->data, h->size);
	}
	hash_bytes(&ctx, req->from, strlen(req->from));
	hash_bytes(&ctx, &req->unloadable, sizeof(req->unloadable));
	hash_bytes(&ctx, &req->registers, sizeof(req->registers));
	hash_bytes(&ctx, req->links, req->nlinks * sizeof(*req->links));
	sha256_digest(&ctx, SHA256_DIGEST_SIZE, key);
}

void gpubpf_twin_key(const struct gpubpf_twin_req *req, const uint8_t family[32], uint8_t key[32])
{
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	hash_bytes(&ctx, family, 32);
	for (uint32_t i = 0; i < req->nkernels; i++)
		hash_bytes(&ctx, req->kernels[i].whole, strlen(req->kernels[i].whole));
	sha256_digest(&ctx, SHA256_DIGEST_SIZE, key);
}
