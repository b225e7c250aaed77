/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowers verified programs, with their facts, to a target's language. There are two implementations with the same
 * semantics. One emits LLVM IR, for all targets except clc (core/lower/llvm/llvm.c). The other emits OpenCL C text, for
 * clc (core/lower/opencl_c/opencl_c.c).
 *
 * The output has one function for each site:
 *     s32 gpubpf_site_<index>(GPUBPF_PRIVATE const struct gpubpf_env *env)
 * The function runs the site's programs in order, each with a fresh context and stack. It returns 1 if a program ended
 * the thread (helper 507); then the site's remaining programs do not run.
 */
#ifndef GPUBPF_CORE_LOWER_H
#define GPUBPF_CORE_LOWER_H

#include "core/wire/caps.h"
#include "core/wire/image.h"
#include "registers.h"
#include "core/model/facts.h"
#include "core/model/places.h"
#include "core/model/prog.h"
#include "maps/layout.h"

/* kind of a parameter of an application's GPU kernel */
enum gpubpf_param_kind {
	GPUBPF_PARAM_INT,     /* integer, bool or enum of `size` bytes */
	GPUBPF_PARAM_FLOAT,   /* half, float, double */
	GPUBPF_PARAM_POINTER, /* pointer to global or constant memory */
	GPUBPF_PARAM_LOCAL,   /* __local pointer: shared memory whose size the launch sets */
	GPUBPF_PARAM_BYTES,   /* struct, union, vector by value */
	GPUBPF_PARAM_OPAQUE,  /* image, sampler, queue, pipe, event */
};
#define GPUBPF_NPARAM_KINDS (GPUBPF_PARAM_OPAQUE + 1)

struct gpubpf_param {
	char name[64];  /* name; "": unknown */
	char type[128]; /* type as in the source, or "" if unknown */
	enum gpubpf_param_kind kind;
	uint32_t size; /* bytes; 0 for OPAQUE */
	uint32_t align;
	/* offset of the parameter's bytes in env->arg_bytes, or UINT32_MAX if they are not available */
	uint32_t bytes_off;
};

/*
 * The programs that run at all places of one kind in one GPU kernel, or in one function that the kernel calls directly
 * or indirectly. The programs are lowered once, as one function body. The job's insertions list the places at which
 * this body is inserted.
 */
struct gpubpf_site_desc {
	enum gpubpf_site site;
	char kernel[256]; /* name of the GPU kernel in the runtime's API */
	/* for places in a function that the kernel calls: the function's name in the image; else "" */
	char function[256];
	uint64_t kernel_id;
	const struct gpubpf_param *params; /* parameters of `function`, or of the kernel if that is "" */
	uint32_t nparams;
	const uint32_t *progs; /* indices of programs in the unit, in the order in which they run */
	uint32_t nprogs;
	bool may_end_thread; /* programs may end the thread here, because the thread would miss no barrier */
};

/* A place of the GPU kernel at which a site's body is inserted. */
struct gpubpf_insertion {
	struct gpubpf_place place; /* its kind is the site's kind; its line and operands are not used */
	uint32_t site;             /* index of the site in the job */
};

struct gpubpf_lower_job {
	const struct gpubpf_unit *unit;          /* has all programs of the sites; each of them is verified */
	const struct gpubpf_map_layout *layouts; /* [unit->nmaps] */
	uint64_t layout_hash;
	/*
	 * arena offset of the table of granules (maps/layout.h); 0 if it is unknown at compile time, and probes read it
	 * from the arena's header
	 */
	uint64_t granules;
	uint64_t print_ring; /* arena offset of the print ring's layout, or 0 if there is no print ring */
	struct gpubpf_map_layout print_layout;
	const struct gpubpf_site_desc *sites;
	uint32_t nsites;
	const struct gpubpf_insertion *insertions; /* only for inject: the places, each at most once */
	uint32_t ninsertions;
	const struct gpubpf_device_caps *caps;
	uint32_t registers; /* largest number of registers of a twin's thread; 0: no limit */
	/*
	 * Arena offset, a multiple of 8, of the struct gpubpf_run that a kernel gpubpf_run_<site> reads and writes. 0:
	 * there is no such struct, and r0 is dropped.
	 */
	uint64_t run_off;
	bool run_in_maps; /* program i uses a struct gpubpf_run in the value of map i, and run_off is ignored */
	/*
	 * Conformance tool only: the programs were verified with opts.plain_mem. r1 is the device address of MEM, arena
	 * + gpubpf_lower_run() + GPUBPF_RUN_MEM, and r2 is the length of MEM, run.mem_size.
	 */
	bool plain_mem;
	/*
	 * Conformance tool only, implies plain_mem: the programs have no facts. r10 of frame f is the device address
	 * arena + gpubpf_lower_run() + GPUBPF_RUN_STACK + 512 * (f + 1). Every access must lie within the live stack
	 * frames or within MEM. Otherwise the run ends and sets run.status. The run also ends at an unknown helper, at
	 * calls that nest too deep, and after more than run.budget taken branches and calls.
	 */
	bool checked;
	struct gpubpf_code_cache *cache; /* code of earlier jobs (code_cache.h); NULL: no cache */
	struct gpubpf_dump *dump;        /* receives the code after one pass (dump.h), or NULL */
};

