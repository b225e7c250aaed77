/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target: pure compile work, in a worker, on any machine. Its properties are data, the same in every process. Its
 * operations are linked only where it runs. They are thread-compatible and touch no global state. They treat every
 * image as hostile: they check all bounds, and report a diagnostic instead of crashing. (A crash would cost the probe,
 * not the application.)
 */
#ifndef GPUBPF_CORE_TARGET_H
#define GPUBPF_CORE_TARGET_H

#include "core/lower/lower.h"
#include "core/wire/image.h"

struct gpubpf_diag;
struct gpubpf_twin_image;
struct gpubpf_twin_piece;

#define GPUBPF_TWIN_PREFIX "gpubpf_twin_" /* beginning of a twin's name; the kernel's name in its short form follows */

enum gpubpf_kernel_flags {
	GPUBPF_KINFO_BARRIER = 1 << 0,    /* it, or a function that it calls, has a barrier or a group function */
	GPUBPF_KINFO_LOCAL = 1 << 1,      /* it declares local (shared) variables */
	GPUBPF_KINFO_GLOBALS = 1 << 2,    /* it is not a kernel but a function that kernels call */
	GPUBPF_KINFO_FUNCTION = 1 << 3,   /* it can be probed only at its entry; reason says why */
	GPUBPF_KINFO_ENTRY_ONLY = 1 << 4, /* it can be probed only at its entry; reason explains why */
};

/* one kernel of an application's image, as inspect() reports it, or one function that kernels can call */
struct gpubpf_kernel_info {
	char name[256]; /* its name in the runtime (mangled) */
	struct gpubpf_param *params;
	uint32_t nparams;
	uint32_t regs;     /* registers per thread; 0: unknown */
	char arch[16];     /* "sm_90" for machine code that may support several architectures; else "" */
	uint32_t flags;    /* enum gpubpf_kernel_flags */
	uint32_t *callees; /* indices in inspect()'s list of the FUNCTIONs that it calls directly */
	uint32_t ncallees;
	struct gpubpf_place *places; /* places in its own code, sorted by kind, then by id; their member function is
				      * NULL */
	uint32_t nplaces;
	char reason[240]; /* why it cannot be probed; "" if it can */
};

/* A thread's registers at a place of machine code. Each has 32 bits. */
struct gpubpf_live {
	uint32_t most;     /* number of registers that the code can name */
	uint32_t from, to; /* registers from `from` up to, not including, `to` hold live values, or pending
				    * operations of the kernel may still write them. A probe that writes only other
				    * registers saves nothing and waits for nothing */
};

enum gpubpf_worker_kind {
	GPUBPF_WORKER_COMPILE,  /* compiles with LLVM */
	GPUBPF_WORKER_CLREAD,   /* parses with libclang */
	GPUBPF_WORKER_BUILD,    /* runs a vendor's OpenCL compiler; runs no target */
	GPUBPF_WORKER_ASSEMBLE, /* runs NVIDIA's assembler for probes; runs no target */
	GPUBPF_WORKER_PTXAS,    /* runs NVIDIA's assembler as a program that the user installed, for whole twins;
				    * runs no target */
	GPUBPF_NWORKERS,
};

/*
 * Options of GPUBPF_WORKER_PTXAS next to -arch=. GPUBPF_ASSEMBLER_WHICH produces no code, and the log is the program's
 * output. The second comes before -arch= for probes, whose literals must stay in their code.
 */
#define GPUBPF_ASSEMBLER_WHICH "--version"
#define GPUBPF_ASSEMBLER_PROBES "--disable-optimizer-constants"

#define GPUBPF_IMAGES(kind) (1u << GPUBPF_IMAGE_##kind) /* sets of enum gpubpf_image_kind */

