/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowering: verified programs and their facts to a target's language. There are two implementations of one semantics:
 * LLVM IR (core/lower/llvm/llvm.c) for all targets except clc, and OpenCL C text (core/lower/opencl_c/opencl_c.c) for clc.
 *
 * The output has one function for each site:
 *     s32 gpubpf_site_<index>(GPUBPF_PRIVATE const struct gpubpf_env *env)
 * that runs the site's programs in order, each with a fresh context and stack. It returns 1 if a program ended the
 * thread (helper 507), which also skips the remaining programs of the site.
 */
#ifndef GPUBPF_CORE_LOWER_H
#define GPUBPF_CORE_LOWER_H

#include "core/wire/caps.h"
#include "core/model/facts.h"
#include "core/model/places.h"
#include "core/model/prog.h"
#include "maps/layout.h"

/* one parameter of an application's kernel */
enum gpubpf_param_kind {
	GPUBPF_PARAM_INT,     /* integers, bool, enums: size bytes */
	GPUBPF_PARAM_FLOAT,   /* half, float, double */
	GPUBPF_PARAM_POINTER, /* global or constant memory */
	GPUBPF_PARAM_LOCAL,   /* __local pointer (shared memory of a launch-time size) */
	GPUBPF_PARAM_BYTES,   /* struct, union, vector by value */
	GPUBPF_PARAM_OPAQUE,  /* image, sampler, queue, pipe, event */
};
#define GPUBPF_NPARAM_KINDS (GPUBPF_PARAM_OPAQUE + 1)

struct gpubpf_param {
	char name[64];  /* name; "": unknown */
	char type[128]; /* type as in the source; "": unknown */
	enum gpubpf_param_kind kind;
	uint32_t size; /* bytes; 0 for OPAQUE */
	uint32_t align;
	uint32_t bytes_off; /* offset of its bytes in env->arg_bytes; UINT32_MAX: none */
};

/*
 * The programs that run at all places of one kind in one kernel, or in one function that it calls directly or
 * indirectly. They are lowered once, as one function body. The job's insertions list the places at which that body is
 * inserted.
 */
struct gpubpf_site_desc {
	enum gpubpf_site site;
	char kernel[256];   /* name as the runtime knows it */
	char function[256]; /* for places in functions, the function's name in the image; else "" */
	uint64_t kernel_id;
	const struct gpubpf_param *params; /* the parameters of the kernel, or of the function */
	uint32_t nparams;
	const uint32_t *progs; /* indices in the unit, in the order in which they run */
	uint32_t nprogs;
	bool may_end_thread; /* programs may end the thread here: the thread would then skip no barrier */
};

/* A place in the kernel that the site names, at which the site's body is inserted. */
struct gpubpf_insertion {
	struct gpubpf_place place; /* its kind is the site's; its line and operands are ignored */
	uint32_t site;             /* index in the job */
};

struct gpubpf_lower_job {
	const struct gpubpf_unit *unit;          /* contains all programs that sites name; each is verified */
	const struct gpubpf_map_layout *layouts; /* [unit->nmaps] */
	uint64_t layout_hash;
	uint64_t granules;   /* arena offset of the table of granules (maps/layout.h); 0:
						    * unknown at compile time, the arena's header has it */
	uint64_t print_ring; /* arena offset of the print ring's layout; 0: there is no print
						    * ring */
	struct gpubpf_map_layout print_layout;
	const struct gpubpf_site_desc *sites;
	uint32_t nsites;
	const struct gpubpf_insertion *insertions; /* inject only: at most one per place */
	uint32_t ninsertions;
	const struct gpubpf_device_caps *caps;
	uint32_t registers; /* limit on the registers of a twin's thread; 0: unlimited */
	/*
	 * Arena offset, 8-byte aligned, of the struct gpubpf_run that a kernel gpubpf_run_<site> reads and writes. 0:
	 * none, and r0 is dropped.
	 */
	uint64_t run_off;
	bool run_in_maps; /* overrides run_off: program i uses a struct gpubpf_run in the
						    * value of map i */
	/* Conformance tool only. plain_mem: the programs were verified with opts.plain_mem; r1 is the
	 * device address of MEM, arena + gpubpf_lower_run() + GPUBPF_RUN_MEM, and r2 its length, run.mem_size. */
	bool plain_mem;
	/*
	 * Conformance tool only, implies plain_mem: there are no facts. r10 of frame f is the device address arena +
	 * gpubpf_lower_run() + GPUBPF_RUN_STACK + 512 * (f + 1). Every access must lie within the live frames or within
	 * MEM, else the run ends with run.status set. Unknown helpers, too deep calls, and more than run.budget taken
	 * branches and calls end it too.
	 */
	bool checked;
};

