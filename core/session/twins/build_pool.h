/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defines twins, requests for twins, and the builders. Builders are threads that let worker processes build twins, so
 * that the event loop never waits for a compiler. The event loop passes a request to a builder, which owns it and
 * passes it back.
 *
 * Builders read only session data that does not change while they run. This data is the options, and the maps and
 * programs in the unit and layout of the request.
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
	const char *route; /* target that built the twin; with inspect, the target that would build it */
	char instead[240]; /* why a preferred target did not build the twin; "": none is preferred */
	void *image;       /* NULL: refused */
	size_t size;
	struct gpubpf_blob code; /* machine code that the user's assembler made from the PTX in image; empty: none */
	char options[256];
	char reason[240];       /* why all kernels of the request are refused; "": see kernels[].reason */
	char assembler[32];     /* name and version of the assembler that made `code`; "": none */
	bool from_disk;         /* all results were cached on disk, so no worker compiled anything */
	bool transient_failure; /* the reason of the refusal may not recur, so the refusal is not cached */
	bool is_session_only; /* cached in the session, not on disk: the vendor's compiler crashed on a kernel's twin */
	struct gpubpf_twin_kernel {
		char name[256];
		uint32_t id;
		char twin[280]; /* name of the kernel's twin in the image; "": refused */
		uint32_t flags; /* enum gpubpf_twin_flags */
		uint32_t nparams;
		/* NULL, or parameters that the session takes over with the finished twin */
		struct gpubpf_signature *signature;
		char reason[240];
		bool entry_only; /* with inspect: the reason concerns only the kernel's exit */
		/* names of the functions that the kernel calls (called_functions.h); NULL: not known */
		char *functions;
		bool recurses; /* the kernel calls a recursive function */
		/* GPUBPF_TWIN_STACK with skip and depth if a program uses the launch's stack; else 0 */
		uint32_t stack;
		/* bit mask of programs, by index in the unit, that have a place in the kernel */
		uint8_t named[GPUBPF_PLAN_LINKS / 8];
		struct gpubpf_place *places; /* with inspect: the places where programs can run (called_functions.h) */
		uint32_t nplaces;
	} *kernels;
	uint32_t nkernels;
	uint64_t lower_ns, build_ns;
	uint32_t ahead; /* 1 until the first request, if the twin was built before an agent requested it; atomic */
	bool storable;  /* the twin may be stored on disk, because all files from which it was built are known */
	void *included; /* names and states of these files, which twin_store.c checks */
	size_t included_size;
};

/*
 * A copy of an image from the request's descriptors, which the application cannot change. All requests for kernels of
 * the image share it.
 */
struct gpubpf_image_copy {
	uint32_t refs;             /* atomic */
	struct gpubpf_image image; /* the image; `kernel` is not set, because it differs by request */
	uint8_t digest[32];        /* SHA-256 of `data` */
	void *data, *header_data;
	struct gpubpf_header *headers;
};

struct gpubpf_twin_req {
	struct gpubpf_twin_req *next;
	uint64_t peer;
	uint32_t seq;
	struct gpubpf_device_caps caps;
	/* layout of the device's arena when the request arrived; the session owns its arrays */
	struct gpubpf_layout layout;
	enum gpubpf_image_kind kind;
	char *options;
	char cwd[256]; /* cwd and built_ns have the meaning of struct gpubpf_image */
	uint64_t built_ns;
	char from[256];      /* path of the file that contains or loaded the image; "": not known */
	uint32_t unloadable; /* kinds of twin that the runtime failed to load, as bits 1 << enum gpubpf_image_kind */
	/* limit on the twin's registers per thread, for a launch that needs many blocks at once; 0: no limit */
	uint32_t registers;
	uint64_t identity; /* 0, or the agent's key for the image, which the agent never uses for another image */
	/*
	 * SHA-256 of the image, if has_digest is set. Until the image is read, this is the digest of the image that the
	 * peer sent earlier with the same `identity`
	 */
	uint8_t digest[32];
	bool has_digest;
	struct gpubpf_image_copy *copy; /* shared by requests; NULL: the image is in image_fd */
	bool ahead;                     /* the session made the request, because no agent has requested the twin yet */
	bool lists;                     /* the request is for names[], not for a twin */
	char *names;                    /* result of gpubpf_twin_kernels(): names of the image's kernels */
	int image_fd, headers_fd;
	struct gpubpf_twin_header {
		char name[256];
		uint64_t offset, size;
	} *headers;
	uint32_t nheaders;
	struct gpubpf_requested_kernel {
		char name[256]; /* the short name */
		char *whole;    /* the whole name */
		uint32_t id;    /* id of the kernel in the session; UINT32_MAX: the session has too many kernels */
	} *kernels;
	uint32_t nkernels;
	uint32_t *links, nlinks; /* the links whose programs the twin has */
	/*
	 * copy of the session's unit in which only the programs of `links` match kernels (core/session/base/programs.c)
	 */
	struct gpubpf_unit unit;
	uint64_t submitted_ns, queue_ns;
	struct gpubpf_twin *twin; /* the result, which the builder sets */
	bool cached;
};

