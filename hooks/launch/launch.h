/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's launch path, which all runtimes share. An adapter (hooks/opencl/, hooks/cuda/, hooks/hip/,
 * hooks/level_zero/) translates calls of its runtime into calls of these functions. The launch path decides whether a
 * launch runs the original or a twin, and the adapter enqueues that kernel.
 * Depends on libc only. All functions are thread-safe. Without a session a call costs one load and one branch.
 *
 * The application     The adapter calls               Effect
 *
 *   Builds a program  `gpubpf_hook_program_create()`  Records the program; ops->image() returns its image later.
 *   Creates a kernel  `gpubpf_hook_kernel_create()`   Records the kernel and its name.
 *                     `gpubpf_hook_kernel_prefetch()` Builds and loads the kernel's twin before the first launch.
 *   Launches          `gpubpf_hook_launch_begin()`    Selects the original, or a twin with its extra arguments. If
 *                                                     patterns were attached or detached, matches the name again.
 *                     (the adapter enqueues the selected kernel)
 *                     `gpubpf_hook_launch_end()`      Counts the launch. If maps are due, the adapter copies them.
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
#include "hooks/host/host.h"
#include "hooks/process/callbacks.h"
#include "hooks/process/time.h"

struct gpubpf_hook_device; /* one record per pair of context and device that the application uses */
struct gpubpf_hook_program;
struct gpubpf_hook_kernel;
struct gpubpf_hook_launch;

/* Names of kernels, in one malloc'd block. */
struct gpubpf_name_list {
	uint32_t n;
	size_t size; /* bytes of text */
	char text[]; /* n names, each with its terminating NUL */
};
/*
 * twin_links.c: copy n names. Skips empty names and names that do not fit in GPUBPF_WHOLE_NAME_SIZE. Returns NULL if
 * out of memory.
 */
struct gpubpf_name_list *gpubpf_names_create(const char *const *names, uint32_t n);
/* Like gpubpf_names_create(), for one string with a `separator` between the names. */
struct gpubpf_name_list *gpubpf_names_split(const char *text, char separator);

/* The image of twins, as the session built it. */
struct gpubpf_hook_twin_image {
	enum gpubpf_image_kind kind;
	const void *data;
	size_t size;
	const void *code; /* machine code that an assembler made from the text in `data`; NULL: none */
	size_t code_size;
	const char *options;
};

/*
 * The application's image in the session's format. The adapter's operation image() fills it, and the adapter owns the
 * memory until image_put().
 */
struct gpubpf_hook_image {
	/* input: bit 1 << enum gpubpf_image_kind is set for each kind of twin that the runtime failed to load */
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
	const char *cwd; /* cwd and built_ns: as in struct gpubpf_image; a NULL cwd means "" */
	uint64_t built_ns;
	uint64_t identity;  /* identifies the image: equal for programs with the same image; 0 if unknown */
	bool is_cached;     /* the session has cached the image under its identity, and `data` is unset */
	const char *from;   /* name of the file that contains or loads the image, at most 255 bytes; NULL: unknown */
	const char *reason; /* not NULL: why the program cannot be probed */
};

/* One kernel's twin in a twin image, as the session describes it. */
struct gpubpf_hook_twin {
	const char *name;
	uint64_t kernel; /* id of the original kernel */
	uint32_t params; /* number of parameters of the original kernel */
	uint32_t flags;  /* enum gpubpf_twin_flags */
};

