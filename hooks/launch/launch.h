/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's launch path, shared by all runtimes. An adapter (hooks/opencl/, hooks/cuda/, hooks/hip/,
 * hooks/level_zero/) translates its runtime's calls into calls of these functions. The launch path decides whether a
 * launch runs the original or a twin, and the adapter enqueues that kernel.
 * Depends on libc only. All functions are thread-safe. Without a session a call costs one load and one branch.
 *
 *   program built   gpubpf_hook_program_create()   Records the program; ops->image() returns its image later.
 *   kernel created  gpubpf_hook_kernel_create()    Records the kernel and its name.
 *                   gpubpf_hook_kernel_prefetch()     Has its twin built and loaded before the first launch.
 *   launch          gpubpf_hook_launch_begin()     Returns the original, or a twin and its extra arguments. Matches the
 *                                                  name against the attached patterns whenever these have changed.
 *                   ... the adapter enqueues the kernel that begin() returned ...
 *                   gpubpf_hook_launch_end()       Counts; makes the adapter copy maps back when due.
 */
#ifndef GPUBPF_HOOKS_LAUNCH_H
#define GPUBPF_HOOKS_LAUNCH_H

#include <stdatomic.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/device.h"
#include "core/wire/protocol.h"
#include "gpubpf/allocation.h"
#include "hooks/client/log_once.h"
#include "hooks/process/callbacks.h"
#include "hooks/process/time.h"

struct gpubpf_hook_device; /* one per (context, device) that the application uses */
struct gpubpf_hook_program;
struct gpubpf_hook_kernel;

/* The application's image in the session's format. ops->image() fills it; the adapter owns its memory until
 * ops->image_put(). */
struct gpubpf_hook_image {
	/* input: mask of 1 << enum gpubpf_image_kind, twin kinds that the runtime failed to load */
	uint32_t unloadable;
	enum gpubpf_image_kind kind;
	const void *data;
	size_t size;
	const char *options;
	const struct gpubpf_hook_header {
		const char *name;
		const void *data;
		size_t size;
	} *headers;
	uint32_t nheaders;
	const char *cwd; /* cwd, built_ns: as in struct gpubpf_image; cwd NULL: "" */
	uint64_t built_ns;
	uint64_t identity;  /* programs of the same image have the same number, others differ; 0: unknown */
	bool is_cached;     /* the session has cached the image under its identity: `data` is unset */
	const char *from;   /* file that contains or loaded the image, at most 255 bytes; NULL: unknown */
	const char *reason; /* not NULL: why the program cannot be probed */
};

/* one kernel's twin in a twin image, as the session describes it */
struct gpubpf_hook_twin {
	const char *name;
	uint64_t kernel; /* id of the original kernel */
	uint32_t params; /* number of parameters of the original kernel */
	uint32_t flags;  /* enum gpubpf_twin_flags */
};

/* operations of an adapter; the launch path calls all of them without holding its locks */
struct gpubpf_hook_ops {
	const char *backend;
	const struct gpubpf_device_ops *device;
	/* Names of all kernels of the program, separated by ';', malloc'd for the caller. NULL: unknown. Optional:
	 * without it each program has one kernel. */
	char *(*kernels)(void *adapter_program);
	/* Fill *image for the program on a device, once per request for a twin image. image_put() follows. */
	int (*image)(void *adapter_program, struct gpubpf_hook_device *device, struct gpubpf_hook_image *image);
	void (*image_put)(struct gpubpf_hook_image *image);
	/* Load the twin image; *module receives the adapter's handle. An agent thread may call it, even after the
	 * application released the program. */
	int (*twin_load)(struct gpubpf_hook_device *device, void *adapter_program, enum gpubpf_image_kind kind,
			 const void *data, size_t size, const char *options, void **module, struct gpubpf_reason *why);
	/* Create one kernel of the twin image; the adapter refuses if the runtime reports other parameters. */
	int (*twin_kernel)(void *module, const struct gpubpf_hook_twin *what, void *adapter_kernel, void **twin,
			   struct gpubpf_reason *why);
	/* Registers per thread of the original and of the twin. NULL: the runtime does not report them. */
	void (*twin_registers)(void *twin, uint32_t *before, uint32_t *after);
	/* Which compiler turned the twin's text into machine code. NULL: the runtime has only one compiler, or
	 * compiles nothing. */
	enum gpubpf_compiled_by (*twin_compiled_by)(const void *twin);
	/* May the runtime run the twin later without a launch, for example from a graph? Then later attaches and
	 * detaches do not affect those runs. NULL: never. */
	bool (*twin_kept)(const void *twin);
	void (*twin_kernel_put)(void *twin);
	void (*twin_unload)(void *module);
};

