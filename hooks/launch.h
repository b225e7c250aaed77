/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's launch path, written once for all runtimes. An adapter (hooks/opencl/, hooks/cuda/,
 * hooks/hip/, hooks/levelzero/) turns its runtime's calls into these and does what they answer; it decides nothing itself.
 * libc only; safe to call from any thread; no session costs one load and one branch.
 *
 *   program built   gpubpf_hook_program_create()   remembers how to get its image
 *   kernel created  gpubpf_hook_kernel_create()    remembers its name
 *                   gpubpf_hook_kernel_ahead()     has its twin made and loaded, before the kernel is launched
 *   launch          gpubpf_hook_launch_begin()     answers "original", or a twin and its extra arguments; matches the name
 *                                                  against what is attached, again each time that this has changed
 *                   ... the adapter enqueues what it was told ...
 *                   gpubpf_hook_launch_end()       counts; asks the adapter to pull when it must
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

struct gpubpf_hook_device;   /* one per (context, device) that the application uses */
struct gpubpf_hook_program;
struct gpubpf_hook_kernel;

/* the application's image as the session wants it; memory belongs to the adapter until put() */
struct gpubpf_hook_image {
	uint32_t unloadable; /* asked for: 1 << enum gpubpf_image_kind, twins that the runtime did not load */
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
	const char *cwd;     /* both as struct gpubpf_image has them; NULL: "" */
	uint64_t built_ns;
	uint64_t identity;   /* the same for other programs of the same image, and of no other; 0: the adapter does not tell */
	bool kept;           /* the session has it by its identity: it has no data here */
	const char *from;    /* the file in which the image lies, or which loaded it, at most 255 bytes; NULL: unknown */
	const char *reason;  /* not NULL: the program cannot be probed, why */
};

/* a twin as the session describes it */
struct gpubpf_hook_twin {
	const char *name;
	uint64_t kernel;     /* the id of what it is the twin of, */
	uint32_t params;     /* which has so many */
	uint32_t flags;      /* enum gpubpf_twin_flags */
};

/* what an adapter provides; all called outside of locks of the launch path */
struct gpubpf_hook_ops {
	const char *backend;
	const struct gpubpf_device_ops *device;
	/* Names of all kernels of the program, separated by ';', for free(); NULL: not known. Without it a program is
	 * one kernel. */
	char *(*kernels)(void *adapter_program);
	/* Fill *image for the program on a device. Called once for each set of programs that is put in; put() after. */
	int (*image)(void *adapter_program, struct gpubpf_hook_device *device, struct gpubpf_hook_image *image);
	void (*image_put)(struct gpubpf_hook_image *image);
	/* Load the twin image; *twin is the adapter's own handle for one kernel of it. It may run in a thread of the agent,
	 * after the program has gone too. */
	int (*twin_load)(struct gpubpf_hook_device *device, void *adapter_program, enum gpubpf_image_kind kind,
			 const void *data, size_t size, const char *options, void **module,
			 struct gpubpf_why *why);
	/* One kernel of the twin image; the adapter refuses when its runtime has other parameters. */
	int (*twin_kernel)(void *module, const struct gpubpf_hook_twin *what, void *adapter_kernel, void **twin,
			   struct gpubpf_why *why);
	/* Registers a thread of the kernel has, and one of the twin. NULL: the runtime does not say. */
	void (*twin_registers)(void *twin, uint32_t *before, uint32_t *after);
	/* Who made its code of text. NULL: nobody does, or there is no choice. */
	enum gpubpf_compiled_by (*twin_compiled_by)(const void *twin);
	/* May something of the runtime's run the twin later, whatever is attached then (a graph)? NULL: nothing. */
	bool (*twin_kept)(const void *twin);
	void (*twin_kernel_put)(void *twin);
	void (*twin_unload)(void *module);
};

/* What is not called optional above is there, and of the device what the launch path calls. */
static inline void gpubpf_hook_check(const struct gpubpf_hook_ops *ops)
{
	gpubpf_device_check(ops->device);
	assert(ops->backend && !strcmp(ops->backend, ops->device->backend));
	assert(ops->image && ops->image_put && ops->twin_load && ops->twin_unload);
	assert(ops->twin_kernel && ops->twin_kernel_put);
}

/* Join the session that $GPUBPF_SESSION names; a process may do so with several runtimes, once each, and is one
 * process there. 0; -ENOENT: there is none, the adapter stays out of the way; -EBUSY: $GPUBPF_BACKEND names another
 * runtime. Waits 2 s at most. */
int gpubpf_hook_init(const struct gpubpf_hook_ops *ops);
bool gpubpf_hook_active(void); /* there is a session */
/* This process has joined one, which may be over: what goes of the application's is still to be let go of. Not where no
 * call may be made any more. */
bool gpubpf_hook_joined(void);

/* `ordinal` is the number of the device as users see it (helper 512); the device itself is opened when
 * the first matched kernel is launched on it. */