struct gpubpf_target_info {
	const char *name;                /* "ptx" */
	const char *meaning;             /* "NVIDIA PTX text" */
	const struct gpubpf_target *ops; /* NULL: its operations are not linked into this process */
	enum gpubpf_worker_kind worker;  /* the worker that runs its operations */
	enum gpubpf_image_kind output;   /* the kind of image that emit produces */
	uint32_t images; /* set of GPUBPF_IMAGES that inspect and inject accept. Of several targets for a
				    * kind, the first in the registry that does not decline the image gets it */
	uint32_t places; /* set of GPUBPF_SITE_BIT (core/model/places.h): places that it supports on every
				    * device */
	struct {
		uint64_t bits;   /* on devices with all of these capabilities (enum gpubpf_cap_bits), */
		uint32_t places; /* it also supports these places; */
		const char *why; /* why other devices do not support them, a clause of at most 64 bytes */
	} where;
	struct {
		uint32_t places; /* no device supports these places: */
		const char *why; /* the reason, a clause of at most 64 bytes */
	} never[2];
	uint32_t probes;           /* not 0: inject receives the probes as a piece of one of these GPUBPF_IMAGES,
				    * which another target has emitted */
	bool emits;                /* it implements emit (gpubpf prog dump) */
	bool builds;               /* GPUBPF_WORKER_BUILD must compile the pieces before the agent loads them */
	bool has_env_params;       /* its twins get the arena's address and the launch's number as extra arguments */
	const char *const *closed; /* globs of the names of files whose code gpubpf changes only on the user's
				    * request, NULL at the end; or NULL */
	bool assembled;            /* inject receives the probes as machine code: GPUBPF_WORKER_ASSEMBLE has
				    * assembled the output of emit */
	bool appends_code;         /* the text of a twin may be followed, after a NUL, by the output of
				     * GPUBPF_WORKER_PTXAS for that text. It is if the piece's options are not "" */
	bool machine;              /* its images are machine code, in which probes share the kernel's registers; it
				    * implements live */
	bool queries;              /* a vendor's compiler parses its images in its own way; it implements query */
	bool once;                 /* a process can call emit and inject only once: they leave state that would spoil
				    * the next call */
};

struct gpubpf_target {
	/*
	 * Emits the sites of the job as a separate module: a function for each site, no kernel. With opts->kernels,
	 * adds a kernel gpubpf_run_<site> that calls it. With opts->one_kernel, adds one kernel that can call any
	 * (conformance). Mandatory if info.emits.
	 */
	int (*emit)(const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts, struct gpubpf_blob *out,
		    struct gpubpf_diag *diag);
	/*
	 * Lists the kernels of an image with their parameters and places. If info has places in functions, also lists
	 * the functions that kernels call. *kernels is one malloc'd block. -ENOENT with a diagnostic declines the
	 * image: it contains nothing for this target, and the caller tries the next target for its kind. Mandatory if
	 * info.images.
	 */
	int (*inspect)(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		       struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag);
	/*
	 * Returns a text for GPUBPF_WORKER_BUILD to answer. With the answer, inspect and inject parse the image as the
	 * device's compiler does. *out stays empty if no text is needed. Mandatory if info.queries.
	 */
	int (*query)(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		     struct gpubpf_twin_image *out, struct gpubpf_diag *diag);
	/*
	 * Makes the twin image: each kernel that a site of the job names, with the sites' bodies at the job's
	 * insertions. A twin's kernel has the name GPUBPF_TWIN_PREFIX <name>. Each kernel that cannot be probed gets a
	 * `reason` in refused[]. The job contains only kinds of places in gpubpf_target_places(). Mandatory if
	 * info.images.
	 */
	int (*inject)(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		      const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag);
	/* Returns the live registers at a place of a kernel; both come from inspect. Mandatory if info.machine. */
	struct gpubpf_live (*live)(const struct gpubpf_kernel_info *kernel, const struct gpubpf_place *place);
	/*
	 * Checks a piece from emit or inject with the available checker. 0, or -EINVAL and a diagnostic, which is our
	 * own bug. Runs after each emit and inject in debug builds, and if opts.validate is set. Mandatory.
	 */
	int (*validate)(const struct gpubpf_twin_piece *piece, const struct gpubpf_device_caps *caps,
			struct gpubpf_diag *diag);
};

/*
 * The output of inject: pieces that the device links or loads in this order. Also the output of a builder: one piece,
 * the vendor's binary, and in refused[] the twins that the vendor refused.
 */
struct gpubpf_twin_image {
	struct gpubpf_twin_piece {
		enum gpubpf_image_kind kind;
		struct gpubpf_blob blob;
		const char *options; /* compile options of this piece; memory of the job, of the blob, or static.
				        * NULL: none */
	} piece[3];
	uint32_t npieces;
	/*
	 * malloc'd: the included twins, each as the index in the job of the first site on its kernel. If a piece is
	 * OpenCL C, -DGPUBPF_SKIP_<index> omits that twin. A builder omits the twins in refused[] of its job.
	 */
	uint32_t *twins;
	uint32_t ntwins;
	struct gpubpf_twin_refusal {
		uint32_t site; /* index in the job; the other sites on its kernel are refused with it */
		char reason[240];
	} *refused; /* malloc'd */
	uint32_t nrefused;
};