/* Asserts that the adapter has all operations except the optional ones, and its device operations too. */
static inline void gpubpf_hook_check(const struct gpubpf_hook_ops *ops)
{
	gpubpf_device_check(ops->device);
	assert(ops->backend && !strcmp(ops->backend, ops->device->backend));
	assert(ops->image && ops->image_put && ops->twin_load && ops->twin_unload);
	assert(ops->twin_kernel && ops->twin_kernel_put);
}

/* Join the session that $GPUBPF_SESSION names. Each runtime's adapter may call it; the session still sees one process.
 * Returns 0, or -ENOENT without a session: the adapter stays inactive. Returns -EBUSY if $GPUBPF_BACKEND
 * names another runtime. Waits at most 2 s. */
int gpubpf_hook_init(const struct gpubpf_hook_ops *ops);
bool gpubpf_hook_active(void); /* is a session connected? */
/* Has this process joined a session? The session may have ended since; the adapter must still release its records.
 * False once a seccomp filter forbids calls of the agent. */
bool gpubpf_hook_joined(void);

/* `ordinal` is the device number that users see (helper 512). The agent opens the device when the first matched
 * kernel is launched on it. */
int gpubpf_hook_device_create(const struct gpubpf_hook_ops *ops, const struct gpubpf_device_open *how, uint32_t ordinal,
			      struct gpubpf_hook_device **device);
void gpubpf_hook_device_destroy(struct gpubpf_hook_device *device);
/* The device of the runtime's context `key`, created on the first call and cached. NULL: out of memory. */
struct gpubpf_hook_device *gpubpf_hook_device_find(const struct gpubpf_hook_ops *ops, const void *key);
struct gpubpf_hook_device *gpubpf_hook_device_add(const struct gpubpf_hook_ops *ops, const void *key,
						  const struct gpubpf_device_open *how, uint32_t ordinal);
/*
 * The runtime is about to destroy context `key`: copy its maps back and release all agent resources in it. A device
 * added later under the same key is a new one; launches never choose twins of this one again.
 */
void gpubpf_hook_device_end(const struct gpubpf_hook_ops *ops, const void *key);
bool gpubpf_hook_device_gone(const struct gpubpf_hook_device *device);
/* Use the device's context outside an application call on it. The context's destruction waits for
 * gpubpf_hook_device_leave(), up to a time limit. False: the context is gone, or belongs to the parent of a fork; then
 * do not call leave. */
bool gpubpf_hook_device_use(struct gpubpf_hook_device *device);
void gpubpf_hook_device_leave(struct gpubpf_hook_device *device);
const struct gpubpf_device_open *gpubpf_hook_device_open_params(const struct gpubpf_hook_device *device);
/* CLOCK_MONOTONIC minus a device clock that counts ns, as last measured; known once a twin is loaded. */
uint64_t gpubpf_hook_device_clock_offset(const struct gpubpf_hook_device *device);
/* device address of the arena, passed to twins; 0 before the device has it */
uint64_t gpubpf_hook_device_arena(const struct gpubpf_hook_device *device);
/* Runtime memory objects of kind `where` outside the arena that twins access without receiving them as arguments.
 * Stores at most `most` handles in `memory` and returns their number; with `most` 0, returns how many exist. */
uint32_t gpubpf_hook_device_memory(struct gpubpf_hook_device *device, enum gpubpf_placement where, void **memory,
				   uint32_t most);

