/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target: pure compile work, in the compile worker, on any machine. One const table each: ptx
 * (backends/cuda), spirv and clc (backends/spirv), amdgpu (backends/hip). Operations are thread-compatible,
 * touch no global state, and treat every image as hostile: bounds-checked, and an error with a
 * diagnostic rather than a crash. (A crash would cost the probe, not the application.)
 */
#ifndef GPUBPF_CORE_TARGET_H
#define GPUBPF_CORE_TARGET_H

#include "core/lower/lower.h"
#include "core/wire/image.h"

struct gpubpf_diag;
struct gpubpf_twin_image;

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
	uint32_t flags;            /* enum gpubpf_kernel_flags */
	uint32_t *callees;         /* FUNCTIONs that it calls itself: indices in the list */
	uint32_t ncallees;
	char reason[240];          /* why it cannot be probed; "" if it can */
};

struct gpubpf_target {
	const char *name;          /* "ptx" */
	const char *meaning;       /* "NVIDIA PTX text" */
	enum gpubpf_image_kind output;
	bool once;                 /* emit and inject leave something behind that spoils the next: one a process (core/worker/serve.c) */

	/* Emit the sites of the job as a module by itself: a function for each site, no kernel; with
	 * opts->kernels, also a kernel gpubpf_run_<site> that calls it (conformance, gpu/run). */
	int (*emit)(const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts,
		    struct gpubpf_blob *out, struct gpubpf_diag *diag);
	/* List the kernels of an image with their parameters, and, where caps have GPUBPF_CAP_CALLS, the
	 * functions that they call. *kernels is malloc'd as a whole.
	 * Optional: a target that needs no look into images leaves it NULL and gets -EOPNOTSUPP. */
	int (*inspect)(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		       struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag);
	/* Make the twin image: each kernel that a site of the job names, with its probes. The twin's
	 * kernel is called gpubpf_twin_<name>. Kernels that cannot be taken get `reason` in refused[]. */
	int (*inject)(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		      const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out,
		      struct gpubpf_diag *diag);
	/* Check what emit or inject made with the vendor-neutral checker at hand; debug builds and tests. */
	int (*validate)(const struct gpubpf_blob *blob, struct gpubpf_diag *diag);
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
	 * Where a piece is OpenCL C, -DGPUBPF_SKIP_<index> leaves that twin out. */
	uint32_t *twins;
	uint32_t ntwins;
	struct gpubpf_twin_refusal {
		uint32_t site;         /* index in the job; the other sites on its kernel go with it */
		char reason[240];
	} *refused;                    /* malloc'd */
	uint32_t nrefused;
};

const struct gpubpf_target *gpubpf_target_find(const char *name); /* backends/registry.c */
const struct gpubpf_target *gpubpf_target_at(size_t i);

#endif