int gpubpf_hook_device_create(const struct gpubpf_hook_ops *ops, const struct gpubpf_device_open *how,
			      uint32_t ordinal, struct gpubpf_hook_device **device);
void gpubpf_hook_device_destroy(struct gpubpf_hook_device *device);
/* The device of that runtime's context `key`; created on the first call, and kept. NULL: out of memory. */
struct gpubpf_hook_device *gpubpf_hook_device_find(const struct gpubpf_hook_ops *ops, const void *key);
struct gpubpf_hook_device *gpubpf_hook_device_add(const struct gpubpf_hook_ops *ops, const void *key,
						  const struct gpubpf_device_open *how, uint32_t ordinal);
/*
 * The runtime is about to destroy context `key`: copy its maps back and let go of all that we have there. A
 * device that is added for the same key later is another one; twins of this one are never chosen again.
 */
void gpubpf_hook_device_end(const struct gpubpf_hook_ops *ops, const void *key);
bool gpubpf_hook_device_gone(const struct gpubpf_hook_device *device);
/* What is done in its context beside calls of the application's there: it does not go before leave(), but for a limit of
 * time. False: it is gone, or of the parent of a fork; no leave(). */
bool gpubpf_hook_device_use(struct gpubpf_hook_device *device);
void gpubpf_hook_device_leave(struct gpubpf_hook_device *device);
const struct gpubpf_device_open *gpubpf_hook_device_how(const struct gpubpf_hook_device *device);
/* What CLOCK_MONOTONIC is ahead of a device's clock that counts ns, as last measured; known once a twin is loaded. */
uint64_t gpubpf_hook_device_clock_offset(const struct gpubpf_hook_device *device);
uint64_t gpubpf_hook_device_arena(const struct gpubpf_hook_device *device); /* what twins get; 0 before */
/* Memory of the runtime's beside it that twins read and write without being given it, of that kind: `memory` has room for `most`;
 * how many are there, or with 0 how many there are. */
uint32_t gpubpf_hook_device_memory(struct gpubpf_hook_device *device, enum gpubpf_placement where, void **memory, uint32_t most);

int gpubpf_hook_program_create(const struct gpubpf_hook_ops *ops, void *adapter_program,
			       struct gpubpf_hook_program **program);
void gpubpf_hook_program_destroy(struct gpubpf_hook_program *program);


int gpubpf_hook_kernel_create(struct gpubpf_hook_program *program, void *adapter_kernel, const char *name,
			      struct gpubpf_hook_kernel **kernel);
void gpubpf_hook_kernel_destroy(struct gpubpf_hook_kernel *kernel);
/* The application made the kernel, or looked it up, to launch it on the device: its twin is made and loaded before that,
 * waited for here as a launch would. Where nobody waits, a thread of the agent does it. */
void gpubpf_hook_kernel_ahead(struct gpubpf_hook_kernel *kernel, struct gpubpf_hook_device *device);
bool gpubpf_hook_kernel_wanted(const struct gpubpf_hook_kernel *kernel); /* something was attached to it once */
const char *gpubpf_hook_kernel_name(const struct gpubpf_hook_kernel *kernel);

/* Does the session keep the image that the adapter calls so? Then it need not be copied for it again. */
bool gpubpf_image_is_kept(uint64_t identity);

struct gpubpf_hook_launch {
	struct gpubpf_hook_kernel *kernel;
	struct gpubpf_hook_device *device;
	uint32_t dim;
	size_t grid[3], block[3]; /* threads in all; threads a block, 0 if the runtime chooses */
	/* answered by begin() */
	void *twin;               /* the adapter's twin handle; NULL: launch the original */
	uint32_t twin_flags;      /* enum gpubpf_twin_flags: which extra arguments to set */
	uint64_t arena;           /* their values */
	uint64_t number;
	uint64_t pid_tgid;        /* and the stack that it is launched from, where programs ask (maps/layout.h) */
	bool followed;            /* call gpubpf_hook_completed() once when the twin has ended on the device */
	uint32_t registers;       /* answered by twin() with GPUBPF_TWIN_NO_ROOM: with so many a thread it would fit; 0: never */
	/* of the launch path alone */
	struct gpubpf_hook_choice *choice;
	const struct gpubpf_hook_binding *binding; /* of the twin */
	struct gpubpf_kernel_entry *inherited; /* made by the parent of a fork: counted there, no more */
	uint64_t spent_ns;
	enum gpubpf_miss miss;    /* without a twin: why */
};

enum gpubpf_hook_outcome {
	GPUBPF_LAUNCHED,         /* what begin() answered was enqueued */
	GPUBPF_LAUNCHED_INSTEAD, /* the runtime refused the twin; the original was enqueued */
	GPUBPF_LAUNCH_FAILED,    /* nothing was enqueued: the application's own error */
};

/* Callbacks of the runtime's that this thread is in: their launches do not wait for twins, nor make any. */
extern _Thread_local int gpubpf_hook_callbacks;

