/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Twins, requests for them, and the builders: threads that let workers build twins, so that the event loop never waits
 * for a compiler. A request travels from the loop to a builder and back, and its holder owns it. Builders read only
 * session data that does not change while they run: the options, and the maps and programs in the request's unit and
 * layout.
 */
#ifndef GPUBPF_CORE_SESSION_MAKERS_H
#define GPUBPF_CORE_SESSION_MAKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/wire/protocol.h"
#include "core/wire/caps.h"
#include "core/model/prog.h"
#include "core/target.h"
#include "maps/maps.h"

struct gpubpf_builders;
struct gpubpf_session;
struct gpubpf_worker;

/* An answer, shared by all requests for the same twin. */
struct gpubpf_twin {
	uint32_t refs;
	enum gpubpf_image_kind kind;
	const char *route;         /* the target that built it; inspect: the one that would */
	char instead[240];         /* why a preferred target did not; "": no reason */
	void *image;               /* NULL: refused */
	size_t size;
	char options[256];
	char reason[240];          /* why all kernels are refused */
	char assembler[32];        /* the assembler that built code from its text, with version; "": none */
	bool from_disk;            /* no worker compiled for it: all results were in the cache on disk */
	bool transient_failure;              /* refused for a reason that may not recur: not to be cached */
	struct gpubpf_twin_kernel {
		char name[256];
		uint32_t id;
		char twin[280];    /* "": refused */
		uint32_t flags;    /* enum gpubpf_twin_flags */
		uint32_t nparams;
		struct gpubpf_signature *signature; /* the twin's until it is delivered, then the session's; NULL:
						     * not known */
		char reason[240];
		bool entry_only;   /* inspect: reason concerns its exit only */
		char *functions;   /* functions that it calls (called_functions.h); NULL: not known */
		bool recurses;     /* one of them is recursive */
		uint32_t stack;    /* stack flags, as in `flags`: what its programs need of the launch's stack, or 0 */
		uint8_t named[GPUBPF_PLAN_LINKS / 8]; /* programs that have a place in it */
		struct gpubpf_place *places; /* inspect: places where programs can run (called_functions.h) */
		uint32_t nplaces;
	} *kernels;
	uint32_t nkernels;
	uint64_t lower_ns, build_ns;
	uint32_t ahead;            /* built before its request; atomic, cleared by the first request */
	bool storable;             /* it can be stored on disk: all files that it was built from are known */
	void *included;            /* these files, as twin_store.c checks them */
	size_t included_size;
};

/* An image as the application passed it, copied from the request's descriptors so that the application cannot change it
 * later. The requests for its kernels share it. */
struct gpubpf_image_copy {
	uint32_t refs;             /* atomic */
	struct gpubpf_image image; /* for any kernel: a request sets its `kernel` */
	uint8_t digest[32];        /* SHA-256 of the data */
	void *data, *header_data;
	struct gpubpf_header *headers;
};

struct gpubpf_twin_req {
	struct gpubpf_twin_req *next;
	uint64_t peer;
	uint32_t seq;
	struct gpubpf_device_caps caps;
	struct gpubpf_layout layout; /* of the device's arena at the time of the request; the session owns the rows */
	enum gpubpf_image_kind kind;
	char *options;
	char cwd[256];             /* as struct gpubpf_image describes */
	uint64_t built_ns;
	char from[256];            /* the file that contains the image, or that loaded it; "": not known */
	uint32_t unloadable;       /* forms of the twin that the runtime failed to load: 1 << enum gpubpf_image_kind */
	uint32_t registers;        /* limit on the registers per thread of the twin, since launches need many blocks
				    * at once; 0: no limit */
	uint64_t identity;         /* the peer's key for the image, 0: none. It does not change */
	uint8_t digest[32];        /* of the image, if has_digest; by the peer's identity until the image is read */
	bool has_digest;
	struct gpubpf_image_copy *copy; /* shared; NULL: the image is in image_fd */
	bool ahead;                /* it precedes the agent's request */
	bool lists;                /* it requests the names of the image's kernels */
	char *names;               /* the answer of gpubpf_twin_kernels() */
	int image_fd, headers_fd;
	struct gpubpf_twin_header {
		char name[256];
		uint64_t offset, size;
	} *headers;
	uint32_t nheaders;
	struct gpubpf_requested_kernel {
		char name[256];    /* the short name */
		char *whole;       /* the whole name */
		uint32_t id;       /* UINT32_MAX: too many kernels */
	} *kernels;
	uint32_t nkernels;
	uint32_t *links, nlinks;   /* the links whose programs are to be inserted */
	struct gpubpf_unit unit;   /* the unit in which only these programs match kernels (core/session/base/programs.c) */
	uint64_t submitted_ns, queue_ns;
	struct gpubpf_twin *twin;  /* filled in by the builder */
	bool cached;
};