/* Operations of an adapter. The launch path holds none of its locks when it calls them. */
struct gpubpf_hook_ops {
	const char *backend;
	const struct gpubpf_device_ops *device;
	/*
	 * Returns the names of all kernels of the program, or NULL if unknown. The caller frees them. Optional: without
	 * this operation each program has one kernel.
	 */
	struct gpubpf_name_list *(*kernels)(void *adapter_program);
	/*
	 * Fill *image for the program on a device. The launch path calls image() once per request for twins, and
	 * image_put() after it.
	 */
	int (*image)(void *adapter_program, struct gpubpf_hook_device *device, struct gpubpf_hook_image *image);
	void (*image_put)(struct gpubpf_hook_image *image);
	/*
	 * Load the twin image. *module receives the adapter's handle of the loaded module. An agent thread may call
	 * this operation, even after the application released the program.
	 */
	int (*twin_load)(struct gpubpf_hook_device *device, void *adapter_program,
			 const struct gpubpf_hook_twin_image *image, void **module, struct gpubpf_reason *why);
	/*
	 * Create the twin of one kernel from the loaded module. The adapter refuses the twin if the runtime reports
	 * other parameters than the session.
	 */
	int (*twin_kernel)(void *module, const struct gpubpf_hook_twin *what, void *adapter_kernel, void **twin,
			   struct gpubpf_reason *why);
	/*
	 * Store the number of registers per thread of the original and of the twin. NULL: the runtime does not report
	 * registers.
	 */
	void (*twin_registers)(void *twin, uint32_t *before, uint32_t *after);
	/*
	 * Returns true if the adapter can measure the launches on the device: for a launch with `is_timed` set it calls
	 * gpubpf_hook_measure(). NULL: it cannot.
	 */
	bool (*times_launches)(const struct gpubpf_hook_device *device);
	/*
	 * Returns which compiler translated the twin's text into machine code. NULL: the runtime has only one compiler,
	 * or compiles nothing.
	 */
	enum gpubpf_compiled_by (*twin_compiled_by)(const void *twin);
	/*
	 * Returns true if the runtime may run the twin later without a launch, for example from a graph. Later attaches
	 * and detaches do not affect such runs. NULL: this never happens.
	 */
	bool (*twin_kept)(const void *twin);
	/*
	 * Store the launch's argument with this index as an unsigned number. l->call is the adapter's. Returns 0, or
	 * -errno if the argument does not exist, is unknown or has more than 8 bytes. NULL: the adapter knows no
	 * arguments.
	 */
	int (*argument)(const struct gpubpf_hook_launch *l, uint32_t index, uint64_t *value);
	void (*twin_kernel_put)(void *twin);
	void (*twin_unload)(void *module);
};

/* Assert that the adapter has all mandatory operations, including its device operations. */
static inline void gpubpf_hook_check(const struct gpubpf_hook_ops *ops)
{
	gpubpf_device_check(ops->device);
	assert(ops->backend && !strcmp(ops->backend, ops->device->backend));
	assert(ops->image && ops->image_put && ops->twin_load && ops->twin_unload);
	assert(ops->twin_kernel && ops->twin_kernel_put);
}

/*
 * Join the session that $GPUBPF_SESSION names. The adapters of several runtimes may call this, and the session still
 * sees one process. Returns 0. Without a session returns -ENOENT, and the adapter stays inactive. If $GPUBPF_BACKEND
 * names another runtime, returns -EBUSY. Waits at most 2 s.
 */
int gpubpf_hook_init(const struct gpubpf_hook_ops *ops);
/* Returns the launch path's handlers, which hooks/attach passes to the client. */
const struct gpubpf_client_handlers *gpubpf_hook_handlers(void);
bool gpubpf_hook_attached(void); /* is a tool attached to this process? */
bool gpubpf_hook_active(void);   /* is a session connected? */
/*
 * Returns true if this process has joined a session. If the session has ended since, the adapter must still release its
 * records. Returns false after a seccomp filter forbade calls of the agent.
 */
bool gpubpf_hook_joined(void);

/*
 * Create the record of a device. `ordinal` is the device number that users see (helper 512). The agent opens the device
 * when a kernel that the plan matches is first launched on it.
 */
int gpubpf_hook_device_create(const struct gpubpf_hook_ops *ops, const struct gpubpf_device_open *how, uint32_t ordinal,
			      struct gpubpf_hook_device **device);
void gpubpf_hook_device_destroy(struct gpubpf_hook_device *device);
/*
 * Return the device of the runtime's context `key`. The first function returns NULL for an unknown context. The second
 * function creates the device if it does not exist, and returns NULL if out of memory.
 */
struct gpubpf_hook_device *gpubpf_hook_device_find(const struct gpubpf_hook_ops *ops, const void *key);
struct gpubpf_hook_device *gpubpf_hook_device_add(const struct gpubpf_hook_ops *ops, const void *key,
						  const struct gpubpf_device_open *how, uint32_t ordinal);
/*
 * Call before the runtime destroys context `key`: copies the context's maps to host memory and releases the agent's
 * resources in the context. If the key is reused, gpubpf_hook_device_add() creates a new device. Launches never choose
 * twins of the destroyed device again.
 */