void gpubpf_hook_launch_begin(struct gpubpf_hook_launch *launch);
void gpubpf_hook_launch_end(struct gpubpf_hook_launch *launch, enum gpubpf_hook_outcome outcome);

/*
 * begin, what it answers, and end, for runtimes that copy arenas after waiting for the context themselves.
 * twin() enqueues l->twin, or answers with GPUBPF_TWIN_NO_ROOM where it does not fit, or with the runtime's
 * error: then the original runs, whose error is the answer. Where fewer registers would do, a twin that has no more is made
 * first, which the launch waits for as for any, and later ones of the kernel have.
 */
#define GPUBPF_TWIN_NO_ROOM (-1)
#define GPUBPF_TWIN_TOLD (-2) /* the adapter has said why */

int gpubpf_hook_launch_run(struct gpubpf_hook_launch *launch,
			   int (*twin)(const void *call, struct gpubpf_hook_launch *launch),
			   int (*original)(const void *call), const void *call);

/* Tell the user that the original ran instead, and why. */
void gpubpf_hook_twin_refused(const struct gpubpf_hook_launch *launch, int error);

/*
 * A grid that fits the device all at once may have been sized so, for blocks that wait for one another: the
 * twin must hold it at once too. blocks() asks the runtime how many blocks a multiprocessor holds, of the
 * original (twin: false) or of the twin; its answers are kept while the shape stays the same. part(), which
 * is asked where it matters, says how many multiprocessors the launch has; 0: all of the device, as where part
 * is NULL; negative: nobody knows.
 */
struct gpubpf_hook_fit {
	_Atomic uint64_t known;       /* what was asked last, in one word: threads ask at once */
	int units;                    /* multiprocessors of the device */
};

bool gpubpf_hook_fits(struct gpubpf_hook_fit *fit, uint64_t grid, uint32_t threads, uint32_t shared,
		      int (*blocks)(const void *call, bool twin, int *n), int (*part)(const void *call),
		      const void *call);

/*
 * A launch that the runtime makes by itself later on, as often as the application likes: counted each time,
 * never probed, and `reason` (static text) says why. Of l, kernel to block. Freed by free(); NULL: out of
 * memory, or of the parent of a fork.
 */
struct gpubpf_hook_record;

struct gpubpf_hook_record *gpubpf_hook_record_create(const struct gpubpf_hook_launch *l, const char *reason);
struct gpubpf_hook_record *gpubpf_hook_record_copy(const struct gpubpf_hook_record *record);
/* In place of end(), of what begin() answered and the runtime recorded: counted as probed each time, where it is a twin. */
struct gpubpf_hook_record *gpubpf_hook_launch_record(struct gpubpf_hook_launch *launch, enum gpubpf_hook_outcome outcome,
						     const char *reason);
void gpubpf_hook_record_launched(struct gpubpf_hook_record *record);

/* A followed twin has ended; may be called from the runtime's own threads. */
void gpubpf_hook_completed(struct gpubpf_hook_device *device);
/* Twins run whose end nobody tells, from now on: a graph or list has one, or the device cannot be waited for. */
void gpubpf_hook_unfollowed(struct gpubpf_hook_device *device);
/* The application waits for the device here: copy back arenas that are not host memory, where no twin is
 * running and the last copy is some time ago. Else two loads. */
void gpubpf_hook_quiet(void);

/*
 * allocations.c: memory that the application has, for helpers that ask for it. `context`: whose it is, as the device's `how`
 * has it; its devices reach it, and `everywhere` all of the process. Or a struct gpubpf_hook_device, which alone does.
 * What is known there of the same base goes. What is no more is told before the runtime frees it.
 */
uint32_t gpubpf_allocation_number(void); /* of one that was made just now, */
uint32_t gpubpf_allocation_stack(void);  /* and the stack that it was made from; 0: nobody asks */
void gpubpf_allocation_add(const void *context, bool everywhere, const struct gpubpf_allocation *allocation);
void gpubpf_allocation_remove(uint64_t base);
void gpubpf_allocation_cut(uint64_t base, uint64_t size); /* of these bytes, whatever they are part of */
void gpubpf_allocations_end(const void *context); /* it goes, and all that is its own */
/* Of runtimes that do not tell where buffers lie: does a program on the device ask, and where is this one, as kernels see
 * it? Waits for the device. 0 or -errno. */
bool gpubpf_allocations_asked(const struct gpubpf_hook_device *device);
int gpubpf_buffer_address(struct gpubpf_hook_device *device, void *buffer, uint64_t *address);

/* time.c */
uint64_t gpubpf_now_ns(void); /* CLOCK_MONOTONIC */
/* False when the deadline has passed. By calls that ThreadSanitizer sees, that of the program too. */
bool gpubpf_mutex_lock_until(pthread_mutex_t *lock, uint64_t deadline_ns);

bool gpubpf_plan_wants(const char *name); /* plan.c: some pattern matches it now */

/* One line for the user, through the session if there is one, else standard error; each text once. */
void gpubpf_hook_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
