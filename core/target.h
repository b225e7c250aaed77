/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target: the compile work for one form of code, which runs in a worker and needs no device. Its properties are data
 * that are the same in every process. Its operations are linked only into the workers that run them. The operations may
 * run in several threads, because they use no global state. The job has a cache with code of earlier jobs
 * (core/lower/code_cache.h), which the worker owns. Operations do not trust images: they check all bounds, and report a
 * diagnostic instead of crashing. (A crash would cost the probe, not the application.)
 */
#ifndef GPUBPF_CORE_TARGET_H
#define GPUBPF_CORE_TARGET_H

#include "core/lower/lower.h"
#include "core/wire/image.h"

struct gpubpf_diag;
struct gpubpf_twin_image;
struct gpubpf_twin_piece;

#define GPUBPF_TWIN_PREFIX "gpubpf_twin_" /* beginning of a twin's name; the short form of the kernel's name follows */

enum gpubpf_kernel_flags {
	/* the kernel, or a function that it calls, has a barrier or a group function */
	GPUBPF_KINFO_BARRIER = 1 << 0,
	GPUBPF_KINFO_LOCAL = 1 << 1,      /* the kernel declares local (shared) variables */
	GPUBPF_KINFO_GLOBALS = 1 << 2,    /* the program has writable program-scope variables */
	GPUBPF_KINFO_FUNCTION = 1 << 3,   /* this is not a kernel but a function that kernels call */
	GPUBPF_KINFO_ENTRY_ONLY = 1 << 4, /* the kernel can be probed only at its entry; `reason` explains why */
};

/* what inspect() reports about one kernel of an application's image, or about one function that kernels can call */
struct gpubpf_kernel_info {
	char name[256]; /* the kernel's name in the runtime (mangled) */
	struct gpubpf_param *params;
	uint32_t nparams;
	uint32_t regs; /* number of registers per thread; 0: unknown */
	/* for machine code that may support several architectures: the architecture, such as "sm_90"; else "" */
	char arch[16];
	uint32_t flags;    /* enum gpubpf_kernel_flags */
	uint32_t *callees; /* [ncallees]: functions that the kernel calls directly, as indices in inspect()'s list */
	uint32_t ncallees;
	/* [nplaces]: places in the kernel's own code, sorted by kind, then by id; their member `function` is NULL */
	struct gpubpf_place *places;
	uint32_t nplaces;
	char reason[240]; /* why the kernel cannot be probed, or "" */
};

/* A thread's registers at a place of machine code, each of 32 bits. */
struct gpubpf_live {
	uint32_t most; /* number of registers that instructions can name */
	/*
	 * Registers in [from, to) hold live values, or pending operations of the kernel may still write them. A probe
	 * that writes only other registers saves nothing and waits for nothing.
	 */
	uint32_t from, to;
};

enum gpubpf_worker_kind {
	GPUBPF_WORKER_COMPILE,  /* compiles with LLVM */
	GPUBPF_WORKER_CLREAD,   /* parses with libclang */
	GPUBPF_WORKER_BUILD,    /* runs a vendor's OpenCL compiler, not a target's operations */
	GPUBPF_WORKER_ASSEMBLE, /* runs NVIDIA's assembler for probes, not a target's operations */
	GPUBPF_WORKER_PTXAS,    /* runs an installed ptxas for complete twins, not a target's operations */
	GPUBPF_NWORKERS,
};

/* A job for GPUBPF_WORKER_PTXAS, which starts an installed assembler. */
struct gpubpf_assembly {
	const char *path; /* absolute path of the assembler */
	/* identity of the assembler's build (gpubpf_worker_identity()), part of the cache key of results */
	const char *identity;
	const char *arch; /* such as "sm_90a"; "" if is_version is set */
	bool is_version;  /* only print the assembler's version to the log */
	/* for probes: keep literals in the code instead of a constant bank; old assemblers refuse this option */
	bool keeps_literals;
	struct gpubpf_blob text; /* the PTX */
};

#define GPUBPF_IMAGES(kind) (1u << GPUBPF_IMAGE_##kind) /* sets of enum gpubpf_image_kind */

/* The stages that a route can have, in the order in which they run (core/model/stages.def). */
enum gpubpf_stage {
#define GPUBPF_STAGE(id, name, label, does) GPUBPF_STAGE_##id,
#include "core/model/stages.def"
	GPUBPF_NSTAGES,
};
#define GPUBPF_STAGE_BIT(id) (1u << GPUBPF_STAGE_##id)
#define GPUBPF_MAX_STEPS 8 /* maximum number of steps of a route, including the terminating 0 */

