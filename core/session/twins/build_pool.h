/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Twins, requests for twins, and the builders: threads that let workers build twins, so that the event loop never waits
 * for a compiler. The event loop passes a request to a builder, which passes it back; who has it owns it. Builders read
 * only session data that does not change while they run: the options, and the maps and programs in the request's unit
 * and layout.
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

/* A built or refused twin, shared by all requests for it. */
struct gpubpf_twin {
	uint32_t refs;
	enum gpubpf_image_kind kind;
	const char *route; /* the target that built it; with inspect, the target that would build it */
	char instead[240]; /* why a preferred target did not build it; "": no reason */
	void *image;       /* NULL: refused */
	size_t size;
	char options[256];
	char reason[240];       /* why all kernels are refused */
	char assembler[32];     /* name and version of the assembler that built machine code from its text;
				    * "": none */
	bool from_disk;         /* all results were in the cache on disk, so no worker compiled anything */
	bool transient_failure; /* refused for a reason that may not recur, so it is not cached */
	struct gpubpf_twin_kernel {
		char name[256];
		uint32_t id;
		char twin[280]; /* the twin's name in the image; "": refused */
		uint32_t flags; /* enum gpubpf_twin_flags */
		uint32_t nparams;
		struct gpubpf_signature *signature; /* the twin's until it is delivered, then the session's; NULL:
						     * not known */
		char reason[240];
		bool entry_only; /* with inspect: the reason concerns only its exit */
		char *functions; /* names of the functions that it calls (called_functions.h); NULL: not known */
		bool recurses;   /* one of these functions is recursive */
		uint32_t stack;  /* GPUBPF_TWIN_STACK with skip and depth, if its programs need the launch's stack; or
				    * 0 */
		uint8_t named[GPUBPF_PLAN_LINKS / 8]; /* bitmap of programs (by index in the unit) that have a place in
						       * it */
		struct gpubpf_place *places; /* with inspect: the places where programs can run (called_functions.h) */
		uint32_t nplaces;
	} *kernels;
	uint32_t nkernels;
	uint64_t lower_ns, build_ns;
	uint32_t ahead; /* 1: built before an agent requested it; atomic, cleared by the first request */
	bool storable;  /* it may be stored on disk, because all files that it was built from are known */
	void *included; /* these files, as twin_store.c checks them */
	size_t included_size;
};

/* An image as the application passed it, copied from the request's descriptors so that the application cannot change it
 * later. The requests for its kernels share it. */
struct gpubpf_image_copy {
	uint32_t refs;             /* atomic */
	struct gpubpf_image image; /* image without `kernel`, which each request sets in its own copy */
	uint8_t digest[32];        /* SHA-256 of the data */
	void *data, *header_data;
	struct gpubpf_header *headers;
};

struct gpubpf_twin_req {
	struct gpubpf_twin_req *next;
	uint64_t peer;
	uint32_t seq;
	struct gpubpf_device_caps caps;
	struct gpubpf_layout layout; /* layout of the device's arena when the request arrived; the session owns
				      * its rows */
	enum gpubpf_image_kind kind;
	char *options;
	char cwd[256]; /* cwd and built_ns: as in struct gpubpf_image */
	uint64_t built_ns;
	char from[256];      /* the file that contains the image, or that loaded it; "": not known */
	uint32_t unloadable; /* forms of the twin that the runtime failed to load: 1 << enum gpubpf_image_kind */
	uint32_t registers;  /* limit on the registers per thread of the twin, since launches need many blocks
				    * at once; 0: no limit */
	uint64_t identity;   /* the agent's identity of the image, which never denotes another image; 0: none */
	uint8_t digest[32];  /* SHA-256 of the image, if has_digest. Until the image is read, the digest that
				    * belongs to `identity` */
	bool has_digest;
	struct gpubpf_image_copy *copy; /* shared; NULL: the image is in image_fd */
	bool ahead;                     /* the session made the request, before the agent */
	bool lists;                     /* it requests names[] instead of a twin */
	char *names;                    /* names of the image's kernels, from gpubpf_twin_kernels() */
	int image_fd, headers_fd;
	struct gpubpf_twin_header {
		char name[256];
		uint64_t offset, size;
	} *headers;
	uint32_t nheaders;
	struct gpubpf_requested_kernel {
		char name[256]; /* the short name */
		char *whole;    /* the whole name */
		uint32_t id;    /* UINT32_MAX: too many kernels */
	} *kernels;
	uint32_t nkernels;
	uint32_t *links, nlinks; /* the links whose programs are to be inserted */
	struct gpubpf_unit unit; /* copy of the session's unit in which only the programs of these links match kernels
				    * (core/session/base/programs.c) */
	uint64_t submitted_ns, queue_ns;
	struct gpubpf_twin *twin; /* filled in by the builder */
	bool cached;
};