/* The struct below is read and written by gpubpf_run_<site>, at job->run_off. Only one lane should run the kernel. */
enum gpubpf_run_status {
	GPUBPF_RUN_OK,
	GPUBPF_RUN_ACCESS,     /* run.address of run.pc is out of bounds */
	GPUBPF_RUN_MISALIGNED, /* run.address, of an atomic, is misaligned */
	GPUBPF_RUN_HELPER,     /* run.address is the number of a helper that this program cannot call */
	GPUBPF_RUN_DEPTH,      /* calls nest too deep */
	GPUBPF_RUN_BUDGET,     /* the run exceeded its budget */
	GPUBPF_RUN_END,        /* control passed the program's end */
};

struct gpubpf_run {
	uint64_t r0;       /* out: r0 of the site's last program */
	uint64_t status;   /* out, checked: enum gpubpf_run_status */
	uint64_t pc;       /* out, checked: instruction that failed */
	uint64_t address;  /* out, checked: see enum gpubpf_run_status */
	uint64_t mem_size; /* in: bytes of MEM */
	uint64_t budget;   /* in, checked: maximum taken branches and calls */
	uint64_t pad[2];
};

#define GPUBPF_RUN_STACK 64  /* offset after the struct: GPUBPF_MAX_FRAMES frames, then MEM */
#define GPUBPF_RUN_MEM (GPUBPF_RUN_STACK + GPUBPF_MAX_FRAMES * GPUBPF_STACK_SIZE)

struct gpubpf_target_opts {
	int opt_level;      /* 0 to 3; default 2 */
	bool kernels;       /* adds kernels gpubpf_run_<site>(arena, launch, pid_tgid) */
	bool one_kernel;    /* instead adds one kernel, run by one lane, that runs any site: gpubpf_run(arena,
				  * launch, pid_tgid, uint32_t site) */
	bool inlined;       /* each site becomes a function gpubpf_inline_<site>() without parameters, which
				  * reads its environment from a location that the target defines; for injectors that
				  * insert text */
	bool keeps_sums;    /* inlined only: programs at single instructions accumulate write-only counters in
				  * registers of the place's function (low_accumulate()) */
	bool combines_adds; /* PTX: lanes of a warp share adds to adjacent words (low_defer_add()) */
	bool text;          /* if the output is binary, emits its readable form (prog dump) */
	bool validate;      /* checks the output by struct gpubpf_target's validate */
	const char *cpu;    /* processor, such as "sm_90" or "gfx90a"; NULL: from the capabilities */
	const void *probes; /* inject for sass: the assembler's output for what emit returned for the same job;
				  * else NULL */
	size_t probes_size;
	const uint8_t *alike; /* inject: SHA-256 of the inputs of the job's probes, by which other kernels can
				  * share the result (core/worker/alike.h); NULL: not computed */
};

/* Code for an element of a map of maps serves all elements with the same prototype, but no other map. */
#define GPUBPF_MIXED_ELEMENTS "helper %s gets an element of a map of maps on one path and another map on another: " \
	"call it separately on each path"

/* Returns the arena offset of the struct gpubpf_run of that program of the unit; 0: none. */
static inline uint64_t gpubpf_lower_run(const struct gpubpf_lower_job *job, uint32_t prog)
{
	return job->run_in_maps ? job->layouts[prog].data : job->run_off;
}

/*
 * Updates with large values of whole words copy them from device memory (GPUBPF_LAYOUT_BY_ADDRESS), so that lanes need no
 * private copy. Small values are better in registers.
 */
#define GPUBPF_DIRECT_MIN_BYTES 64 /* bytes */

static inline bool gpubpf_may_be_direct(const struct gpubpf_helper *helper, const struct gpubpf_map *map)
{
	return helper->op == GPUBPF_OP_UPDATE && map->value_size > GPUBPF_DIRECT_MIN_BYTES && map->value_size % 8 == 0;
}

static inline bool gpubpf_is_direct(const struct gpubpf_helper *helper, const struct gpubpf_map *map,
				    enum gpubpf_arg_size size, const struct gpubpf_access *a)
{
	return size == GPUBPF_SIZE_VALUE && gpubpf_may_be_direct(helper, map) && a->align == 8 && a->spaces &&
	       !(a->spaces & ~(GPUBPF_SPACE_MAP_VALUE | GPUBPF_SPACE_RECORD));
}

/* May the host access this memory while kernels run? Then compilers must not merge or remove accesses. */
static inline bool gpubpf_lower_is_live(const struct gpubpf_lower_job *job, const struct gpubpf_access *access)
{
	bool live = false;

	for (uint32_t i = 0; access->spaces & GPUBPF_SPACE_MAP_VALUE && i < job->unit->nmaps; i++)
		if (access->map == (int)i || access->map == GPUBPF_ANY_MAP)
			live |= job->layouts[i].flags & GPUBPF_LAYOUT_LIVE;
	return live;
}

#endif