/* The workers of one builder thread. */
struct gpubpf_worker_set {
	struct gpubpf_worker *worker[GPUBPF_NWORKERS]; /* indexed by enum gpubpf_worker_kind */
	/* the user's assembler exceeded its time limit, so it is not used again */
	bool assembler_hangs;
	/* name and version of the assembler; set after its first result */
	char assembler[32];
	/* stages of the current step (core/target.h), which the tool shows to a waiting user; atomic */
	uint32_t step;
};

/* request.c */
struct gpubpf_twin_req *gpubpf_twin_req_new(void);
void gpubpf_twin_req_free(struct gpubpf_twin_req *req);
struct gpubpf_twin *gpubpf_twin_new(const struct gpubpf_twin_req *req);
void gpubpf_twin_put(struct gpubpf_twin *twin);
/* Reset *twin to the state before the build. */
void gpubpf_twin_clear(struct gpubpf_twin *twin);
void gpubpf_twin_refuse(struct gpubpf_twin *twin, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Set req->copy and its digest, if they are not set. Returns 0, or -errno with the reason in `why`. */
int gpubpf_image_read(struct gpubpf_twin_req *req, char *why, size_t why_size);
struct gpubpf_image_copy *gpubpf_image_copy_get(struct gpubpf_image_copy *copy);
void gpubpf_image_copy_put(struct gpubpf_image_copy *copy);
/* Returns true if the twins of the request's image depend only on the image, because it includes no files. */
bool gpubpf_image_is_self_contained(const struct gpubpf_twin_req *req);
/*
 * The first function computes a key of the image: the SHA-256 of all inputs that its twins share, such as the image's
 * digest. The second computes the key of a twin: the SHA-256 of the image's key (`family`) and the kernels' names.
 */
void gpubpf_image_key(const struct gpubpf_twin_req *req, uint8_t key[32]);
void gpubpf_twin_key(const struct gpubpf_twin_req *req, const uint8_t family[32], uint8_t key[32]);

/* Implemented in twin_build.c. Build the twin. Afterwards *twin has an image, or the reasons why there is none. */
void gpubpf_twin_make(const struct gpubpf_session *s, struct gpubpf_worker_set *set, const struct gpubpf_twin_req *req,
		      const struct gpubpf_image *image, struct gpubpf_twin *twin);
/*
 * Returns the names of all kernels of the image, malloc'd. A NUL follows each name, and one more NUL ends the list.
 * NULL: not known.
 */
char *gpubpf_twin_kernels(const struct gpubpf_session *s, struct gpubpf_worker_set *set,
			  const struct gpubpf_twin_req *req, const struct gpubpf_image *image);

/*
 * Used by prefetch.c, only in the event loop. Images whose kernels agents request one by one, the newest image first.
 */
struct gpubpf_prefetch {
	struct gpubpf_siblings *list;
	uint32_t n;
};
/*
 * Called after the answer to a request. Submits requests for kernels of the same image that no agent has requested yet.
 */
void gpubpf_prefetch_siblings(struct gpubpf_session *s, struct gpubpf_prefetch *ahead, struct gpubpf_twin_req *req);
void gpubpf_prefetch_finish(struct gpubpf_prefetch *ahead);

/* build_pool.c */
/* wake: an eventfd that a builder writes when it has finished a request. */
int gpubpf_builders_create(struct gpubpf_session *s, int wake, struct gpubpf_builders **makers);
/* Cancel builds in progress, and free the builders. makers may be NULL. */
void gpubpf_builders_destroy(struct gpubpf_builders *makers);
void gpubpf_builders_submit(struct gpubpf_builders *makers, struct gpubpf_twin_req *req);
/*
 * Store the first kernel of the oldest build in progress in `kernel`, and the stages of its current step (or 0) in
 * *step. Returns false if no build is in progress.
 */
bool gpubpf_builders_current(struct gpubpf_builders *makers, char *kernel, size_t size, uint32_t *step);
/* Take the list of finished requests. Only the event loop calls this function. */
struct gpubpf_twin_req *gpubpf_builders_collect(struct gpubpf_builders *makers);
/*
 * Called after the answer to a finished request. Submits requests for other kernels of the same image, and frees
 * `done`.
 */
void gpubpf_builders_finish(struct gpubpf_session *s, struct gpubpf_twin_req *done);

/*
 * Implemented in twin_costs.c. Adds a finished request to the session's costs, and stores facts about its kernels. If
 * the twin was built before an agent requested it, its build time counts for the first request.
 */
void gpubpf_twin_account(struct gpubpf_session *s, const struct gpubpf_twin_req *req);

#endif