int gpubpf_hook_program_create(const struct gpubpf_hook_ops *ops, void *adapter_program,
			       struct gpubpf_hook_program **program);
void gpubpf_hook_program_destroy(struct gpubpf_hook_program *program);

int gpubpf_hook_kernel_create(struct gpubpf_hook_program *program, void *adapter_kernel, const char *name,
			      struct gpubpf_hook_kernel **kernel);
void gpubpf_hook_kernel_destroy(struct gpubpf_hook_kernel *kernel);
/* The application created or looked up the kernel and may launch it on the device: build and load its twin now. The
 * caller waits like a first launch; if it may not wait, an agent thread does the work. */
void gpubpf_hook_kernel_prefetch(struct gpubpf_hook_kernel *kernel, struct gpubpf_hook_device *device);
bool gpubpf_hook_kernel_is_matched(const struct gpubpf_hook_kernel *kernel); /* has any plan matched it so far? */
const char *gpubpf_hook_kernel_name(const struct gpubpf_hook_kernel *kernel);

/* Has the session cached the image with this identity? Then the adapter need not copy it again. */
bool gpubpf_image_is_cached(uint64_t identity);

struct gpubpf_hook_launch {
	struct gpubpf_hook_kernel *kernel;
	struct gpubpf_hook_device *device;
	uint32_t dim;
	size_t grid[3], block[3]; /* threads of the whole grid; threads per block, 0 if the runtime chooses */
	/* outputs of begin() */
	void *twin;          /* the adapter's twin handle; NULL: launch the original */
	uint32_t twin_flags; /* enum gpubpf_twin_flags: which extra arguments to set */
	uint64_t arena;      /* arena, number, pid_tgid: values of the extra arguments */
	uint64_t number;
	uint64_t pid_tgid; /* also holds the launch stack's number if programs use it (maps/layout.h) */
	bool followed;     /* the adapter must call gpubpf_hook_completed() once after the twin's end */
	/* output of twin() (gpubpf_hook_launch_run()) with GPUBPF_TWIN_NO_ROOM: registers per GPU thread at which the
	 * twin would fit; 0: none */
	uint32_t registers;
	/* private to the launch path */
	struct gpubpf_dispatch_entry *dispatch;
	const struct gpubpf_hook_binding *binding; /* binding that holds the twin */
	/* not NULL: the parent of a fork created the kernel or device, so this process only counts the launch here */
	struct gpubpf_kernel_entry *inherited;
	uint64_t spent_ns;
	enum gpubpf_miss miss; /* why there is no twin */
};

enum gpubpf_hook_outcome {
	GPUBPF_LAUNCHED,          /* the kernel that begin() returned was enqueued */
	GPUBPF_LAUNCHED_ORIGINAL, /* the runtime refused the twin; the original was enqueued */
	GPUBPF_LAUNCH_FAILED,     /* the runtime refused the original too: nothing was enqueued */
};

void gpubpf_hook_launch_begin(struct gpubpf_hook_launch *launch);
void gpubpf_hook_launch_end(struct gpubpf_hook_launch *launch, enum gpubpf_hook_outcome outcome);

/*
 * Combines gpubpf_hook_launch_begin(), the launch and gpubpf_hook_launch_end(), for runtimes that copy arenas after
 * waiting for the context. Callback `twin` enqueues l->twin. It returns GPUBPF_TWIN_NO_ROOM if the twin does not fit,
 * or the runtime's error. Then `original` runs and its error is returned. If a lower register limit would make the twin
 * fit, the agent first builds a twin with that limit. The launch waits for it as for any twin, and later launches of
 * the kernel use it.
 */
#define GPUBPF_TWIN_NO_ROOM (-1)
#define GPUBPF_TWIN_REPORTED (-2) /* the twin was refused; the adapter has already reported why */

int gpubpf_hook_launch_run(struct gpubpf_hook_launch *launch,
			   int (*twin)(const void *call, struct gpubpf_hook_launch *launch),
			   int (*original)(const void *call), const void *call);

/* Report to the user that the original ran instead, and why. */
void gpubpf_hook_twin_refused(const struct gpubpf_hook_launch *launch, int error);