void gpubpf_hook_device_end(const struct gpubpf_hook_ops *ops, const void *key);
/* Call fn() for each device of the adapter that has a key. */
void gpubpf_hook_devices_each(const struct gpubpf_hook_ops *ops, void (*fn)(struct gpubpf_hook_device *device));
/* At a detach: end all devices of the adapter that have a key. No thread may launch. */
void gpubpf_hook_devices_end(const struct gpubpf_hook_ops *ops);
void gpubpf_hook_devices_forget(const struct gpubpf_hook_ops *ops); /* free their records, which no thread uses */
bool gpubpf_hook_device_gone(const struct gpubpf_hook_device *device);
/*
 * Use the device's context in a thread that is not in an application's call on that context. The context's destruction
 * waits for gpubpf_hook_device_leave(), up to a time limit. Returns false if the context is destroyed, or belongs to
 * the parent of a fork; then do not call gpubpf_hook_device_leave().
 */
bool gpubpf_hook_device_use(struct gpubpf_hook_device *device);
void gpubpf_hook_device_leave(struct gpubpf_hook_device *device);
const struct gpubpf_device_open *gpubpf_hook_device_open_params(const struct gpubpf_hook_device *device);
/*
 * Returns CLOCK_MONOTONIC minus the device's clock, which counts ns, as last measured. The value is known after a twin
 * was loaded.
 */
uint64_t gpubpf_hook_device_clock_offset(const struct gpubpf_hook_device *device);
/* Returns the device address of the arena, which twins receive, or 0 if the device has no arena yet. */
uint64_t gpubpf_hook_device_arena(const struct gpubpf_hook_device *device);
/*
 * Get the runtime's memory objects of kind `where` that are outside the arena. Twins access them without receiving them
 * as arguments. Stores at most `most` handles in `memory` and returns their number. If `most` is 0, returns how many
 * exist.
 */
uint32_t gpubpf_hook_device_memory(struct gpubpf_hook_device *device, enum gpubpf_placement where, void **memory,
				   uint32_t most);

int gpubpf_hook_program_create(const struct gpubpf_hook_ops *ops, void *adapter_program,
			       struct gpubpf_hook_program **program);
void gpubpf_hook_program_destroy(struct gpubpf_hook_program *program);

int gpubpf_hook_kernel_create(struct gpubpf_hook_program *program, void *adapter_kernel, const char *name,
			      struct gpubpf_hook_kernel **kernel);
void gpubpf_hook_kernel_destroy(struct gpubpf_hook_kernel *kernel);
/*
 * Build and load the kernel's twin now. Call this when the application has created or looked up the kernel and may
 * launch it on the device. The caller waits as it would at the first launch. If it may not wait, an agent thread does
 * the work.
 */
void gpubpf_hook_kernel_prefetch(struct gpubpf_hook_kernel *kernel, struct gpubpf_hook_device *device);
/* has any plan matched the kernel so far? */
bool gpubpf_hook_kernel_is_matched(const struct gpubpf_hook_kernel *kernel);
const char *gpubpf_hook_kernel_name(const struct gpubpf_hook_kernel *kernel);

/*
 * Returns true if the session has cached the image with this identity. Then the adapter need not copy the image again.
 */
bool gpubpf_image_is_cached(uint64_t identity);

struct gpubpf_hook_launch {
	struct gpubpf_hook_kernel *kernel;
	struct gpubpf_hook_device *device;
	uint32_t dim;
	size_t grid[3], block[3]; /* threads in the whole grid; threads per block, 0 if the runtime chooses */
	const void *call;         /* for the operation `argument`; NULL: unknown */
	/* for programs at host/launch: name of the called function, and the stream or queue; set by the adapter */
	const char *function;
	uint64_t stream;
	bool is_node;   /* the call only adds the kernel to a graph, so no programs of host/launch run */
	int64_t result; /* the runtime's result, set by the adapter before launch_end() if it is not 0 */
	/* outputs of begin() */
	void *twin;          /* the adapter's handle of the twin; NULL: launch the original */
	uint32_t twin_flags; /* enum gpubpf_twin_flags: the extra arguments that the twin needs */
	uint64_t arena;      /* arena, number and pid_tgid are the values of the extra arguments */
	uint64_t number;
	uint64_t pid_tgid; /* unused bits have the number of the launch's host stack, if programs read it (maps/layout.h) */
	bool is_timed;     /* the session needs the time of this launch from the runtime */
	bool followed;     /* the adapter must call gpubpf_hook_completed() once after the twin has ended */
	/*
	 * The callback `twin` of gpubpf_hook_launch_run() sets this when it returns GPUBPF_TWIN_NO_ROOM. The value is
	 * the number of registers per GPU thread at which the twin would fit, or 0 if there is none.
	 */
	uint32_t registers;
	/* private to the launch path */
	struct gpubpf_host_call host;
	bool is_host_on; /* programs run after the launch */
	struct gpubpf_dispatch_entry *dispatch;
	const struct gpubpf_hook_binding *binding; /* binding that contains the twin */
	/*
	 * not NULL: the kernel or device was created by the parent of a fork, so this process only counts the launch
	 * here
	 */
	struct gpubpf_kernel_entry *inherited;
	uint64_t spent_ns;
	uint64_t waited_ns;    /* time that the launch waited for its twin */
	enum gpubpf_miss miss; /* why the launch has no twin */
};