struct gpubpf_target_info {
	const char *name;    /* "ptx" */
	const char *meaning; /* "NVIDIA PTX text" */
	/* for people: the form of code that the target probes or emits, such as "PTX" */
	const char *code;
	const struct gpubpf_target *ops; /* operations; NULL if they are not linked into this process */
	/* steps in order, terminated by 0; a step is a set of GPUBPF_STAGE_BIT that one job of a worker runs */
	const uint32_t *route;
	enum gpubpf_worker_kind worker; /* worker that runs the operations */
	/* kind of image that emit() produces; GPUBPF_IMAGE_NONE: the target has no emit() */
	enum gpubpf_image_kind output;
	/*
	 * GPUBPF_IMAGES that inspect() and inject() accept. If several targets accept a kind, the first target in the
	 * registry that does not decline the image is used.
	 */
	uint32_t images;
	/* kinds of places that the target supports on every device: set of GPUBPF_SITE_BIT (core/model/places.h) */
	uint32_t places;
	struct {
		uint64_t bits;   /* capabilities (enum gpubpf_cap_bits); a device must have all of them */
		uint32_t places; /* kinds of places that the target also supports on devices with these capabilities */
		/* why devices without these capabilities do not support these places, a clause of at most 64 bytes */
		const char *why;
	} where;
	struct {
		uint32_t places; /* kinds of places that no device supports */
		const char *why; /* the reason, a clause of at most 64 bytes */
	} never[2];
	/*
	 * GPUBPF_IMAGES that another target emits, and that twins of this target link as a separate piece; 0: this
	 * target emits its probes itself.
	 */
	uint32_t probes;
	bool has_env_params; /* twins get the arena's address and the launch's number as additional arguments */
	/*
	 * patterns of file names, terminated by NULL: gpubpf changes the code of these files only on the user's
	 * request. NULL: no such files
	 */
	const char *const *closed;
	/* images are machine code, in which probes share the kernel's registers; the target implements live() */
	bool machine;
	/* a process can call emit() and inject() only once, because they leave state that would spoil the next call */
	bool once;
};

struct gpubpf_target {
	/*
	 * Emits the sites of the job as a separate module, with a function for each site and no kernel. With
	 * opts->kernels, adds a kernel gpubpf_run_<site> for each function, which calls it. With opts->one_kernel, adds
	 * one kernel that can call any of the functions (conformance). Mandatory if info.output is set.
	 */
	int (*emit)(const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts, struct gpubpf_blob *out,
		    struct gpubpf_diag *diag);
	/*
	 * Lists the kernels of an image with their parameters and places. If the target supports places in functions,
	 * also lists the functions that kernels call. *kernels is one malloc'd block. Returns -ENOENT with a diagnostic
	 * if the image contains nothing for this target; the caller then tries the next target for this kind of image.
	 * Mandatory if info.images is set.
	 */
	int (*inspect)(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		       struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag);
	/*
	 * Returns a text that GPUBPF_WORKER_BUILD passes to the device's compiler. With the compiler's answer,
	 * inspect() and inject() parse the image like that compiler. *out stays empty if no text is needed. Mandatory
	 * if the route has the stage query.
	 */
	int (*query)(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		     struct gpubpf_twin_image *out, struct gpubpf_diag *diag);
	/*
	 * Makes the twin image: a twin of each kernel that a site of the job names, with the sites' code at the job's
	 * insertions. A twin's kernel has the name GPUBPF_TWIN_PREFIX <name>. Each kernel that cannot be probed gets a
	 * reason in refused[]. The job contains only kinds of places in gpubpf_target_places(). Mandatory if
	 * info.images is set.
	 */
	int (*inject)(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		      const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag);
	/*
	 * Returns the live registers at a place of a kernel; both come from inspect(). Mandatory if info.machine is
	 * set.
	 */
	struct gpubpf_live (*live)(const struct gpubpf_kernel_info *kernel, const struct gpubpf_place *place);
	/*
	 * Checks a piece from emit() or inject() with the available checker. Returns 0, or -EINVAL and a diagnostic,
	 * which means a bug of gpubpf. Runs after each emit() and inject() in debug builds, and if opts.validate is
	 * set. Mandatory.
	 */
	int (*validate)(const struct gpubpf_twin_piece *piece, const struct gpubpf_device_caps *caps,
			struct gpubpf_diag *diag);
};

/*
 * The output of inject(): pieces that the device links or loads in this order. The output of a builder has the same
 * type: one piece, the vendor's binary, and in refused[] the twins that the vendor's compiler refused.
 */
struct gpubpf_twin_image {
	struct gpubpf_twin_piece {
		enum gpubpf_image_kind kind;
		struct gpubpf_blob blob;
		/* compile options of this piece, or NULL; the memory belongs to the job or the blob, or is static */
		const char *options;
		char arch[16]; /* for PTX: the architecture for which an assembler may compile it, or "" */
	} piece[3];
	uint32_t npieces;
	/*
	 * malloc'd: the included twins. A twin is identified by the index in the job of the first site on its kernel.
	 * If a piece is OpenCL C, -DGPUBPF_SKIP_<index> omits that twin. A builder omits the twins in refused[] of its
	 * job.
	 */
	uint32_t *twins;
	uint32_t ntwins;
	struct gpubpf_twin_refusal {
		uint32_t site; /* index in the job; the other sites on the same kernel are refused too */
		char reason[240];
	} *refused; /* malloc'd */
	uint32_t nrefused;
};