/*
 * gpubpf_hook_fits(): if all blocks of the grid fit on the device at once with the original, do they with the twin?
 * Blocks of such a grid may wait for one another. Callback `blocks` stores in *n how many blocks one multiprocessor
 * holds, of the original (twin: false) or of the twin. Its results are cached in `fit` while the launch shape stays
 * the same. Callback `part` returns how many multiprocessors the launch may use: 0 for the whole device, < 0 if
 * unknown. NULL `part`: the whole device. It is called only if the answer depends on it.
 */
struct gpubpf_hook_fit {
	_Atomic uint64_t known; /* last query and its results in one word, since threads query concurrently */
	int units;              /* multiprocessors of the device */
};

bool gpubpf_hook_fits(struct gpubpf_hook_fit *fit, uint64_t grid, uint32_t threads, uint32_t shared,
		      int (*blocks)(const void *call, bool twin, int *n), int (*part)(const void *call), const void *call);

/*
 * A recorded launch: the runtime runs it later, any number of times (graph, command list). gpubpf_hook_record_create()
 * records one whose runs are counted but not probed; `reason` (static text) says why. It reads the members `kernel` to
 * `block` of l. Release records with free(). NULL: out of memory, or the parent of a fork created the kernel or device.
 */
struct gpubpf_hook_record;

struct gpubpf_hook_record *gpubpf_hook_record_create(const struct gpubpf_hook_launch *l, const char *reason);
struct gpubpf_hook_record *gpubpf_hook_record_copy(const struct gpubpf_hook_record *record);
/* Call this instead of gpubpf_hook_launch_end() when the runtime recorded the launch. If it recorded the twin, each run
 * counts as probed. */
struct gpubpf_hook_record *gpubpf_hook_launch_record(struct gpubpf_hook_launch *launch,
						     enum gpubpf_hook_outcome outcome, const char *reason);
void gpubpf_hook_record_launched(struct gpubpf_hook_record *record);

/* A twin of a launch with `followed` set has ended. The runtime's own threads may call it. */
void gpubpf_hook_completed(struct gpubpf_hook_device *device);
/* From now on twins may run on the device whose end is not reported: a graph or list contains one, or the agent cannot
 * wait for the device. */
void gpubpf_hook_untracked_launch(struct gpubpf_hook_device *device);
/* The application has waited for a device: copy arenas outside host memory back, unless a twin runs or the last copy is
 * recent. If nothing is to be copied, costs two loads. */
void gpubpf_hook_device_synced(void);

/*
 * hooks/device/allocations.c: the application's allocations, for helpers that look them up. `context` owns the memory:
 * a context as in struct gpubpf_device_open, whose devices can access it, or a struct gpubpf_hook_device, the only one
 * that can. With `everywhere`, all devices of the process can. An added allocation replaces one with the same context
 * and base. Call gpubpf_allocation_remove() before the runtime frees the memory.
 */
uint32_t gpubpf_allocation_number(void); /* number for the next allocation */
uint32_t gpubpf_allocation_stack(void);  /* number of the calling stack; 0: no program uses stacks */
void gpubpf_allocation_add(const void *context, bool everywhere, const struct gpubpf_allocation *allocation);
void gpubpf_allocation_remove(uint64_t base);
/* Remove these bytes from all allocations that contain them. */
void gpubpf_allocation_cut(uint64_t base, uint64_t size);
void gpubpf_allocations_end(const void *context); /* the context is destroyed, with all its allocations */
/* For runtimes that do not report buffer addresses. gpubpf_allocations_in_use(): do programs on the device look up
 * allocations? gpubpf_buffer_address() stores the address at which kernels see the buffer. It runs a kernel and waits
 * for the device. 0 or -errno. */
bool gpubpf_allocations_in_use(const struct gpubpf_hook_device *device);
int gpubpf_buffer_address(struct gpubpf_hook_device *device, void *buffer, uint64_t *address);

bool gpubpf_plan_matches_now(const char *name); /* plan.c: does a pattern of the current plan match the name? */

#endif