enum gpubpf_hook_outcome {
	GPUBPF_LAUNCHED,          /* the kernel that gpubpf_hook_launch_begin() selected was enqueued */
	GPUBPF_LAUNCHED_ORIGINAL, /* the runtime refused the twin; the original was enqueued */
	GPUBPF_LAUNCH_FAILED,     /* the runtime refused the original too: nothing was enqueued */
};

void gpubpf_hook_launch_begin(struct gpubpf_hook_launch *launch);
/* Call if the adapter cannot launch the twin that launch_begin() chose. The adapter then launches the original. */
void gpubpf_hook_launch_refuse(struct gpubpf_hook_launch *launch, enum gpubpf_miss why);
void gpubpf_hook_launch_end(struct gpubpf_hook_launch *launch, enum gpubpf_hook_outcome outcome);

/*
 * Combines gpubpf_hook_launch_begin(), the launch and gpubpf_hook_launch_end(), for runtimes that copy arenas back when
 * the application waits for the context. Callback `twin` enqueues l->twin. It returns 0, GPUBPF_TWIN_NO_ROOM if the
 * twin does not fit, or the runtime's error. After a failure the callback `original` runs, and this function returns
 * its error. If the twin would fit with a lower register limit, the agent first builds a twin with that limit. The
 * launch waits for that twin as for any twin, and later launches of the kernel use it.
 */
#define GPUBPF_TWIN_NO_ROOM (-1)
#define GPUBPF_TWIN_REPORTED (-2) /* the twin was refused, and the adapter has already reported why */

int gpubpf_hook_launch_run(struct gpubpf_hook_launch *launch,
			   int (*twin)(const void *call, struct gpubpf_hook_launch *launch),
			   int (*original)(const void *call), const void *call);

/*
 * Measures how long a launch runs on the device. The report compares probed and unprobed launches with these times. With
 * is_timed the session counts the time. The
 * adapter calls gpubpf_hook_measure() between gpubpf_hook_launch_begin() and gpubpf_hook_launch_end(). It returns NULL
 * if the launch is not measured. probed: the launch runs a twin. Later the adapter reports both the start and the end
 * of the launch, from any thread and in any order. For a start or an end that will not be reported, it calls
 * gpubpf_hook_measure_drop().
 */
struct gpubpf_hook_measure;

struct gpubpf_hook_measure *gpubpf_hook_measure(const struct gpubpf_hook_launch *launch, bool probed);
void gpubpf_hook_measure_start(struct gpubpf_hook_measure *measure);
/*
 * Use the time of gpubpf_hook_measure() as the launch's start. The adapter calls this if the launch may have run before
 * its start could be reported. Call it before gpubpf_hook_measure_end() can be called.
 */
void gpubpf_hook_measure_late(struct gpubpf_hook_measure *measure);
void gpubpf_hook_measure_end(struct gpubpf_hook_measure *measure);
/* Report start and end together: the launch ran for ns. For runtimes that measure launches themselves. */
void gpubpf_hook_measure_ns(struct gpubpf_hook_measure *measure, uint64_t ns);
void gpubpf_hook_measure_drop(struct gpubpf_hook_measure *measure);

/* Report to the user that the original ran instead of the twin, and why. */
void gpubpf_hook_twin_refused(const struct gpubpf_hook_launch *launch, int error);

/*
 * The function gpubpf_hook_fits() checks whether all blocks of the grid fit on the device at once. It returns false if
 * they fit with the original but not with the twin. Blocks of such a grid may wait for one another.
 *
 * Callback `blocks` stores in *n how many blocks of the original (twin: false) or of the twin one multiprocessor holds.
 * The results are cached in `fit` while the launch shape stays the same.
 *
 * Callback `part` returns how many multiprocessors the launch may use. It returns 0 for the whole device, and a
 * negative value if unknown. It is called only if the answer depends on it. If `part` is NULL, the launch may use the
 * whole device.
 */