/* The workers of one builder thread. */
struct gpubpf_worker_set {
	struct gpubpf_worker *worker[GPUBPF_NWORKERS]; /* by enum gpubpf_worker_kind */
	bool assembler_hangs;                          /* the session's assembler hung, so do not use it again */
	char assembler[32];                            /* its name and version, after its first result */
	const char *stage;                             /* the current step, for a waiting user; atomic */
};

/* request.c */
struct gpubpf_twin_req *gpubpf_twin_req_new(void);
void gpubpf_twin_req_free(struct gpubpf_twin_req *req);
struct gpubpf_twin *gpubpf_twin_new(const struct gpubpf_twin_req *req);
void gpubpf_twin_put(struct gpubpf_twin *twin);
/* Remove the results of a build. */
void gpubpf_twin_clear(struct gpubpf_twin *twin);
void gpubpf_twin_refuse(struct gpubpf_twin *twin, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Fill req->copy and its digest, if they are not set. 0 or -errno with the reason in `why`. */
int gpubpf_image_read(struct gpubpf_twin_req *req, char *why, size_t why_size);
struct gpubpf_image_copy *gpubpf_image_copy_get(struct gpubpf_image_copy *copy);
void gpubpf_image_copy_put(struct gpubpf_image_copy *copy);
/* Do twins of the request's image depend only on the image and its digest, and not on files that it includes? */
bool gpubpf_image_is_self_contained(const struct gpubpf_twin_req *req);
/* gpubpf_image_key(): SHA-256 of all inputs of the image's twins except the kernels, with the image's digest.
 * gpubpf_twin_key(): the same with the kernels. */
void gpubpf_image_key(const struct gpubpf_twin_req *req, uint8_t key[32]);
void gpubpf_twin_key(const struct gpubpf_twin_req *req, const uint8_t family[32], uint8_t key[32]);

/* twin_build.c: build the twin. Always fills twin: an image, or reasons. */
void gpubpf_twin_make(const struct gpubpf_session *s, struct gpubpf_worker_set *set,
		      const struct gpubpf_twin_req *req, const struct gpubpf_image *image,
		      struct gpubpf_twin *twin);
/* Names of all kernels of the image, each followed by a NUL, two NULs at the end; malloc'd. NULL: not known. */
char *gpubpf_twin_kernels(const struct gpubpf_session *s, struct gpubpf_worker_set *set, const struct gpubpf_twin_req *req,
			  const struct gpubpf_image *image);

/* prefetch.c, event loop only: images whose kernels are requested one by one, newest first. */
struct gpubpf_prefetch {
	struct gpubpf_siblings *list;
	uint32_t n;
};
/* After the answer to a request: submit requests for kernels of the same image that are not requested yet. */
void gpubpf_prefetch_siblings(struct gpubpf_session *s, struct gpubpf_prefetch *ahead, struct gpubpf_twin_req *req);
void gpubpf_prefetch_finish(struct gpubpf_prefetch *ahead);

/* build_pool.c */
int gpubpf_builders_create(struct gpubpf_session *s, struct gpubpf_builders **makers);
/* Cancels builds in progress. makers may be NULL. */
void gpubpf_builders_destroy(struct gpubpf_builders *makers);
void gpubpf_builders_submit(struct gpubpf_builders *makers, struct gpubpf_twin_req *req);
/* The oldest build in progress: its first kernel, and its stage or NULL. False: no build is in progress. */
bool gpubpf_builders_current(struct gpubpf_builders *makers, char *kernel, size_t size, const char **stage);
/* In the event loop: take the finished requests, a list. */
struct gpubpf_twin_req *gpubpf_builders_collect(struct gpubpf_builders *makers);
/* After the answer to such a request: submit requests for kernels of the same image, and free it. */
void gpubpf_builders_finish(struct gpubpf_session *s, struct gpubpf_twin_req *done);

/* twin_costs.c: count the costs of a finished request, and store facts about its kernels. The first request for a twin
 * that was built ahead gets that twin's build time. */
void gpubpf_twin_account(struct gpubpf_session *s, const struct gpubpf_twin_req *req);

#endif