/* backends/registry.c: gpubpf_target_at() returns NULL past the end, gpubpf_target_find() NULL for an unknown name. */
const struct gpubpf_target_info *gpubpf_target_at(size_t i);
const struct gpubpf_target_info *gpubpf_target_find(const char *name);
/*
 * Returns the next target after `last` that accepts images of a kind, in order of preference. `last` is NULL for the
 * first.
 */
const struct gpubpf_target_info *gpubpf_target_next_accepting(enum gpubpf_image_kind kind,
							      const struct gpubpf_target_info *last);
/* Returns the target of that name if it accepts images, else NULL. */
const struct gpubpf_target_info *gpubpf_target_route(const char *name);
/* Does another target accept a kind of image that the named target accepts? */
bool gpubpf_target_has_alternative(const char *name);
/* Asserts that each target linked here implements its mandatory operations. */
void gpubpf_targets_check(void);

/* core/target.c */
/*
 * Is this a file whose code gpubpf changes only on the user's request? `file` is a name without folders; "": unknown.
 */
bool gpubpf_target_is_closed(const struct gpubpf_target_info *t, const char *file);
/*
 * Returns the places that a target supports on a device, a set of GPUBPF_SITE_BIT. All decisions about places use this
 * function.
 */
uint32_t gpubpf_target_places(const struct gpubpf_target_info *t, const struct gpubpf_device_caps *caps);
#define GPUBPF_REFUSAL_SIZE 165 /* size of a reason, with its NUL */
/*
 * Does the target support the site on that device? If not, writes a reason to why[], a clause that is never truncated.
 */
bool gpubpf_target_supports(const struct gpubpf_target_info *t, const struct gpubpf_device_caps *caps,
			    enum gpubpf_site site, char why[GPUBPF_REFUSAL_SIZE]);

/* a growing list of insertions, malloc'd */
struct gpubpf_insertions {
	struct gpubpf_insertion *list;
	uint32_t n, room;
};
/*
 * Adds the site at each place of that kind that inspect() listed for a kernel or function. The added insertions point
 * to info's name. 0 or -ENOMEM.
 */
int gpubpf_insert(struct gpubpf_insertions *to, uint32_t site, enum gpubpf_site kind,
		  const struct gpubpf_kernel_info *info);
/* Adds the site only at place i of info. */
int gpubpf_insert_at(struct gpubpf_insertions *to, uint32_t site, const struct gpubpf_kernel_info *info, uint32_t i);

/* the insertions of a job in one kernel, while its injector walks the places of the code */
struct gpubpf_inserting {
	const struct gpubpf_lower_job *job;
	const char *kernel;
	uint32_t nfound; /* number of insertions found so far */
	/* by kind, the index after the insertion found last: in code order, the next one is there */
	uint32_t next[GPUBPF_NSITES];
	bool listed; /* kinds[] contains the kinds of places that have an insertion */
	bool kinds[GPUBPF_NSITES];
};
/* Returns the site whose body belongs at a place; UINT32_MAX: none. Call it once per place. */
uint32_t gpubpf_site_at(struct gpubpf_inserting *in, enum gpubpf_site kind, const char *function, uint32_t id);
/*
 * Call it after all places of the code: was each insertion found exactly once? 0, or -EINVAL and the number of missing
 * ones.
 */
int gpubpf_check_all_inserted(const struct gpubpf_inserting *in, struct gpubpf_diag *diag);

/*
 * Initializes *out for a target whose twins are images of one kernel: the kernel of the job's first site. Sites on
 * other kernels are refused. 0 or -ENOMEM.
 */
int gpubpf_twin_init_single(const struct gpubpf_lower_job *job, struct gpubpf_twin_image *out);

/* Returns the program's name, such as "gpubpf-compile". */
const char *gpubpf_worker_program(enum gpubpf_worker_kind kind);

/* Can a device run images of that kind? */
bool gpubpf_caps_accept_image(const struct gpubpf_device_caps *caps, enum gpubpf_image_kind kind);

#endif
