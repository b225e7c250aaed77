/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's launch path, shared by all runtimes. An adapter (hooks/opencl/, hooks/cuda/, hooks/hip/,
 * hooks/level_zero/) translates its runtime's calls into these and carries out their answers. It makes no decisions.
 * Depends on libc only. All functions are thread-safe. Without a session a call costs one load and one branch.
 *
 *   program built   gpubpf_hook_program_create()   Remembers how to get its image.
 *   kernel created  gpubpf_hook_kernel_create()    Remembers its name.
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

struct gpubpf_hook_device;   /* one per (context, device) that the application uses */
struct gpubpf_hook_program;
struct gpubpf_hook_kernel;

/* the application's image in the session's format; the adapter owns its memory until image_put() */
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
	const char *cwd;     /* this and built_ns as in struct gpubpf_image; NULL: "" */
	uint64_t built_ns;
	uint64_t identity;   /* equal for programs of the same image, unique otherwise; 0: unknown */
	bool kept;           /* the session has cached it under its identity: no data here */
	const char *from;    /* file that contains or loaded the image, at most 255 bytes; NULL: unknown */
	const char *reason;  /* not NULL: why the program cannot be probed */
};

/* a twin as the session describes it */
struct gpubpf_hook_twin {
	const char *name;
	uint64_t kernel;     /* id of the original kernel, */
	uint32_t params;     /* and its number of parameters */
	uint32_t flags;      /* enum gpubpf_twin_flags */
};

/* operations of an adapter; the launch path calls all of them without holding its locks */
struct gpubpf_hook_ops {
	const char *backend;
	const struct gpubpf_device_ops *device;
	/* Names of all kernels of the program, separated by ';', or NULL if unknown. The caller frees it with
	 * free(). Without this operation each program is treated as one kernel. */
	char *(*kernels)(void *adapter_program);
	/* Fill *image for the program on a device, once per set of attached programs. image_put() follows. */
	int (*image)(void *adapter_program, struct gpubpf_hook_device *device, struct gpubpf_hook_image *image);
	void (*image_put)(struct gpubpf_hook_image *image);
	/* Load the twin image; *module is the adapter's handle. It may run in an agent thread, also after the
	 * program is gone. */
	int (*twin_load)(struct gpubpf_hook_device *device, void *adapter_program, enum gpubpf_image_kind kind,
			 const void *data, size_t size, const char *options, void **module,
			 struct gpubpf_reason *why);
	/* Create one kernel of the twin image; the adapter refuses if the runtime reports other parameters. */
	int (*twin_kernel)(void *module, const struct gpubpf_hook_twin *what, void *adapter_kernel, void **twin,
			   struct gpubpf_reason *why);
	/* Registers per thread of the original and of the twin. NULL: the runtime does not report them. */
	void (*twin_registers)(void *twin, uint32_t *before, uint32_t *after);
	/* Which compiler turned the twin's text into machine code. NULL: there is no such step, or only one
	 * compiler. */
	enum gpubpf_compiled_by (*twin_compiled_by)(const void *twin);
	/* May the runtime run the twin later, for example from a graph, regardless of later attach and detach? NULL:
	 * never. */
	bool (*twin_kept)(const void *twin);
	void (*twin_kernel_put)(void *twin);
	void (*twin_unload)(void *module);
};

/* Asserts the operations that are not optional, and the device operations that the launch path calls. */
static inline void gpubpf_hook_check(const struct gpubpf_hook_ops *ops)
{
	gpubpf_device_check(ops->device);
	assert(ops->backend && !strcmp(ops->backend, ops->device->backend));
	assert(ops->image && ops->image_put && ops->twin_load && ops->twin_unload);
	assert(ops->twin_kernel && ops->twin_kernel_put);
}

/* Join the session that $GPUBPF_SESSION names. A process may join once per runtime it uses and counts as one
 * process. Returns 0, or -ENOENT without a session: the adapter stays inactive. Returns -EBUSY if $GPUBPF_BACKEND
 * names another runtime. Waits at most 2 s. */
int gpubpf_hook_init(const struct gpubpf_hook_ops *ops);
bool gpubpf_hook_active(void); /* is a session connected? */
/* This process has joined a session, which may have ended: the adapter must still release its records. False once a
 * seccomp filter forbids further calls. */