struct gpubpf_hook_fit {
	_Atomic uint64_t known; /* last launch shape and its results in one word, since threads query concurrently */
	int units;              /* number of multiprocessors of the device */
};

bool gpubpf_hook_fits(struct gpubpf_hook_fit *fit, uint64_t grid, uint32_t threads, uint32_t shared,
		      int (*blocks)(const void *call, bool twin, int *n), int (*part)(const void *call), const void *call);

/*
 * A recorded launch: the runtime runs it later, any number of times, from a graph or a command list. The function
 * gpubpf_hook_record_create() makes a record whose runs are counted but not probed. `reason` is a static string that
 * says why. The function reads the members `kernel` to `block` of l. It returns NULL if out of memory, or if the kernel
 * or device was created by the parent of a fork. Release records with free().
 */
struct gpubpf_hook_record;

struct gpubpf_hook_record *gpubpf_hook_record_create(const struct gpubpf_hook_launch *l, const char *reason);
struct gpubpf_hook_record *gpubpf_hook_record_copy(const struct gpubpf_hook_record *record);
/*
 * Call this instead of gpubpf_hook_launch_end() when the runtime has recorded the launch. If the runtime recorded the
 * twin, each run counts as probed.
 */
struct gpubpf_hook_record *gpubpf_hook_launch_record(struct gpubpf_hook_launch *launch,
						     enum gpubpf_hook_outcome outcome, const char *reason);
void gpubpf_hook_record_launched(struct gpubpf_hook_record *record);
/*
 * Count a launch of unknown kernels as missed, in the row `name`. Both strings are static. If a BPF program is attached,
 * `reason` is the row's reason.
 */
void gpubpf_hook_count_unknown(struct gpubpf_hook_device *device, const char *name, const char *reason);

/* Call when a twin has ended and its launch has `followed` set. The runtime's own threads may call this. */
void gpubpf_hook_completed(struct gpubpf_hook_device *device);
/*
 * Record that the device may run twins whose end is not reported. This is the case when a graph or command list
 * contains a twin, or when the agent cannot wait for the device.
 */
void gpubpf_hook_untracked_launch(struct gpubpf_hook_device *device);
/*
 * Call when the application has waited for a device: copies arenas outside host memory back. Does nothing if a twin
 * runs or the last copy is recent. If nothing must be copied, the call costs two loads.
 */
void gpubpf_hook_device_synced(void);
/* Unmap the arena that devices on host memory share. The adapter calls it at a detach, when no twin runs. */
void gpubpf_shared_arena_release(void);

/*
 * hooks/device/allocations.c: the application's allocations, for helpers that look them up. `context` owns the memory.
 * If it is a context as in struct gpubpf_device_open, all devices of that context can access the memory. If it is a
 * struct gpubpf_hook_device, only that device can. If `everywhere` is true, all devices of the process can access the
 * memory. An added allocation replaces an allocation with the same context and base address. Call
 * gpubpf_allocation_remove() before the runtime frees the memory.
 */
uint32_t gpubpf_allocation_number(void); /* returns the number for the next allocation */
uint32_t gpubpf_allocation_stack(void);  /* returns the number of the calling stack; 0: no BPF program uses stacks */
void gpubpf_allocation_add(const void *context, bool everywhere, const struct gpubpf_allocation *allocation);
void gpubpf_allocation_remove(uint64_t base);
/* Remove the bytes [base, base + size) from all allocations that contain them. */
void gpubpf_allocation_cut(uint64_t base, uint64_t size);
void gpubpf_allocations_end(const void *context); /* call when the context is destroyed: removes its allocations */
/*
 * For runtimes that do not report addresses of buffers. The first function returns true if BPF programs on the device
 * look up allocations. The second function stores the address at which GPU kernels see the buffer. It launches a GPU
 * kernel and waits for the device. It returns 0 or a negative errno value.
 */
bool gpubpf_allocations_in_use(const struct gpubpf_hook_device *device);
int gpubpf_buffer_address(struct gpubpf_hook_device *device, void *buffer, uint64_t *address);

bool gpubpf_plan_has_times(void); /* plan.c: does a program of the current plan only measure times of launches? */
bool gpubpf_plan_matches_now(const char *name); /* plan.c: does a pattern of the current plan match the name? */

#endif