/* The workers of one builder thread. */
struct gpubpf_worker_set {
	struct gpubpf_worker *worker[GPUBPF_NWORKERS]; /* by enum gpubpf_worker_kind */
	bool assembler_hangs;                          /* the session's assembler hung, so do not use it again */
	char assembler[32];                            /* the assembler's name and version, set after its
							* first result */
	const char *stage;                             /* name of the current step, to show to a waiting user; atomic */
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
/* Do twins of the request's image depend only on the image, and not on files that it includes? */
bool gpubpf_image_is_self_contained(const struct gpubpf_twin_req *req);
/* gpubpf_image_key(): SHA-256 of all inputs of the image's twins except the kernels, with the image's digest.
 * gpubpf_twin_key(): SHA-256 of this key (`family`) and the kernels. */
void gpubpf_image_key(const struct gpubpf_twin_req *req, uint8_t key[32]);
void gpubpf_twin_key(const struct gpubpf_twin_req *req, const uint8_t family[32], uint8_t key[32]);

/* twin_build.c: build the twin. Always fills twin: an image, or reasons. */
void gpubpf_twin_make(const struct gpubpf_session *s, struct gpubpf_worker_set *set, const struct gpubpf_twin_req *req,
		      const struct gpubpf_image *image, struct gpubpf_twin *twin);
/* Names of all kernels of the image, each followed by a NUL, two NULs at the end; malloc'd. NULL: not known. */
char *gpubpf_twin_kernels(const struct gpubpf_session *s, struct gpubpf_worker_set *set,
			  const struct gpubpf_twin_req *req, const struct gpubpf_image *image);

/* prefetch.c, event loop only: images whose kernels agents request one by one, the newest image first. */
struct gpubpf_prefetch {
	struct gpubpf_siblings *list;
	uint32_t n;
};
/* After the answer to a request: submit requests for kernels of the same image that are not requested yet. */
void gpubpf_prefetch_siblings(struct gpubpf_session *s, struct gpubpf_prefetch *ahead, struct gpubpf_twin_req *req);
void gpubpf_prefetch_finish(struct gpubpf_prefetch *ahead);

/* build_pool.c */
int gpubpf_builders_create(struct gpubpf_session *s, struct gpubpf_builders **makers);
/* Cancels builds in progress, and frees the builders. makers may be NULL. */
void gpubpf_builders_destroy(struct gpubpf_builders *makers);
void gpubpf_builders_submit(struct gpubpf_builders *makers, struct gpubpf_twin_req *req);
/* The oldest build in progress: its first kernel, and its stage or NULL. False: no build is in progress. */
bool gpubpf_builders_current(struct gpubpf_builders *makers, char *kernel, size_t size, const char **stage);
/* Takes the list of finished requests. Only the event loop calls it. */
struct gpubpf_twin_req *gpubpf_builders_collect(struct gpubpf_builders *makers);
/* After the answer to a finished request: submit requests for other kernels of its image, and free it. */
void gpubpf_builders_finish(struct gpubpf_session *s, struct gpubpf_twin_req *done);

/* twin_costs.c: adds a finished request to the session's costs, and stores facts about its kernels. The build time of a
 * twin that was built ahead counts for the first request for it. */
void gpubpf_twin_account(struct gpubpf_session *s, const struct gpubpf_twin_req *req);

#endif
