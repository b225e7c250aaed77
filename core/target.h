/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target: pure compile work, in a worker, on any machine. What it takes is data, the same in every process; its
 * operations are linked where it runs. They are thread-compatible, touch no global state, and treat every image as
 * hostile: bounds-checked, and an error with a diagnostic rather than a crash. (A crash would cost the probe, not the
 * application.)
 */
#ifndef GPUBPF_CORE_TARGET_H
#define GPUBPF_CORE_TARGET_H

#include "core/lower/lower.h"
#include "core/wire/image.h"

struct gpubpf_diag;
struct gpubpf_twin_image;
struct gpubpf_twin_piece;

#define GPUBPF_TWIN_PREFIX "gpubpf_twin_" /* of a twin's name: the kernel's is behind it, in its short form */

enum gpubpf_kernel_flags {
	GPUBPF_KINFO_BARRIER = 1 << 0,   /* it or what it calls has a barrier or a group function */
	GPUBPF_KINFO_LOCAL = 1 << 1,     /* it declares local (shared) variables itself */
	GPUBPF_KINFO_GLOBALS = 1 << 2,   /* its program has writable program-scope variables */
	GPUBPF_KINFO_FUNCTION = 1 << 3,  /* no kernel: a function that kernels call */
	GPUBPF_KINFO_ENTRY_ONLY = 1 << 4, /* it can be probed at its entry alone; reason says why */
};

/* one kernel of an application's image, as inspect() reports it, or one function that can be called */
struct gpubpf_kernel_info {
	char name[256];            /* as the runtime knows it (mangled) */
	struct gpubpf_param *params;
	uint32_t nparams;
	uint32_t regs;             /* registers a thread, 0 unknown */
	char arch[16];             /* of machine code that may be for several: "sm_90"; else "" */
	uint32_t flags;            /* enum gpubpf_kernel_flags */
	uint32_t *callees;         /* FUNCTIONs that it calls itself: indices in the list */
	uint32_t ncallees;
	struct gpubpf_place *places; /* of its own code, kind by kind in the order of their ids; function is NULL */
	uint32_t nplaces;
	char reason[240];          /* why it cannot be probed; "" if it can */
};

/* a thread's registers at a place of machine code */
struct gpubpf_live {
	uint32_t most;             /* that code can name, of 32 bits each */
	uint32_t from, to;         /* those from `from` below `to` hold what is needed, or may still be written by what the
				    * kernel began: a probe that writes another one keeps nothing and waits for nothing */
};

enum gpubpf_worker_kind {
	GPUBPF_WORKER_COMPILE,     /* LLVM */
	GPUBPF_WORKER_CLREAD,      /* libclang */
	GPUBPF_WORKER_BUILD,       /* a vendor's OpenCL compiler; runs no target */
	GPUBPF_WORKER_ASSEMBLE,    /* NVIDIA's assembler; runs no target */
	GPUBPF_WORKER_PTXAS,       /* the same as a program of the user's, for whole twins; runs no target */
	GPUBPF_NWORKERS,
};

/* Options of GPUBPF_WORKER_PTXAS beside -arch=: makes nothing, what the program says is the log; before -arch=, of probes, whose
 * literals stay in their code */
#define GPUBPF_ASSEMBLER_WHICH "--version"
#define GPUBPF_ASSEMBLER_PROBES "--disable-optimizer-constants"

#define GPUBPF_IMAGES(kind) (1u << GPUBPF_IMAGE_##kind) /* sets of enum gpubpf_image_kind */

