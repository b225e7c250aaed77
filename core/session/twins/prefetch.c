/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds twins before an agent requests them, for runtimes that load the twin of each kernel separately. An application
 * that launches one kernel of an image probably launches other kernels of it, and would wait for each twin.
 *
 * After the first request for an image, the session lists the kernels of the image. After each request, idle builders
 * build a few more twins. An application that uses three of a thousand kernels causes only a few unnecessary builds.
 * For an application that uses all kernels, most twins are ready when they are requested.
 */
#include "build_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/match.h"
#include "core/wire/name.h"
#include "private.h"

#define FIRST_BATCH 16              /* number of twins to build when the kernels of a new image have been listed */
#define NEXT_BATCH 4                /* number of twins to build after each further request */
#define MAX_IMAGE_BYTES (64u << 20)
#define MAX_IMAGES 1024             /* maximum number of images, including images whose twins are all built */

/*
 * An image whose other kernels agents may request later. `family` is the key of all requests for the image
 * (gpubpf_image_key()).
 */
struct gpubpf_siblings {
	struct gpubpf_siblings *next;
	uint8_t family[32];
	struct gpubpf_image_copy *copy; /* NULL: no further twins of the image are built in advance */
	char *names;                    /* names of the image's kernels; NULL: a builder is still listing them */
	const char *at;                 /* next name in `names` for which no twin was requested; "": no more */
};

/* Free the image and its names. The entry stays in the list, so that the image is not listed again. */
static void close_siblings(struct gpubpf_siblings *l)
{
	gpubpf_image_copy_put(l->copy);
	free(l->names);
	l->copy = NULL;
	l->names = NULL;
}

void gpubpf_prefetch_finish(struct gpubpf_prefetch *ahead)
{
	while (ahead->list) {
		struct gpubpf_siblings *l = ahead->list;

		ahead->list = l->next;
		close_siblings(l);
		free(l);
	}
}

static struct gpubpf_siblings *find_siblings(const struct gpubpf_prefetch *ahead, const uint8_t family[32])
{
	struct gpubpf_siblings *l = ahead->list;

	while (l && memcmp(l->family, family, 32))
		l = l->next;
	return l;
}

/* Add an entry for the image. If all images together exceed MAX_IMAGE_BYTES, close the oldest entries. */
static struct gpubpf_siblings *open_siblings(struct gpubpf_prefetch *ahead, const uint8_t family[32],
					     struct gpubpf_image_copy *copy)
{
	struct gpubpf_siblings *l = ahead->n < MAX_IMAGES && copy->image.size <= MAX_IMAGE_BYTES ? calloc(1, sizeof(*l)) :
												   NULL;
	uint64_t bytes = copy->image.size;

	if (!l)
		return NULL;
	for (struct gpubpf_siblings *other = ahead->list; other; other = other->next) {
		bytes += other->copy ? other->copy->image.size : 0;
		if (bytes > MAX_IMAGE_BYTES)
			close_siblings(other);
	}
	memcpy(l->family, family, sizeof(l->family));
	l->copy = gpubpf_image_copy_get(copy);
	ahead->n++;
	l->next = ahead->list;
	ahead->list = l;
	return l;
}

/*
 * Returns true if a program of the unit matches the kernel. Returns false for a name that may be truncated, because the
 * agent would request the twin by the full name.
 */
static bool is_wanted(const struct gpubpf_unit *unit, const char *name)
{
	for (uint32_t i = 0; i < unit->nprogs && strlen(name) < GPUBPF_NAME_SIZE - 1; i++)
		if (gpubpf_place_kind(unit->progs[i].site)->names == GPUBPF_NAMES_KERNEL &&
		    gpubpf_pattern_matches(unit->progs[i].pattern, name))
			return true;
	return false;
}

