/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Twins: requests, what became of them, and the makers: threads that have them made by workers, so that
 * the event loop never waits for a compiler. A request travels loop -> maker -> loop; whoever has it
 * owns it. Makers read of the session only what does not change while it runs: options, maps and programs that a
 * request has in its unit and layout.
 */
#ifndef GPUBPF_CORE_SESSION_MAKERS_H
#define GPUBPF_CORE_SESSION_MAKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/wire/protocol.h"
#include "core/wire/caps.h"
#include "core/prog.h"
#include "core/target.h"
#include "maps/maps.h"

struct gpubpf_makers;
struct gpubpf_session;
struct gpubpf_worker;

/* an answer, shared by all requests that ask for the same */
struct gpubpf_twin {
	uint32_t refs;
	enum gpubpf_image_kind kind;
	const char *route;         /* the target that made it, or, inspect, that would */
	char instead[240];         /* why not one that is preferred; "": none is */
	void *image;               /* NULL: refused */
	size_t size;
	char options[256];
	char reason[240];          /* all refused: why */
	char assembler[32];        /* that made code of its text, and its version; "": none did */
	bool from_disk;            /* no worker compiled for it: all was in the cache on disk */
	bool passing;              /* refused for a reason that may be gone the next time: not to be cached */
	struct gpubpf_twin_kernel {
		char name[256];
		uint32_t id;
		char twin[280];    /* "" refused */
		uint32_t flags;    /* enum gpubpf_twin_flags */
		uint32_t nparams;
		struct gpubpf_signature *signature; /* the session's from when the twin is handed over; NULL: not known */
		char reason[240];
		bool entry_only;   /* inspect: reason is of its exit alone */
		char *functions;   /* that it calls: called_functions.h; NULL: not known */
		bool recurses;     /* one of them calls itself */
		uint32_t stack;    /* of `flags`, what its programs want of the stack of its launches; 0: nothing */
		uint8_t named[GPUBPF_PLAN_LINKS / 8]; /* programs that have a place in it */
		struct gpubpf_place *places; /* inspect: that programs can run at; called_functions.h */
		uint32_t nplaces;
	} *kernels;
	uint32_t nkernels;
	uint64_t lower_ns, build_ns;
	uint32_t ahead;            /* made before it was asked for; atomic, and 0 when it has been */
	bool storable;             /* it may be kept on disk: all files that it was made of are known, */
	void *included;            /* and what of them is checked (twin_store.c) */
	size_t included_size;
};

/* An image as the application handed it over, copied out of a request's descriptors so that nobody can change it
 * meanwhile; shared by the requests for its kernels. */
struct gpubpf_image_copy {
	uint32_t refs;             /* atomic */
	struct gpubpf_image image; /* of any kernel: its `kernel` is the request's to say */
	uint8_t digest[32];        /* SHA-256 of the data */
	void *data, *header_data;
	struct gpubpf_header *headers;
};

struct gpubpf_twin_req {
	struct gpubpf_twin_req *next;
	uint64_t peer;
	uint32_t seq;
	struct gpubpf_device_caps caps;
	struct gpubpf_layout layout; /* of the device's arena, as it was when this came; the rows are the session's */
	enum gpubpf_image_kind kind;
	char *options;
	char cwd[256];             /* as struct gpubpf_image says */
	uint64_t built_ns;
	char from[256];            /* the file in which the application has the image, or which loaded it; "" unknown */
	uint32_t unloadable;       /* forms of the twin that the runtime has not loaded: 1 << enum gpubpf_image_kind */
	uint32_t registers;        /* that a thread of the twin may have, since launches need many blocks at once; 0: all it takes */
	uint64_t identity;         /* of the image among the peer's, which does not change; 0: it has none */
	uint8_t digest[32];        /* of the image, if has_digest: as the peer's identity says until it has been read */
	bool has_digest;
	struct gpubpf_image_copy *copy; /* shared, or NULL: in image_fd */
	bool ahead;                /* nobody has asked for it yet; */
	bool lists;                /* it asks which kernels the image has: */
	char *names;               /* as gpubpf_twin_kernels() gives them */
	int image_fd, headers_fd;
	struct gpubpf_twin_header {
		char name[256];
		uint64_t offset, size;
	} *headers;
	uint32_t nheaders;
	struct gpubpf_wanted {
		char name[256];    /* short, */
		char *whole;       /* and not */
		uint32_t id;       /* UINT32_MAX: too many kernels */
	} *kernels;
	uint32_t nkernels;
	uint32_t *links, nlinks;   /* whose programs are to be put in, */
	struct gpubpf_unit unit;   /* and the unit where only these are for kernels (attach.c) */
	uint64_t submitted_ns, queue_ns;
	struct gpubpf_twin *twin;  /* filled by the maker */
	bool cached;
};