bool gpubpf_hook_joined(void);

/* `ordinal` is the device number that users see (helper 512). The agent opens the device when the first matched
 * kernel is launched on it. */
int gpubpf_hook_device_create(const struct gpubpf_hook_ops *ops, const struct gpubpf_device_open *how,
			      uint32_t ordinal, struct gpubpf_hook_device **device);
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
/* Use the device's context outside an application call on it. The context exists until gpubpf_hook_device_leave(),
 * except after a time limit. False: the context is gone, or belongs to the parent of a fork; then do not leave. */
bool gpubpf_hook_device_use(struct gpubpf_hook_device *device);
void gpubpf_hook_device_leave(struct gpubpf_hook_device *device);
const struct gpubpf_device_open *gpubpf_hook_device_open_params(const struct gpubpf_hook_device *device);
/* CLOCK_MONOTONIC minus a device clock that counts ns, as last measured; known once a twin is loaded. */
uint64_t gpubpf_hook_device_clock_offset(const struct gpubpf_hook_device *device);
/* device address passed to twins; 0 before it is known */
uint64_t gpubpf_hook_device_arena(const struct gpubpf_hook_device *device);
/* Runtime memory objects of kind `where` outside the arena that twins access without receiving them as arguments.
 * Stores at most `most` handles in `memory` and returns their number; with `most` 0, returns how many exist. */
uint32_t gpubpf_hook_device_memory(struct gpubpf_hook_device *device, enum gpubpf_placement where, void **memory, uint32_t most);

int gpubpf_hook_program_create(const struct gpubpf_hook_ops *ops, void *adapter_program,
			       struct gpubpf_hook_program **program);
void gpubpf_hook_program_destroy(struct gpubpf_hook_program *program);


int gpubpf_hook_kernel_create(struct gpubpf_hook_program *program, void *adapter_kernel, const char *name,
			      struct gpubpf_hook_kernel **kernel);
void gpubpf_hook_kernel_destroy(struct gpubpf_hook_kernel *kernel);
/* The application created or looked up the kernel to launch it on the device: build and load its twin now. The
 * caller waits as a launch would; if waiting is not allowed, an agent thread does the work. */
void gpubpf_hook_kernel_prefetch(struct gpubpf_hook_kernel *kernel, struct gpubpf_hook_device *device);
bool gpubpf_hook_kernel_is_matched(const struct gpubpf_hook_kernel *kernel); /* was any program ever attached to it? */
const char *gpubpf_hook_kernel_name(const struct gpubpf_hook_kernel *kernel);

/* Has the session cached the image with this identity? Then the adapter need not copy it again. */
bool gpubpf_image_is_cached(uint64_t identity);

struct gpubpf_hook_launch {
	struct gpubpf_hook_kernel *kernel;
	struct gpubpf_hook_device *device;
	uint32_t dim;
	size_t grid[3], block[3]; /* threads of the whole grid; threads per block, 0 if the runtime chooses */
	/* outputs of begin() */
	void *twin;               /* the adapter's twin handle; NULL: launch the original */
	uint32_t twin_flags;      /* enum gpubpf_twin_flags: which extra arguments to set */
	uint64_t arena;           /* values of the extra arguments */
	uint64_t number;
	uint64_t pid_tgid;        /* also holds the launch stack's number if programs use it (maps/layout.h) */
	bool followed;            /* call gpubpf_hook_completed() once when the twin has ended on the device */
	/* output of twin() with GPUBPF_TWIN_NO_ROOM: registers per thread at which it fits, or 0 */
	uint32_t registers;
	/* private to the launch path */
	struct gpubpf_dispatch_entry *choice;
	const struct gpubpf_hook_binding *binding; /* binding of the twin */
	/* kernel or device created by the parent of a fork: the child only counts the launch */
	struct gpubpf_kernel_entry *inherited;
	uint64_t spent_ns;
	enum gpubpf_miss miss;    /* why there is no twin */
};