static int name_kernel(struct gpubpf_session *s, struct gpubpf_twin_req *r, const char *name)
{
	r->kernels = calloc(1, sizeof(*r->kernels));
	if (!r->kernels)
		return -ENOMEM;
	r->nkernels = 1;
	gpubpf_name_short(name, strlen(name), r->kernels[0].name);
	r->kernels[0].whole = strdup(name);
	r->kernels[0].id = gpubpf_kernel_id(s, r->kernels[0].name);
	gpubpf_kernel_set_full_name(s, r->kernels[0].id, name);
	return r->kernels[0].whole && r->kernels[0].id != UINT32_MAX ? 0 : -ENOMEM;
}

/* Make a request like the one that the agent would send for this kernel of the image. */
static struct gpubpf_twin_req *make_request(struct gpubpf_session *s, const struct gpubpf_twin_req *req,
					    struct gpubpf_image_copy *copy, const char *name)
{
	struct gpubpf_twin_req *r = gpubpf_twin_req_new();

	if (!r)
		return NULL;
	r->caps = req->caps;
	r->layout = req->layout;
	r->kind = req->kind;
	r->unloadable = req->unloadable;
	r->identity = req->identity;
	memcpy(r->cwd, req->cwd, sizeof(r->cwd));
	memcpy(r->from, req->from, sizeof(r->from));
	memcpy(r->digest, copy->digest, sizeof(r->digest));
	r->has_digest = r->ahead = true;
	r->copy = gpubpf_image_copy_get(copy);
	r->options = strdup(req->options);
	r->links = calloc(req->nlinks + 1, sizeof(*r->links));
	if (r->options && r->links && !name_kernel(s, r, name)) {
		r->nlinks = req->nlinks;
		memcpy(r->links, req->links, req->nlinks * sizeof(*r->links));
		if (!gpubpf_links_make_unit(s, r->links, r->nlinks, &r->unit))
			return r;
	}
	gpubpf_twin_req_free(r);
	return NULL;
}

static void submit_some(struct gpubpf_session *s, struct gpubpf_siblings *l, const struct gpubpf_twin_req *req, uint32_t n)
{
	for (; n && *l->at; l->at += strlen(l->at) + 1) {
		struct gpubpf_twin_req *r = is_wanted(&req->unit, l->at) && strcmp(l->at, req->kernels[0].whole) ?
						    make_request(s, req, l->copy, l->at) :
						    NULL;

		if (!r)
			continue;
		gpubpf_builders_submit(s->twins->builders, r);
		n--;
	}
}

/* Submit a request that lists the names of all kernels of the image. */
static void submit_list(struct gpubpf_session *s, struct gpubpf_siblings *l, const struct gpubpf_twin_req *req)
{
	struct gpubpf_twin_req *r = make_request(s, req, l->copy, req->kernels[0].whole);

	if (!r)
		return;
	r->lists = true;
	gpubpf_builders_submit(s->twins->builders, r);
}

void gpubpf_prefetch_siblings(struct gpubpf_session *s, struct gpubpf_prefetch *ahead, struct gpubpf_twin_req *req)
{
	struct gpubpf_siblings *l;
	uint8_t family[32];

	if (!req->identity || !req->has_digest || req->nkernels != 1 || req->registers || s->opts.inspect ||
	    /* req->registers: a twin with a limit on registers serves only the launch that requires the limit */
	    (req->ahead && !req->lists))
		return;
	gpubpf_image_key(req, family);
	l = find_siblings(ahead, family);
	if (!l && req->copy) {
		l = open_siblings(ahead, family, req->copy);
		if (l)
			submit_list(s, l, req);
	} else if (l && req->lists && req->names && l->copy && !l->names) {
		l->names = req->names;
		l->at = l->names;
		req->names = NULL;
		submit_some(s, l, req, FIRST_BATCH);
	} else if (l && l->names) {
		submit_some(s, l, req, NEXT_BATCH);
	}
	if (l && l->names && !*l->at)
		close_siblings(l);
}
