/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowering: verified programs and their facts to a target's language. Two ways in, one semantics: LLVM
 * IR (core/lower/llvm.c) for all targets but clc, which is OpenCL C text (core/lower/clc.c).
 *
 * Out comes one function for each site:
 *     s32 gpubpf_site_<index>(GPUBPF_PRIVATE const struct gpubpf_env *env)
 * that runs the site's programs in order, each with a fresh context and stack. It returns 1 if a
 * program asked to end the thread (helper 507), which ends the remaining programs of the site too.
 */
#ifndef GPUBPF_CORE_LOWER_H
#define GPUBPF_CORE_LOWER_H

#include "core/wire/caps.h"
#include "core/facts.h"
#include "core/places.h"
#include "core/prog.h"
#include "maps/layout.h"

/* one parameter of an application's kernel */
enum gpubpf_param_kind {
	GPUBPF_PARAM_INT,        /* integers, bool, enums: size bytes */
	GPUBPF_PARAM_FLOAT,      /* half, float, double */
	GPUBPF_PARAM_POINTER,    /* global or constant memory */
	GPUBPF_PARAM_LOCAL,      /* __local pointer (shared memory of a launch-time size) */
	GPUBPF_PARAM_BYTES,      /* struct, union, vector by value */
	GPUBPF_PARAM_OPAQUE,     /* image, sampler, queue, pipe, event */
};
#define GPUBPF_NPARAM_KINDS (GPUBPF_PARAM_OPAQUE + 1)

struct gpubpf_param {
	char name[64];           /* "" unknown */
	char type[128];          /* as the source says, "" unknown */
	enum gpubpf_param_kind kind;
	uint32_t size;           /* bytes; 0 for OPAQUE */
	uint32_t align;
	uint32_t bytes_off;      /* where its bytes lie in env->arg_bytes; UINT32_MAX: nowhere */
};

/* what runs at places of one kind in one kernel, or in one function that it calls, directly or not: lowered once, as one
 * body, which stands at as many places as the job's insertions say */
struct gpubpf_site_desc {
	enum gpubpf_site site;
	char kernel[256];        /* name as the runtime knows it */
	char function[256];      /* of a kind of functions' places: its name in the image; else "" */
	uint64_t kernel_id;
	const struct gpubpf_param *params; /* the kernel's, or the function's */
	uint32_t nparams;
	const uint32_t *progs;   /* indices in the unit, in the order in which they run */
	uint32_t nprogs;
	bool may_end_thread;     /* leaving early can miss no barrier */
};

/* a place of the kernel that the site names, and the site whose body is put there */
struct gpubpf_insertion {
	struct gpubpf_place place; /* of the site's kind; line and operands are not looked at */
	uint32_t site;           /* in the job */
};

struct gpubpf_lower_job {
	const struct gpubpf_unit *unit;            /* every program that a site names is verified */
	const struct gpubpf_map_layout *layouts;   /* [unit->nmaps] */
	uint64_t layout_hash;
	uint64_t granules;                         /* arena offset of the table of granules (maps/layout.h); 0: the header says it */
	uint64_t print_ring;                       /* arena offset of the print ring's layout, 0 none */
	struct gpubpf_map_layout print_layout;
	const struct gpubpf_site_desc *sites;
	uint32_t nsites;
	const struct gpubpf_insertion *insertions; /* inject alone: no two of one place */
	uint32_t ninsertions;
	const struct gpubpf_device_caps *caps;
	uint32_t registers;                        /* that a thread of a twin may have; 0: as many as it takes */
	/* Where a kernel gpubpf_run_<site> finds and leaves its struct gpubpf_run: arena offset, 8-byte
	 * aligned; 0: there is none and r0 is dropped. */
	uint64_t run_off;
	bool run_in_maps;                          /* instead: each program has one, the value of the map of its number */
	/* Conformance tool only. plain_mem: the programs were verified with opts.plain_mem; r1 is the
	 * device address of MEM, arena + gpubpf_lower_run() + GPUBPF_RUN_MEM, and r2 its length, run.mem_size. */
	bool plain_mem;
	/* Conformance tool only, implies plain_mem: no facts at all. r10 of frame f is the device address
	 * arena + gpubpf_lower_run() + GPUBPF_RUN_STACK + 512 * (f + 1); every access must lie within the frames that
	 * are live or within MEM, else the run ends with run.status set. So do unknown helpers, calls that
	 * nest too deep, and run.budget taken branches and calls. */
	bool checked;
};