enum gpubpf_hook_outcome {
	GPUBPF_LAUNCHED,         /* the kernel that begin() returned was enqueued */
	GPUBPF_LAUNCHED_ORIGINAL, /* the runtime refused the twin; the original was enqueued */
	GPUBPF_LAUNCH_FAILED,    /* nothing was enqueued: the application's own error */
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
#define GPUBPF_TWIN_REPORTED (-2) /* the adapter has reported why */

int gpubpf_hook_launch_run(struct gpubpf_hook_launch *launch,
			   int (*twin)(const void *call, struct gpubpf_hook_launch *launch),
			   int (*original)(const void *call), const void *call);

/* Report to the user that the original ran instead, and why. */
void gpubpf_hook_twin_refused(const struct gpubpf_hook_launch *launch, int error);

/*
 * A grid that fits the device all at once may rely on it: its blocks may wait for one another. Then the twin must fit
 * all at once too. Callback `blocks` returns how many blocks one multiprocessor holds, of the original (twin: false) or
 * of the twin. The results are cached while the shape stays the same. Callback `part` returns how many multiprocessors
 * the launch may use and is called only if that matters. It returns 0 for the whole device, as if it were NULL, and a
 * negative value if unknown.
 */
struct gpubpf_hook_fit {
	_Atomic uint64_t known;       /* last query and its results in one word, since threads query concurrently */
	int units;                    /* multiprocessors of the device */
};

bool gpubpf_hook_fits(struct gpubpf_hook_fit *fit, uint64_t grid, uint32_t threads, uint32_t shared,
		      int (*blocks)(const void *call, bool twin, int *n), int (*part)(const void *call),
		      const void *call);

/*
 * A launch that the runtime repeats later, as often as the application likes. Each is counted and none is probed;
 * `reason` (static text) says why. Reads the members `kernel` to `block` of l. Release with free(). NULL: out of
 * memory, or created by the parent of a fork.
 */
struct gpubpf_hook_record;

struct gpubpf_hook_record *gpubpf_hook_record_create(const struct gpubpf_hook_launch *l, const char *reason);
struct gpubpf_hook_record *gpubpf_hook_record_copy(const struct gpubpf_hook_record *record);
/* Replaces end() when the runtime recorded the launch that begin() returned. If it recorded a twin, each run counts
 * as probed. */
struct gpubpf_hook_record *gpubpf_hook_launch_record(struct gpubpf_hook_launch *launch, enum gpubpf_hook_outcome outcome,
						     const char *reason);
void gpubpf_hook_record_launched(struct gpubpf_hook_record *record);

/* A followed twin has ended; may be called from the runtime's own threads. */
void gpubpf_hook_completed(struct gpubpf_hook_device *device);
/* From now on twins run whose end is not reported: a graph or list contains one, or the agent cannot wait for the
 * device. */
void gpubpf_hook_untracked_launch(struct gpubpf_hook_device *device);
/* The application waits for the device here: copy back arenas outside host memory, unless a twin runs or the last
 * copy is recent. Otherwise costs two loads. */
void gpubpf_hook_device_synced(void);

/*
 * hooks/device/allocations.c: the application's allocations, for helpers that look them up. `context` is the owner as in the
 * device's `how`: its devices can access the memory, with `everywhere` all devices of the process. Or it is a struct
 * gpubpf_hook_device, the only one that can. An added allocation replaces one with the same context and base. Call
 * gpubpf_allocation_remove() before the runtime frees the memory.
 */
uint32_t gpubpf_allocation_number(void); /* number of an allocation that was just made, */
uint32_t gpubpf_allocation_stack(void);  /* and of the stack that made it; 0: no program uses stacks */
void gpubpf_allocation_add(const void *context, bool everywhere, const struct gpubpf_allocation *allocation);
void gpubpf_allocation_remove(uint64_t base);
/* remove these bytes from any allocations that contain them */
void gpubpf_allocation_cut(uint64_t base, uint64_t size);
void gpubpf_allocations_end(const void *context); /* the context is destroyed, with all its allocations */
/* For runtimes that do not report buffer addresses: do programs on the device use allocations? At which address do
 * kernels see the buffer? The query by gpubpf_buffer_address() waits for the device and returns 0 or -errno. */
bool gpubpf_allocations_in_use(const struct gpubpf_hook_device *device);
int gpubpf_buffer_address(struct gpubpf_hook_device *device, void *buffer, uint64_t *address);

bool gpubpf_plan_matches_now(const char *name); /* plan.c: some pattern matches it now */

#endif