struct gpubpf_target_info {
	const char *name;          /* "ptx" */
	const char *meaning;       /* "NVIDIA PTX text" */
	const struct gpubpf_target *ops; /* NULL: not linked into this process */
	enum gpubpf_worker_kind worker; /* that runs it */
	enum gpubpf_image_kind output; /* of emit */
	uint32_t images;           /* GPUBPF_IMAGES that inspect and inject take; where several targets take a kind, the
				    * first of the registry that does not decline the image */
	uint32_t places;           /* GPUBPF_TAKES of core/places.h, on every device */
	struct {
		uint64_t bits;     /* on those that have all of these enum gpubpf_cap_bits */
		uint32_t places;   /* it takes these as well; */
		const char *why;   /* why not on others, a clause of at most 64 bytes */
	} where;
	struct {
		uint32_t places;   /* it takes these on no device, */
		const char *why;   /* a clause of at most 64 bytes */
	} never[2];
	uint32_t probes;           /* inject leaves the probes to another: emitted as a piece of one of these GPUBPF_IMAGES */
	bool emits;                /* it has emit (gpubpf prog dump) */
	bool builds;               /* GPUBPF_WORKER_BUILD must make the pieces into what the agent loads */
	bool env_args;             /* its twins take the arena's address and the launch's number as arguments of their own */
	const char *const *closed; /* globs of files whose code is changed on the user's word alone, NULL at the end; or NULL */
	bool assembled;            /* inject is given the probes: what GPUBPF_WORKER_ASSEMBLE makes of what emit gives */
	bool code_beside;          /* behind the text of its twins, after a NUL, may stand what GPUBPF_WORKER_PTXAS makes of it, by
				    * the piece's options, "" not to */
	bool machine;              /* its images are machine code, in which probes share the kernel's registers: it has live */
	bool queries;              /* a vendor's compiler reads its images in its own way: it has query */
	bool once;                 /* emit and inject leave something behind that spoils the next: one a process */
};

struct gpubpf_target {
	/* Emit the sites of the job as a module by itself: a function for each site, no kernel; with
	 * opts->kernels, also a kernel gpubpf_run_<site> that calls it, or with opts->one_kernel one that calls
	 * any (conformance). Where info.emits. */
	int (*emit)(const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts,
		    struct gpubpf_blob *out, struct gpubpf_diag *diag);
	/* List the kernels of an image with their parameters and places and, where info takes places of functions,
	 * the functions that they call. *kernels is malloc'd as a whole. -ENOENT with a diagnostic declines the image:
	 * there is nothing in it that this target could take, and the next that takes its kind is asked. Where
	 * info.images. */
	int (*inspect)(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		       struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag);
	/* Which text GPUBPF_WORKER_BUILD is to answer, so that inspect and inject read the image as the device's compiler does;
	 * *out stays empty: none. Where info.queries. */
	int (*query)(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps, struct gpubpf_twin_image *out,
		     struct gpubpf_diag *diag);
	/* Make the twin image: each kernel that a site of the job names, with the sites' bodies where the job's insertions
	 * say. The twin's kernel is called GPUBPF_TWIN_PREFIX <name>. Kernels that cannot be taken get `reason` in refused[].
	 * The job has no kind of place that gpubpf_target_places() has not. Where info.images. */
	int (*inject)(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		      const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out,
		      struct gpubpf_diag *diag);
	/* Which registers are live at a place of a kernel, both as inspect listed them. Where info.machine. */
	struct gpubpf_live (*live)(const struct gpubpf_kernel_info *kernel, const struct gpubpf_place *place);
	/* Check a piece that emit or inject made with the checker at hand: 0, or -EINVAL and what is wrong with it, which
	 * is our own bug. After each emit and inject in debug builds, and where opts.validate says so. Mandatory. */
	int (*validate)(const struct gpubpf_twin_piece *piece, const struct gpubpf_device_caps *caps,
			struct gpubpf_diag *diag);
};

/*
 * What inject made: pieces that the device links or loads in this order. Also what a builder makes of
 * them: one piece, the vendor's binary, and in refused[] the twins that the vendor did not take.
 */
struct gpubpf_twin_image {
	struct gpubpf_twin_piece {
		enum gpubpf_image_kind kind;
		struct gpubpf_blob blob;
		const char *options;   /* compile options of this piece; points into the job, the blob's
					* memory or static; NULL: none */
	} piece[3];
	uint32_t npieces;
	/* malloc'd: the twins that are in, each by the index in the job of the first site on its kernel.
	 * Where a piece is OpenCL C, -DGPUBPF_SKIP_<index> leaves that twin out. A builder leaves out the
	 * twins that refused[] of its job names. */
	uint32_t *twins;
	uint32_t ntwins;
	struct gpubpf_twin_refusal {
		uint32_t site;         /* index in the job; the other sites on its kernel go with it */
		char reason[240];
	} *refused;                    /* malloc'd */
	uint32_t nrefused;
};