/*
 * backends/registry.c: gpubpf_target_at() returns NULL past the end; gpubpf_target_find() returns NULL for an unknown
 * name.
 */
const struct gpubpf_target_info *gpubpf_target_at(size_t i);
const struct gpubpf_target_info *gpubpf_target_find(const char *name);
/*
 * Returns the next target after `last` that accepts images of this kind, in order of preference. Pass NULL as `last` to
 * get the first.
 */
const struct gpubpf_target_info *gpubpf_target_next_accepting(enum gpubpf_image_kind kind,
							      const struct gpubpf_target_info *last);
/* Returns the target of that name if it accepts images, else NULL. */
const struct gpubpf_target_info *gpubpf_target_route(const char *name);
/* Returns true if another target accepts a kind of image that the named target accepts. */
bool gpubpf_target_has_alternative(const char *name);

/* core/target.c */
/*
 * Asserts that each target linked here implements its mandatory operations, and that the steps of its route are in
 * order.
 */
void gpubpf_targets_check(void);
bool gpubpf_target_has_stage(const struct gpubpf_target_info *t, enum gpubpf_stage stage);
/* Returns true if the device can load the target's emitted code without further stages. */
bool gpubpf_target_emits_for(const struct gpubpf_target_info *t, const struct gpubpf_device_caps *caps);
/* Returns the last stage of a step. The step must not be 0. */
enum gpubpf_stage gpubpf_step_last(uint32_t step);
/* Writes the labels of a step's stages, separated by ", ". */
void gpubpf_step_label(uint32_t step, char *label, size_t size);
/*
 * Returns true if gpubpf changes the code of this file only on the user's request. `file` is a file name without
 * folders; "": unknown.
 */
bool gpubpf_target_is_closed(const struct gpubpf_target_info *t, const char *file);
/*
 * Returns the kinds of places that a target supports on a device, a set of GPUBPF_SITE_BIT. All decisions about
 * supported places use this function.
 */
uint32_t gpubpf_target_places(const struct gpubpf_target_info *t, const struct gpubpf_device_caps *caps);
#define GPUBPF_REFUSAL_SIZE 165 /* buffer size for a reason, including the terminating zero */
/*
 * Returns true if the target supports the kind of place on that device. Otherwise writes a reason to why[], as a clause
 * that is never truncated.
 */
bool gpubpf_target_supports(const struct gpubpf_target_info *t, const struct gpubpf_device_caps *caps,
			    enum gpubpf_site site, char why[GPUBPF_REFUSAL_SIZE]);

/* a growing list of insertions; list is malloc'd */
struct gpubpf_insertions {
	struct gpubpf_insertion *list;
	uint32_t n, room;
};
/*
 * Adds the site at each place of that kind which inspect() listed for a kernel or function. The added insertions point
 * to info->name. Returns 0 or -ENOMEM.
 */
int gpubpf_insert(struct gpubpf_insertions *to, uint32_t site, enum gpubpf_site kind,
		  const struct gpubpf_kernel_info *info);
/* Adds the site only at info->places[i]. */
int gpubpf_insert_at(struct gpubpf_insertions *to, uint32_t site, const struct gpubpf_kernel_info *info, uint32_t i);

/* state of an injector that walks over the places of one kernel's code and finds the job's insertions there */
struct gpubpf_inserting {
	const struct gpubpf_lower_job *job;
	const char *kernel;
	uint32_t nfound; /* number of insertions found so far */
	/* by kind of place: index after the last found insertion, where the search for the next one starts */
	uint32_t next[GPUBPF_NSITES];
	bool listed; /* kinds[] is initialized: true for each kind of place that has an insertion */
	bool kinds[GPUBPF_NSITES];
};
/* Returns the site whose programs run at a place, or UINT32_MAX. Call it once per place. */
uint32_t gpubpf_site_at(struct gpubpf_inserting *in, enum gpubpf_site kind, const char *function, uint32_t id);
/*
 * Checks that each insertion was found exactly once. Call it after all places of the code. Returns 0, or -EINVAL and a
 * diagnostic with the number of missing insertions.
 */
int gpubpf_check_all_inserted(const struct gpubpf_inserting *in, struct gpubpf_diag *diag);

/*
 * Initializes *out for a target whose twin images contain one kernel: the kernel of the job's first site. Sites on
 * other kernels are refused. Returns 0 or -ENOMEM.
 */
int gpubpf_twin_init_single(const struct gpubpf_lower_job *job, struct gpubpf_twin_image *out);

/* Returns the name of the worker's program, such as "gpubpf-compile". */
const char *gpubpf_worker_program(enum gpubpf_worker_kind kind);

/* Returns true if the device can run images of that kind. */
bool gpubpf_caps_accept_image(const struct gpubpf_device_caps *caps, enum gpubpf_image_kind kind);

#endif