/* the workers that one maker thread uses */
struct gpubpf_worker_set {
	struct gpubpf_worker *worker[GPUBPF_NWORKERS]; /* by enum gpubpf_worker_kind */
	bool assembler_hangs;                          /* the session's: it is not tried again */
	char assembler[32];                            /* its name and version, once it has made something */
	const char *stage;                             /* what is being done, for a user who waits; atomic */
};

/* request.c */
struct gpubpf_twin_req *gpubpf_twin_req_new(void);
void gpubpf_twin_req_free(struct gpubpf_twin_req *req);
struct gpubpf_twin *gpubpf_twin_new(const struct gpubpf_twin_req *req);
void gpubpf_twin_put(struct gpubpf_twin *twin);
/* What was made of it is as if it had not been. */
void gpubpf_twin_clear(struct gpubpf_twin *twin);
void gpubpf_twin_refuse(struct gpubpf_twin *twin, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Fill req->copy and its digest, where it has none yet. 0 or -errno with the reason in `why`. */
int gpubpf_image_read(struct gpubpf_twin_req *req, char *why, size_t why_size);
struct gpubpf_image_copy *gpubpf_image_copy_get(struct gpubpf_image_copy *copy);
void gpubpf_image_copy_put(struct gpubpf_image_copy *copy);
/* Whether twins of the request's image depend on it and its digest alone, not on files that it includes. */
bool gpubpf_image_stands_alone(const struct gpubpf_twin_req *req);
/* SHA-256 of all that twins of the image depend on but for the kernels, by its digest; and with the kernels. */
void gpubpf_family_key(const struct gpubpf_twin_req *req, uint8_t key[32]);
void gpubpf_twin_key(const struct gpubpf_twin_req *req, const uint8_t family[32], uint8_t key[32]);

/* twin_make.c: make it. Always fills twin: an image, or reasons. */
void gpubpf_twin_make(const struct gpubpf_session *s, struct gpubpf_worker_set *set,
		      const struct gpubpf_twin_req *req, const struct gpubpf_image *image,
		      struct gpubpf_twin *twin);
/* Names of all kernels of the image, separated by NULs, two at the end; malloc'd. NULL: not known. */
char *gpubpf_twin_kernels(const struct gpubpf_session *s, struct gpubpf_worker_set *set, const struct gpubpf_twin_req *req,
			  const struct gpubpf_image *image);

/* twin_ahead.c, in the loop: images of which kernels are asked for one by one, newest first */
struct gpubpf_ahead {
	struct gpubpf_siblings *list;
	uint32_t n;
};
/* A request was answered: submit some for kernels of the same image that nobody has asked for yet. */
void gpubpf_ahead_of(struct gpubpf_session *s, struct gpubpf_ahead *ahead, struct gpubpf_twin_req *req);
void gpubpf_ahead_finish(struct gpubpf_ahead *ahead);

/* makers.c */
int gpubpf_makers_create(struct gpubpf_session *s, struct gpubpf_makers **makers);
/* Cancels what is being made. makers may be NULL. */
void gpubpf_makers_destroy(struct gpubpf_makers *makers);
void gpubpf_makers_submit(struct gpubpf_makers *makers, struct gpubpf_twin_req *req);
/* Of what has been made for the longest time: the first kernel, and the stage or NULL. False: nothing is. */
bool gpubpf_makers_now(struct gpubpf_makers *makers, char *kernel, size_t size, const char **stage);
/* In the loop: answer what is done. Requests answered. */
int gpubpf_makers_collect(struct gpubpf_session *s);

#endif