/*
 * How a run of gpubpf_run_<site> ended (run.status). The kernel reads and writes the struct gpubpf_run at job->run_off,
 * so only one lane should run it.
 */
enum gpubpf_run_status {
	GPUBPF_RUN_OK,
	GPUBPF_RUN_ACCESS,     /* instruction run.pc accesses run.address, which is out of bounds */
	GPUBPF_RUN_MISALIGNED, /* run.address is the misaligned address of an atomic */
	GPUBPF_RUN_HELPER,     /* run.address is the number of a helper that this program cannot call */
	GPUBPF_RUN_DEPTH,      /* calls nest too deep */
	GPUBPF_RUN_BUDGET,     /* the run exceeded its budget */
	GPUBPF_RUN_END,        /* the next instruction is after the program's end */
};

struct gpubpf_run {
	uint64_t r0;       /* out: r0 of the site's last program */
	uint64_t status;   /* out, checked mode: enum gpubpf_run_status */
	uint64_t pc;       /* out, checked mode: instruction that failed */
	uint64_t address;  /* out, checked mode: described at enum gpubpf_run_status */
	uint64_t mem_size; /* in: number of bytes of MEM */
	uint64_t budget;   /* in, checked mode: largest number of taken branches and calls */
	uint64_t pad[2];
};

#define GPUBPF_RUN_STACK 64  /* offset of GPUBPF_MAX_FRAMES stack frames after the struct; MEM follows them */
#define GPUBPF_RUN_MEM (GPUBPF_RUN_STACK + GPUBPF_MAX_FRAMES * GPUBPF_STACK_SIZE)

struct gpubpf_target_opts {
	int opt_level; /* 0 to 3; default 2 */
	bool kernels;  /* adds a kernel gpubpf_run_<site>(arena, launch, pid_tgid) for each site */
	/*
	 * adds one kernel gpubpf_run(arena, launch, pid_tgid, uint32_t site) instead; one lane runs any of the sites
	 * with it
	 */
	bool one_kernel;
	/*
	 * For injectors that insert text: each site becomes a function gpubpf_inline_<site>() without parameters. It
	 * reads its environment from a location that the target defines.
	 */
	bool inlined;
	/*
	 * only if inlined: programs at single instructions accumulate write-only counters in registers of the function
	 * around them (low_accumulate())
	 */
	bool keeps_sums;
	/* only if inlined: receives the registers that the injector must declare; may be NULL */
	struct gpubpf_site_registers *registers;
	bool combines_adds; /* for PTX targets: the lanes of a warp share adds to adjacent words (low_defer_add()) */
	bool text;          /* if the output is binary, emits its readable form instead (prog dump) */
	bool validate;      /* checks the output with `validate` of struct gpubpf_target */
	const char *cpu;    /* processor, such as "sm_90" or "gfx90a"; NULL: the device's */
	/* inject for sass: the assembler's output for the PTX that emit returned for the same job; else NULL */
	const void *probes;
	size_t probes_size;
	const char *after;        /* pass or stage after which *dump receives the code; NULL: none */
	struct gpubpf_blob *dump; /* malloc'd code; it may be set even if the job fails */
	/*
	 * inject: SHA-256 of the inputs of the job's probes; jobs with the same digest can share the probes
	 * (core/worker/alike.h). NULL: not computed.
	 */
	const uint8_t *alike;
};

/*
 * Code for an element of a map of maps works for all elements with the same prototype. It does not work for other maps.
 */
#define GPUBPF_MIXED_ELEMENTS "helper %s gets an element of a map of maps on one path and another map on another: " \
	"call it separately on each path"

/* Returns the arena offset of the struct gpubpf_run of program `prog` of the unit, or 0 if there is none. */
static inline uint64_t gpubpf_lower_run(const struct gpubpf_lower_job *job, uint32_t prog)
{
	return job->run_in_maps ? job->layouts[prog].data : job->run_off;
}

/*
 * An update copies a map value of more bytes than this directly from device memory (GPUBPF_LAYOUT_BY_ADDRESS), so that
 * lanes need no private copy. The value's size must be a multiple of 8. Smaller values are faster in registers.
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

/*
 * Returns true if the host may access this memory while GPU kernels run. Compilers must then not merge or remove
 * accesses.
 */
static inline bool gpubpf_lower_is_live(const struct gpubpf_lower_job *job, const struct gpubpf_access *access)
{
	bool live = false;

	for (uint32_t i = 0; access->spaces & GPUBPF_SPACE_MAP_VALUE && i < job->unit->nmaps; i++)
		if (access->map == (int)i || access->map == GPUBPF_ANY_MAP)
			live |= job->layouts[i].flags & GPUBPF_LAYOUT_LIVE;
	return live;
}

#endif