/* backends/registry.c. NULL past the end; NULL if no target is called so. */
const struct gpubpf_target_info *gpubpf_target_at(size_t i);
const struct gpubpf_target_info *gpubpf_target_find(const char *name);
/* The targets that take images of a kind, in the order of preference: the first after `last`, NULL: the first. */
const struct gpubpf_target_info *gpubpf_target_taking(enum gpubpf_image_kind kind, const struct gpubpf_target_info *last);
/* The target of that name, if it takes images; NULL. */
const struct gpubpf_target_info *gpubpf_target_route(const char *name);
/* Could images that the target of that name takes go to another one as well? */
bool gpubpf_target_has_choice(const char *name);
/* Assert that the targets whose operations are linked here have those that they must have. */
void gpubpf_targets_check(void);

/* core/target.c */
/* Is the code of a file of that name, without folders, changed on the user's word alone? "": not known. */
bool gpubpf_target_is_closed(const struct gpubpf_target_info *t, const char *file);
/* The places that a target takes on a device: all that may ask for some ask this. */
uint32_t gpubpf_target_places(const struct gpubpf_target_info *t, const struct gpubpf_device_caps *caps);
#define GPUBPF_WHY_NOT 165 /* bytes of a reason, the NUL too */
/* Is the site one of them? If not, why[] says so in a clause that is always whole. */
bool gpubpf_target_takes(const struct gpubpf_target_info *t, const struct gpubpf_device_caps *caps, enum gpubpf_site site,
			 char why[GPUBPF_WHY_NOT]);

/* insertions being gathered; the list is malloc'd */
struct gpubpf_insertions {
	struct gpubpf_insertion *list;
	uint32_t n, room;
};
/* Add a site at each place of that kind in what inspect listed of a kernel or function, whose name the places borrow. 0,
 * -ENOMEM. */
int gpubpf_insert(struct gpubpf_insertions *to, uint32_t site, enum gpubpf_site kind,
		  const struct gpubpf_kernel_info *info);
/* At place i of these alone. */
int gpubpf_insert_at(struct gpubpf_insertions *to, uint32_t site, const struct gpubpf_kernel_info *info, uint32_t i);

/* the insertions of a job on one kernel, while its injector goes through the places that the code has */
struct gpubpf_inserting {
	const struct gpubpf_lower_job *job;
	const char *kernel;
	uint32_t met;              /* places that are to have a body */
	/* of each kind, behind the insertion that was found last: in the order of the code the next one's is there */
	uint32_t next[GPUBPF_NSITES];
	bool listed;               /* kinds[] says of which there are any */
	bool kinds[GPUBPF_NSITES];
};
/* The site whose body belongs at a place, which is asked for once; UINT32_MAX: none. */
uint32_t gpubpf_site_at(struct gpubpf_inserting *in, enum gpubpf_site kind, const char *function, uint32_t id);
/* When all places of the code were asked for: does each insertion have its own? Else -EINVAL and which has not. */
int gpubpf_all_inserted(const struct gpubpf_inserting *in, struct gpubpf_diag *diag);

/* Begin *out for a target whose twins are images of one kernel each: that of the job's first site is in,
 * sites on others are refused. 0, -ENOMEM. */
int gpubpf_twin_of_one(const struct gpubpf_lower_job *job, struct gpubpf_twin_image *out);

/* The program: "gpubpf-compile" and so on. */
const char *gpubpf_worker_program(enum gpubpf_worker_kind kind);

/* Can a device run what is of that kind? */
bool gpubpf_caps_take(const struct gpubpf_device_caps *caps, enum gpubpf_image_kind kind);

#endif