/* what gpubpf_run_<site> reads and writes at job->run_off; one lane is meant to run it */
enum gpubpf_run_status {
	GPUBPF_RUN_OK,
	GPUBPF_RUN_ACCESS,       /* run.address of run.pc is out of bounds */
	GPUBPF_RUN_MISALIGNED,   /* so is an atomic's address */
	GPUBPF_RUN_HELPER,       /* run.address is a helper that this program cannot call */
	GPUBPF_RUN_DEPTH,        /* calls nest too deep */
	GPUBPF_RUN_BUDGET,       /* the run took too long */
	GPUBPF_RUN_END,          /* control left the program's end */
};

struct gpubpf_run {
	uint64_t r0;             /* out: r0 of the site's last program */
	uint64_t status;         /* out, checked: enum gpubpf_run_status */
	uint64_t pc;             /* out, checked: instruction that failed */
	uint64_t address;        /* out, checked */
	uint64_t mem_size;       /* in: bytes of MEM */
	uint64_t budget;         /* in, checked */
	uint64_t pad[2];
};

#define GPUBPF_RUN_STACK 64  /* after the record: GPUBPF_MAX_FRAMES frames, then MEM */
#define GPUBPF_RUN_MEM (GPUBPF_RUN_STACK + GPUBPF_MAX_FRAMES * GPUBPF_STACK_SIZE)

struct gpubpf_target_opts {
	int opt_level;           /* 0 to 3; default 2 */
	bool kernels;            /* also emit kernels gpubpf_run_<site>(arena, launch, pid_tgid) */
	bool one_kernel;         /* or one, of one lane: gpubpf_run(arena, launch, pid_tgid, uint32_t site) */
	bool inlined;            /* for injectors of text: each site is an entry gpubpf_inline_<site>() without
				  * parameters, which takes its environment from where the target says */
	bool keeps_sums;         /* inlined: what programs at single instructions add to values that are at one place, and
				  * that no program reads, goes into registers of the place's function (low_keep()) */
	bool adds_beside;        /* PTX: lanes of a warp add to neighbours for all of it (low_add_later()) */
	bool text;               /* readable form where the output is binary (prog dump) */
	bool validate;           /* check what was made (struct gpubpf_target) */
	const char *cpu;         /* "sm_90", "gfx90a"; NULL: from the caps */
	const void *probes;      /* inject, sass: what an assembler made of what emit gave for the same job; else NULL */
	size_t probes_size;
	const uint8_t *alike;    /* inject: SHA-256 of what the job's probes are made of, which those of other kernels may be made
				  * of too (core/worker/alike.h); NULL: not reckoned */
};

/* Code for an element of a map of maps does for all that are like it, and for no other map. */
#define GPUBPF_MIXED_ELEMENTS "helper %s takes an element of a map of maps or another map, by the path: call it in each path by itself"

/* Where that program of the unit has its struct gpubpf_run: arena offset; 0: nowhere. */
static inline uint64_t gpubpf_lower_run(const struct gpubpf_lower_job *job, uint32_t prog)
{
	return job->run_in_maps ? job->layouts[prog].data : job->run_off;
}

/* Updates with large values of whole words that lie in device memory copy them from there (GPUBPF_LAYOUT_FROM): lanes need not
 * have them in memory of their own. Small ones are better off in registers. */
#define GPUBPF_DIRECT_LEAST 64 /* bytes */

static inline bool gpubpf_may_be_direct(const struct gpubpf_helper *helper, const struct gpubpf_map *map)
{
	return helper->op == GPUBPF_OP_UPDATE && map->value_size > GPUBPF_DIRECT_LEAST && map->value_size % 8 == 0;
}

static inline bool gpubpf_is_direct(const struct gpubpf_helper *helper, const struct gpubpf_map *map,
				    enum gpubpf_arg_size size, const struct gpubpf_access *a)
{
	return size == GPUBPF_SIZE_VALUE && gpubpf_may_be_direct(helper, map) && a->align == 8 && a->spaces &&
	       !(a->spaces & ~(GPUBPF_SPACE_MAP_VALUE | GPUBPF_SPACE_RECORD));
}

/* Does the host read and write there while kernels do? Then each access is one that is made. */
static inline bool gpubpf_lower_is_live(const struct gpubpf_lower_job *job, const struct gpubpf_access *access)
{
	bool live = false;

	for (uint32_t i = 0; access->spaces & GPUBPF_SPACE_MAP_VALUE && i < job->unit->nmaps; i++)
		if (access->map == (int)i || access->map == GPUBPF_ANY_MAP)
			live |= job->layouts[i].flags & GPUBPF_LAYOUT_LIVE;
	return live;
}

#endif
