/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libgpubpf loads eBPF objects, proves their programs safe, and runs them inside the GPU kernels of applications that
 * join a session. It follows libbpf's conventions: opaque objects, names object__verb(), option structs that begin with
 * their size, and results that are 0 or -errno.
 *
 *	struct gpubpf_session *s = gpubpf_session__new(NULL);
 *	if (!s || gpubpf_session__add_object(s, "probe.bpf.o") < 0 ||
 *	    gpubpf_session__load(s) < 0 || gpubpf_session__start(s) < 0)
 *		fprintf(stderr, "%s\n", gpubpf_session__error(s));
 *	... start an application with the environment of gpubpf_session__environ(); then, until it has ended:
 *	while (gpubpf_session__poll(s, 100) >= 0) ...
 *	gpubpf_map__lookup_elem(gpubpf_session__find_map_by_name(s, "counts"), ...);
 *	gpubpf_session__free(s);
 *
 * A session is first new, then loaded, started and stopped. A call that comes too early returns -EINVAL, and a call
 * that comes too late returns -EBUSY. Only one thread at a time may use a session. Strings and objects that a getter
 * returns belong to the session and are valid until gpubpf_session__free().
 *
 * Structs that begin with `sz` follow libbpf's rule: clear the struct and set sz to its sizeof. New members are added
 * only at the end, so a caller and a library of different versions work together. Members that the caller's struct
 * lacks count as zero. A call returns -EINVAL if sz is not set, or if a member that the library does not know is not
 * zero. Functions that fill such a struct fill the members that sz covers, and do not change sz.
 *
 * Structs passed to callbacks also grow at their end. The members named unused replace padding, whose bytes would be
 * undefined. They are never used; new members follow them.
 *
 * The comment of each function lists all of its errors. A function that returns int without listed errors cannot fail.
 * After an error, gpubpf_session__error() returns a text that names the problem and a remedy.
 *
 * The library prints nothing, reads no environment variables, and never ends the process. Link it (pkg-config
 * libgpubpf) or load it with dlopen(). It exports only the names below.
 */
#ifndef GPUBPF_GPUBPF_H
#define GPUBPF_GPUBPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GPUBPF_API __attribute__((visibility("default")))

struct gpubpf_session;
struct gpubpf_link;
struct gpubpf_map;
struct gpubpf_prog;

/* Returns the library's version, such as "0.1.0". */
GPUBPF_API const char *gpubpf_version_string(void);

/* -- callbacks: gpubpf_session__poll() and gpubpf_session__stop() call them on the thread of the caller -- */

/* Text that a program printed with helper 6 or 501. */
struct gpubpf_print_record {
	const char *text;   /* without trailing newline */
	const char *prog;   /* C name of the program that printed it; "" if unknown */
	const char *kernel; /* "" if unknown */
	uint64_t launch;    /* number of the launch, from 0 */
	uint64_t block[3], thread[3];
	uint32_t process, device; /* index of the process, and ordinal of the device, in the session */
	/* runtime of the device, for example "cuda"; "" if devices of several runtimes share host memory */
	const char *backend;
};

/* A record of a ring buffer or perf event array. */
struct gpubpf_event {
	const struct gpubpf_map *map;
	const void *data;
	uint32_t size; /* bytes */
	uint32_t copy; /* number of the ring that held the record; each multiprocessor has a ring */
	uint32_t process, device;
	/* runtime of the device, as in struct gpubpf_print_record. "linux": a program in the Linux kernel wrote the
	 * record. Then `copy` is the CPU, or 0 for a ring buffer. */
	const char *backend;
	/* 0, unless programs in the Linux kernel also write to this ring. Then it is CLOCK_MONOTONIC in ns: the
	 * record's own time (docs/reference/maps.md), or the time at which the record was read. */
	uint64_t time_ns;
};

typedef void (*gpubpf_print_fn)(void *ctx, const struct gpubpf_print_record *record);
typedef void (*gpubpf_event_fn)(void *ctx, const struct gpubpf_event *event);
/* One line of text for the user, for example that a GPU kernel could not be probed or a connection was rejected. */
typedef void (*gpubpf_note_fn)(void *ctx, const char *text);

/* -- the session -- */

struct gpubpf_session_opts {
	size_t sz; /* sizeof(struct gpubpf_session_opts) */
	/* Directory of the session's socket, created if missing. It must belong to this user with mode 0700, and other
	 * users must not be able to write to its parent directories. NULL: /run/user/UID/gpubpf if possible, else
	 * /tmp/gpubpf-UID */
	const char *runtime_dir;
	const char *worker_dir; /* directory of gpubpf-compile and the other workers; NULL: the library's directory */
	const char *agent;      /* path of libgpubpf-agent.so; NULL: in the directory of the library */
	/* Directory of the disk cache of twins, used only if it belongs to this user with mode 0700. NULL: no disk
	 * cache */
	const char *cache_dir;
	const char *backend; /* probe only this runtime, for example "opencl"; NULL: all runtimes */
	bool all_gpu;        /* run kprobe/ and kretprobe/ programs on the GPU */
	bool no_wait;        /* the application never waits for a twin */
	uint8_t unused1[2];
	/* limit in ms of the total time for which a process waits for twins in calls that create and launch kernels; 0:
	 * 60,000 */
	uint32_t wait_ms;
	uint64_t sample;     /* probe every n-th launch of each kernel; 0 or 1: every launch */
	uint64_t first;      /* probe only the first n launches of each kernel; 0: no limit */
	uint64_t max_events; /* number of records that are stored for the report; 0: 1,000 */
	bool no_events;      /* count records, but do not store them */
	uint8_t unused2[7];
	uint64_t max_cost; /* limit of the instructions that one run can execute in the worst case; 0: 1,000,000 */
	uint32_t threads;  /* number of threads for which per-thread maps have values; 0: 1,048,576 */
	bool inspect;      /* probe nothing, but report for each kernel whether it can be probed */
	uint8_t unused3[3];
	gpubpf_print_fn print; /* the three callbacks may be NULL */
	gpubpf_event_fn event;
	gpubpf_note_fn note;
	void *ctx;      /* passed to the three callbacks */
	bool no_attach; /* gpubpf_session__load() does not attach programs; use gpubpf_program__attach() */
	uint8_t unused4[7];
	/* If an application contains several forms of code, probe only this one, for example "ptx" or "sass". NULL: the
	 * best possible one */
	const char *route;
	/* also probe machine code of libraries whose licence may forbid its modification (gpubpf-run(1)) */
	bool closed_libraries;
	bool no_kernel; /* skip programs of objects that are for the Linux kernel (uprobe/, tracepoint/, ...) */
	uint8_t unused5[6];
	/* limit in ms of the time for which a host call waits (gpubpf_map__register_host_call()); 0: 1,000 */
	uint64_t host_call_ms;
	/* Clock of helper 502 (bpf_get_globaltimer): "monotonic", "realtime", or a list such as "realtime,count=monotonic"
	 * with names of programs. It has precedence over GPUBPF_CLOCK() of <gpubpf/clock.h>. NULL: CLOCK_MONOTONIC in gpu/
	 * sections, and CLOCK_REALTIME in kprobe/ and kretprobe/ and in programs of loaders */
	const char *clock;
};

/* Create a session. opts may be NULL: all defaults. On failure, returns NULL and sets errno to EINVAL (opts->sz is
 * invalid, see the top of this file) or ENOMEM. The caller frees the session with gpubpf_session__free(). */
GPUBPF_API struct gpubpf_session *gpubpf_session__new(const struct gpubpf_session_opts *opts);
/* Free a session, and stop it first if it is started. s may be NULL. */
GPUBPF_API void gpubpf_session__free(struct gpubpf_session *s);
/* Returns the reason for the last failure of a call on the session: one or several lines without trailing newline, or
 * "" if no call failed. These failures may leave the text unchanged: calls on maps, gpubpf_session__cost(), -ENOENT of
 * gpubpf_session__kernel(), and -ENOMEM of any call. */
GPUBPF_API const char *gpubpf_session__error(const struct gpubpf_session *s);

/*
 * Add an object file. If several programs are attached to one kernel, they run in the order of their objects, then in
 * the order of their sections. Before load, the call only records the path. It returns 0 or -ENOMEM.
 *
 * After load, even in a started session, the call loads and verifies the object at once and creates its maps. The
 * caller attaches its programs with gpubpf_program__attach(). If the session already has an object with the same bytes,
 * the call does nothing and returns 0. On error the session is unchanged, and gpubpf_session__error() returns the
 * diagnostic.
 *
 * Returns -EINVAL if the object is refused, for example because it has more than 256 maps.
 * Returns -E2BIG if a device does not have enough memory for its maps.
 * Returns -ENOSPC if the session would have more than 256 maps or 1,024 links.
 * Returns -EBUSY if the session was stopped or only inspects.
 * Otherwise returns the error of open(2), read(2) or memfd_create(2), for example -ENOENT.
 */
GPUBPF_API int gpubpf_session__add_object(struct gpubpf_session *s, const char *path);
/* Add an object from memory. The call copies the `size` bytes at `data`. Diagnostics and reports show `name` as the
 * name of the object. Returns 0 or -ENOMEM, or -EBUSY after load. */
GPUBPF_API int gpubpf_session__add_object_mem(struct gpubpf_session *s, const char *name, const void *data, size_t size);
/*
 * Replace the initial bytes of an object's global data. If the data is constant, the verifier relies on the new values.
 * `object` is the name or path under which the object was added. `map` is the last part of the map's name: ".rodata",
 * ".data" or ".bss". The `size` bytes at `data` must cover the whole map. A later call for the same map replaces an
 * earlier one.
 *
 * Before load, the call returns 0 or -ENOMEM. Then gpubpf_session__load() returns -EINVAL if no object has this name,
 * the object has no such data, or the size is wrong.
 *
 * After load, the call is for an object that is added later. Returns -EBUSY if the session already has an object of
 * this name or was stopped, or -ENOMEM. Then gpubpf_session__add_object() returns -EINVAL in the cases above. It
 * returns -EBUSY if the session has an object with the same bytes under another name.
 */
GPUBPF_API int gpubpf_session__set_initial_value(struct gpubpf_session *s, const char *object, const char *map,
						 const void *data, size_t size);
/* Attach a program to kernels that its section does not name. `pattern` is a name or a glob. Returns -EBUSY after
 * load, or -ENOMEM. */
GPUBPF_API int gpubpf_session__attach(struct gpubpf_session *s, const char *prog, const char *pattern);
/*
 * Place a map in "device", "pinned", "svm" or "managed" memory (gpubpf-map(8)), whatever its definition requests. `map`
 * is a name or a glob. If several calls match a map, the last one applies. Returns -EINVAL for an unknown kind of
 * memory, -EBUSY after load, or -ENOMEM.
 *
 * Then gpubpf_session__load() returns -EOPNOTSUPP if no map has this name, or if this map can only be in device memory.
 * Maps that match a glob but can only be in device memory stay there. If a device does not have such memory, its
 * kernels run unprobed, and a note names the missing capability.
 */
GPUBPF_API int gpubpf_session__place(struct gpubpf_session *s, const char *map, const char *where);
/*
 * Load and verify all objects. On error gpubpf_session__error() returns the complete diagnostic.
 * Returns -EINVAL if an object or a program is refused, or opts->route names no route. Then the session is not usable.
 * Returns -E2BIG if the maps exceed the limit of memory.
 * Returns -EBUSY if the session is already loaded.
 * Returns -ENOMEM, or the error of open(2), read(2) or memfd_create(2), for example -ENOENT.
 */
GPUBPF_API int gpubpf_session__load(struct gpubpf_session *s);
/* Returns line i of the notes about decisions that the load made and that may interest a user; NULL after the last
 * line. */
GPUBPF_API const char *gpubpf_session__load_note(const struct gpubpf_session *s, size_t i);

/* Open the session's socket, so that applications can join. Returns -EINVAL before load, and -EBUSY if the session is
 * started. Returns -EPERM if the runtime directory does not belong to this user alone, or others can write to a parent
 * directory. Returns -ENOTDIR if it is not a directory, and -ENAMETOOLONG if the socket's path is too long. Returns
 * -ENOMEM, or the error of mkdir(2), socket(2), bind(2) or memfd_create(2). */
GPUBPF_API int gpubpf_session__start(struct gpubpf_session *s);
/* Returns the path of the session's socket, or NULL before start. */
GPUBPF_API const char *gpubpf_session__path(const struct gpubpf_session *s);
/* Returns a file descriptor that becomes readable when gpubpf_session__poll() has work, or -1 before start. */
GPUBPF_API int gpubpf_session__fd(const struct gpubpf_session *s);
/* Serve the joined applications and read the rings, for at most timeout_ms (-1: until something happens, 0: do not
 * block). Returns the number of messages, records and results that were handled, which is 0 if a signal interrupted the
 * call. Returns -EINVAL before start or after stop, or the error of epoll_wait(2). */
GPUBPF_API int gpubpf_session__poll(struct gpubpf_session *s, int timeout_ms);
/* Build the environment of an application that shall join the session. The result is `base` (NULL-terminated) with
 * OPENCL_LAYERS, LD_PRELOAD, ASAN_OPTIONS and GPUBPF_SESSION, and with GPUBPF_BACKEND if opts.backend names a runtime.
 * Values of the first three that are in `base` are kept, and extended. *env is one malloc'd block that the caller
 * frees. Returns -EINVAL before start or after stop, -ENOENT if the agent's file is missing or not readable, or
 * -ENOMEM. */
GPUBPF_API int gpubpf_session__environ(struct gpubpf_session *s, char *const *base, char ***env);
/* Switch probing on or off. While it is off, applications run their original kernels, from the next launch on. Returns
 * -EINVAL before start or after stop. */
GPUBPF_API int gpubpf_session__enable(struct gpubpf_session *s, bool on);
/* Stop the session: read the remaining records, close the connections and end the workers. Applications that still run
 * continue unprobed. Maps and the report stay readable. Returns -EINVAL before start, and 0 if the session was already
 * stopped. */
GPUBPF_API int gpubpf_session__stop(struct gpubpf_session *s);
/* Returns the number of twins that are being built. */
GPUBPF_API uint32_t gpubpf_session__pending(const struct gpubpf_session *s);
/* Return the number of processes that have joined so far, and the number of devices that they have opened. */
GPUBPF_API uint32_t gpubpf_session__processes(const struct gpubpf_session *s);
GPUBPF_API uint32_t gpubpf_session__devices(const struct gpubpf_session *s);

/* -- programs: to iterate, pass prev NULL, then the previous result, until the result is NULL -- */

GPUBPF_API const struct gpubpf_prog *gpubpf_session__next_program(const struct gpubpf_session *s,
								  const struct gpubpf_prog *prev);
GPUBPF_API const char *gpubpf_prog__name(const struct gpubpf_prog *prog);
GPUBPF_API const char *gpubpf_prog__section_name(const struct gpubpf_prog *prog);
GPUBPF_API const char *gpubpf_prog__pattern(const struct gpubpf_prog *prog);
/* Returns the program's number in its object, from 1, or 0 if maps of programs (PROG_ARRAY) cannot contain it. The
 * values of such maps are these 4-byte numbers. */
GPUBPF_API uint32_t gpubpf_prog__number(const struct gpubpf_prog *prog);
GPUBPF_API uint32_t gpubpf_prog__insn_cnt(const struct gpubpf_prog *prog);
/* Returns the maximum number of instructions that one thread executes in one run, as the verifier proved it; 0 before
 * load. */
GPUBPF_API uint64_t gpubpf_prog__max_cost(const struct gpubpf_prog *prog);

/*
 * -- links: attachments of programs to GPU kernels, up to 1,024 in a session --
 *
 * gpubpf_session__load() attaches each program to the kernels that its section or gpubpf_session__attach() names,
 * unless opts.no_attach is set.
 *
 * Attaching and detaching never delay a launch of a running application. In each process, a kernel runs its current
 * twin until the agent has loaded the next twin. Until then, every launch runs the programs of the current twin, even a
 * program that was just detached. The function gpubpf_link__launches() shows whether launches have run the program of
 * a link.
 *
 * A kernel without programs runs unmodified from its next launch on. Maps stay unchanged and readable. Earlier launches
 * do not change, nor do CUDA graphs that were built from a twin (a note reports them).
 */

struct gpubpf_attach_opts {
	size_t sz; /* sizeof(struct gpubpf_attach_opts) */
	/* name of up to 4095 characters, or glob of up to 255 characters; NULL: gpubpf_prog__pattern() */
	const char *pattern;
	uint64_t cookie; /* result of bpf_get_attach_cookie() in the program */
};

/* Attach the program to the kernels that its section names. The link is valid until gpubpf_session__free(). On failure,
 * returns NULL and sets errno. EEXIST: the program is already attached to this pattern with this cookie. EINVAL: the
 * pattern or opts->sz is invalid, or the program is of a section gpu/run/. ENOSPC: the session has 1,024 pairs of program
 * and pattern. EBUSY: the session was stopped. */
GPUBPF_API struct gpubpf_link *gpubpf_program__attach(const struct gpubpf_prog *prog);
/* The same with options. opts may be NULL. */
GPUBPF_API struct gpubpf_link *gpubpf_program__attach_opts(const struct gpubpf_prog *prog,
							   const struct gpubpf_attach_opts *opts);
/* Detach the program from all its kernels. Returns -ENOENT if it is already detached. */
GPUBPF_API int gpubpf_link__detach(struct gpubpf_link *link);
/* Detach the link if it is attached, and release it. The caller must not use the pointer afterwards. link may be NULL.
 * Returns 0. */
GPUBPF_API int gpubpf_link__destroy(struct gpubpf_link *link);
/* Iterate over the attached links: pass prev NULL, then the previous result, until the result is NULL. */
GPUBPF_API struct gpubpf_link *gpubpf_session__next_link(const struct gpubpf_session *s, const struct gpubpf_link *prev);
/* Returns the link's number in the session. If the same program is attached to the same pattern again, the number is
 * the same. */
GPUBPF_API uint32_t gpubpf_link__id(const struct gpubpf_link *link);
/* Returns the link's program. gpubpf_prog__pattern() of this program is the link's pattern. */
GPUBPF_API const struct gpubpf_prog *gpubpf_link__program(const struct gpubpf_link *link);
/* Returns the number of launches whose twin contained the program, in all processes and all periods in which the link
 * was attached. The maps include the results of each of these launches. For a program on device functions, the number
 * counts launches of kernels that may call these functions. */
GPUBPF_API uint64_t gpubpf_link__launches(const struct gpubpf_link *link);

/* -- direct runs of programs in sections gpu/run/, without an application -- */

struct gpubpf_test_run_opts {
	size_t sz; /* sizeof(struct gpubpf_test_run_opts) */
	/* The data buffer, which the program accesses through gpubpf_data(), has data_size_in bytes. Before the first
	 * run it contains the bytes at data_in, or zeros if data_in is NULL. The runs share the buffer. */
	const void *data_in;
	void *data_out; /* receives the buffer after the last run; may be NULL */
	size_t data_size_in;
	size_t data_size_out; /* room at data_out, in bytes; the call stores the size of the buffer */
	uint32_t grid[3];     /* number of blocks in each dimension; 0 counts as 1 */
	uint32_t block[3];    /* number of threads per block; 0 counts as 1 */
	uint32_t repeat;      /* number of runs, one launch each; 0: 1 */
	uint32_t retval;      /* out: result of the program in the thread with ctx->global_linear 0, in the last run */
	/* out: time of a run in ns, from the call of the launch to its end on the host. `duration` is the mean without
	 * the first run, which also waits until the program is compiled. With one run, it is the time of this run. */
	uint64_t duration, duration_min, duration_first;
	const char *backend;   /* runtime, such as "opencl"; NULL: the session's, or the first that has a device */
	const char *device;    /* text that the device's name must contain; NULL: any device */
	uint32_t device_index; /* index among these devices, from 0 */
	uint32_t timeout_ms;   /* time limit of the call; 0: 300,000 */
	/* environment of the process that runs the program; NULL: the environment of the caller */
	char *const *environ;
	char used_backend[16], used_device[128]; /* out: the device that ran the program */
};

/*
 * Run a program of section gpu/run/ in a process that the call starts, on a grid of threads. The process joins the
 * session, so the program uses the session's maps. The call serves the session until the process has ended. opts may be
 * NULL: one run of one thread without data.
 *
 * Returns -EINVAL if the section of the program is another, opts->sz is invalid, or the session is not started.
 * Returns -EBUSY if another direct run of the session has not ended.
 * Returns -ENODEV if no device can be opened, or the device refuses the launch.
 * Returns -EIO if not every launch ran the program, or the process crashed.
 * Returns -ETIMEDOUT after the time limit.
 * Returns -ENOSPC if data_out is too small; it then has the first bytes, and all other results are valid.
 * Returns -ENOMEM, or the error of memfd_create(2), ftruncate(2) or posix_spawn(3).
 */
GPUBPF_API int gpubpf_prog__test_run(const struct gpubpf_prog *prog, struct gpubpf_test_run_opts *opts);

#include "executor.h" /* executors: direct runs that do not end */

/* -- maps: usable from load until gpubpf_session__free(), also while applications run -- */

GPUBPF_API struct gpubpf_map *gpubpf_session__next_map(const struct gpubpf_session *s, const struct gpubpf_map *prev);
/* Returns the first map of this name. If there is none, returns NULL and sets errno to ENOENT. */
GPUBPF_API struct gpubpf_map *gpubpf_session__find_map_by_name(const struct gpubpf_session *s, const char *name);
GPUBPF_API const char *gpubpf_map__name(const struct gpubpf_map *map);
/* Returns the map's number in the session, from 1. The values of maps of maps are these 4-byte numbers. */
GPUBPF_API uint32_t gpubpf_map__number(const struct gpubpf_map *map);
GPUBPF_API uint32_t gpubpf_map__type(const struct gpubpf_map *map);        /* BPF_MAP_TYPE_*, or from 1501 on */
GPUBPF_API const char *gpubpf_map__type_str(const struct gpubpf_map *map); /* "HASH" */
GPUBPF_API uint32_t gpubpf_map__key_size(const struct gpubpf_map *map);    /* bytes */
GPUBPF_API uint32_t gpubpf_map__value_size(const struct gpubpf_map *map);  /* bytes of a single value */
GPUBPF_API uint32_t gpubpf_map__max_entries(const struct gpubpf_map *map);
/*
 * Returns the number of bytes that look-ups and updates copy. It is the value size, except for maps with one value per
 * multiprocessor or thread. There it is the number of values times the value size rounded up to 8, as in bpf(2) for
 * per-CPU maps.
 *
 * In a map with one value per multiprocessor, the values of the tool are first. If programs in the Linux kernel use the
 * map, one value per CPU follows. The values of each device with separate memory are last, in the order in which the
 * devices were added. So query the size again after programs have run on another device.
 */
GPUBPF_API size_t gpubpf_map__user_value_size(const struct gpubpf_map *map);
/* Returns the number of records and updates that were dropped because the map was full. */
GPUBPF_API uint64_t gpubpf_map__drops(const struct gpubpf_map *map);

/*
 * The operations of bpf(2), with its errors. All return -EINVAL if key_sz is not the map's key size or value_sz is not
 * gpubpf_map__user_value_size(). They also return -EINVAL if the map has no values (a ring buffer) or the flags are not
 * supported. Look-ups and deletes support no flags; updates support BPF_ANY, BPF_NOEXIST and BPF_EXIST.
 *
 * Queues and stacks have no keys: pass key NULL and key_sz 0. An update pushes a value. If the map is full, an update
 * with BPF_EXIST replaces the oldest value. A look-up copies the next value, and gpubpf_map__lookup_and_delete_elem()
 * also removes it. Both return -ENOENT if the map is empty.
 *
 * In a map of maps, a look-up returns -ENOENT if the element has no map. An update sets the number of a map in the
 * session. It returns -EINVAL unless this map has the layout of the map's definition.
 *
 * A device with separate memory has its own copy of each map. If programs only add to values, a look-up returns the sum
 * over all copies. In a map with one value per multiprocessor, it returns all values. Otherwise it returns the value of
 * the first device that has the key. Updates and deletes change only the tool's copy.
 */
/* Returns -ENOENT if the key does not exist, or if a bloom filter does not contain the value. Returns -EBUSY if the
 * value changed during every attempt to copy it, and -ENOMEM if the sum over several devices cannot be computed. */
GPUBPF_API int gpubpf_map__lookup_elem(const struct gpubpf_map *map, const void *key, size_t key_sz, void *value,
				       size_t value_sz, uint64_t flags);
/*
 * Returns -ENOENT with BPF_EXIST if the key does not exist.
 * Returns -EEXIST with BPF_NOEXIST if the key exists. Every key of an array exists.
 * Returns -E2BIG if a hash table, queue or stack is full, or the index of an array is out of range.
 * Returns -ENOSPC if an LPM_TRIE is full.
 * Returns -EPERM if the map is read-only for BPF programs.
 * Returns -EBUSY if a thread is changing the key, the queue or the stack and does not finish in time.
 */
GPUBPF_API int gpubpf_map__update_elem(const struct gpubpf_map *map, const void *key, size_t key_sz, const void *value,
				       size_t value_sz, uint64_t flags);
/* Returns -ENOENT if the key does not exist. Returns -EINVAL for an array and -EOPNOTSUPP for a bloom filter, because
 * their elements cannot be deleted. Returns -EPERM and -EBUSY as gpubpf_map__update_elem() does. */
GPUBPF_API int gpubpf_map__delete_elem(const struct gpubpf_map *map, const void *key, size_t key_sz, uint64_t flags);
/* Copy the value and delete the key. If several callers do so at once, only one of them receives the value. Returns the
 * errors of look-ups and deletes, and -EINVAL for an array. */
GPUBPF_API int gpubpf_map__lookup_and_delete_elem(const struct gpubpf_map *map, const void *key, size_t key_sz,
						  void *value, size_t value_sz, uint64_t flags);
/*
 * Atomically add n to the word of `size` (4 or 8) bytes at `offset` in the value of a key. If the key does not exist,
 * it is first created with a value of zeros. Concurrent adds of other threads and of programs on a device are not lost.
 * For a device, this holds only if it shares the host's memory (CPU devices), or if its programs only add to values of
 * the map.
 *
 * Returns -EINVAL if the offset is not a multiple of the size or is outside of the value, or if programs add with
 * another size. Returns -EINVAL if the map has one value per multiprocessor or thread. Returns -EOPNOTSUPP if a device
 * has separate memory and its programs do more with values than add to them. Returns -ENOENT if the key was deleted
 * concurrently. Also returns the errors of updates.
 */
GPUBPF_API int gpubpf_map__add(const struct gpubpf_map *map, const void *key, size_t key_sz, size_t offset, size_t size,
			       uint64_t n);
/*
 * Copy up to *count elements into the arrays `keys` and `values`. Each value takes gpubpf_map__user_value_size() bytes.
 * *count becomes the number of copied elements. With in_batch NULL, the copy begins at the first element; in later
 * calls, pass the previous out_batch as in_batch. Returns -ENOENT at the end of the map; this last call may also have
 * copied elements. An element that stays in the map is returned exactly once, even if the map is changed between calls.
 * Returns -EINVAL if the map has no keys, or -ENOMEM. Also returns the errors of look-ups.
 */
GPUBPF_API int gpubpf_map__lookup_batch(const struct gpubpf_map *map, const uint64_t *in_batch, uint64_t *out_batch,
					void *keys, void *values, uint32_t *count);
/* Look up elements as gpubpf_map__lookup_batch() does, and delete each of them. Only the tool's copy of the map is read
 * and changed. Returns -EINVAL for arrays, too. */
GPUBPF_API int gpubpf_map__lookup_and_delete_batch(const struct gpubpf_map *map, const uint64_t *in_batch,
						   uint64_t *out_batch, void *keys, void *values, uint32_t *count);
/*
 * Give direct access to the values of an array or of global data. Stores the address of value 0 in *values, and the
 * distance from one value to the next in *stride, in bytes. The memory is readable until the session is freed. Query
 * the address again after a device was added.
 *
 * Writes by programs on devices that use host memory are visible at once. Other writes become visible as for look-ups.
 * Aligned 8-byte words are never torn. Returns -EINVAL for other map types. Returns -EOPNOTSUPP if an index has several
 * values: one per multiprocessor or thread, summands, or values of several devices.
 */
GPUBPF_API int gpubpf_map__memory(const struct gpubpf_map *map, const void **values, size_t *stride);
/* Update (or delete) the elements one after another. The call stops at the first error and returns it. *count becomes
 * the number of elements that were processed successfully. Returns -EINVAL if the map has no keys. */
GPUBPF_API int gpubpf_map__update_batch(const struct gpubpf_map *map, const void *keys, const void *values,
					uint32_t *count, uint64_t flags);
GPUBPF_API int gpubpf_map__delete_batch(const struct gpubpf_map *map, const void *keys, uint32_t *count);
/* Store in next_key the key that follows cur_key, or the first key if cur_key is NULL. Returns -ENOENT at the end,
 * or -ENOMEM. A change to the map may change the order of the keys. */
GPUBPF_API int gpubpf_map__get_next_key(const struct gpubpf_map *map, const void *cur_key, void *next_key, size_t key_sz);

/* -- host calls: functions of the host that programs call with gpubpf_call_host() -- */

struct gpubpf_host_call {
	const struct gpubpf_map *map;
	const void *in;             /* the argument, a copy; any application may have forged it */
	void *out;                  /* the output, at first zeros */
	uint32_t in_size, out_size; /* bytes: the key size and the value size of the map */
	uint32_t process, device;   /* 0 if several devices share host memory */
	const char *backend;        /* as in struct gpubpf_print_record */
};

/* The function of a map. Its result is the result of gpubpf_call_host() in the program. */
typedef int64_t (*gpubpf_host_call_fn)(void *ctx, const struct gpubpf_host_call *call);

/*
 * Register the function that programs call through a map of type HOST_CALL. A thread of the library runs the functions
 * of all maps, one call after another. It starts at the first registration, and ends in gpubpf_session__stop(). A
 * function must not use the session. It should return within microseconds, because other calls wait meanwhile. They
 * time out after opts.host_call_ms. Without a function, gpubpf_call_host() returns -ENOSYS, so register it before
 * programs run.
 *
 * Returns -EINVAL if fn is NULL or the map has another type. Returns -EEXIST if the map has a function.
 * Returns -EBUSY after stop, -ENOMEM, or the error of pthread_create(3).
 */
GPUBPF_API int gpubpf_map__register_host_call(struct gpubpf_map *map, gpubpf_host_call_fn fn, void *ctx);

/* -- reports -- */

enum gpubpf_kernel_outcome {
	GPUBPF_OUTCOME_SEEN,    /* the kernel was launched, but no program is attached to it */
	GPUBPF_OUTCOME_WAITING, /* a program is attached to the kernel, but the twin was not ready */
	GPUBPF_OUTCOME_PROBED,
	GPUBPF_OUTCOME_REFUSED, /* reason says why */
};

struct gpubpf_kernel_stats {
	size_t sz; /* sizeof(struct gpubpf_kernel_stats), set by the caller */
	const char *name;
	const char *reason; /* reason of the outcome; "" if there is nothing to explain */
	enum gpubpf_kernel_outcome outcome;
	uint32_t dim; /* number of dimensions of the last launch */
	uint64_t launches;
	uint64_t probed, missed;            /* subsets of launches */
	uint64_t grid[3], block[3];         /* last launch: number of blocks, threads per block (0: unknown) */
	uint64_t wait_ns;                   /* total time for which launches waited for the twin */
	uint32_t registers, twin_registers; /* registers per thread of the kernel and of its twin; 0: unknown */
	uint64_t twin_load_ns;              /* time that the runtime took to compile and load the twin */
	const char *backend;                /* runtime that launched the kernel: "opencl", "cuda", ... */
	uint64_t threads[3];                /* last launch: number of threads in each dimension */
	/* equal to ctx->kernel, and to values of type gpubpf_kernel in <gpubpf/probe.h> */
	uint64_t id;
	const char *route; /* form of the twin's code: "ptx", "sass", "wrap", ...; "": there is no twin */
	/* compiler of the twin's machine code: "driver", or the user's assembler with its version ("ptxas 13.0.88").
	 * If the string is "", the twin needed no compiler, or only the runtime can compile it. */
	const char *compiled_by;
};

struct gpubpf_cost_stats {
	size_t sz; /* sizeof(struct gpubpf_cost_stats), set by the caller */
	uint64_t load_ns, verify_ns;
	uint64_t lower_ns; /* time for reading kernels, lowering programs and injecting probes */
	uint64_t build_ns; /* the vendor's compiler */
	uint64_t wait_ns;  /* time for which launches waited for twins, summed over threads */
	uint64_t hook_ns;  /* mean time in the launch hook per launch; 0 without a launch */
	/* number of requests by their answer: a twin was built, a twin came from a cache (of this run or on disk),
	 * no twin */
	uint32_t twins, cached, refused;
	uint8_t unused1[4];
	uint64_t twin_load_ns;            /* time that the applications' runtimes took to compile and load twins */
	uint64_t drained_bytes, drain_ns; /* rings in device memory: bytes copied to the host, time for the copies */
	/* time that requests waited in the queue; lower_ns and build_ns do not include it */
	uint64_t queue_ns;
	/* Parts of wait_ns, whose sum is wait_ns. `ask`: opening devices, reading and sending images. `answer`: waiting
	 * for the session's answers. `load`: loading twins in the runtime. `others`: waiting for other threads that do
	 * one of these. `rest`: all other waits. */
	uint64_t wait_ask_ns, wait_answer_ns, wait_load_ns, wait_others_ns, wait_rest_ns;
	uint32_t ahead; /* twins among `twins` and `cached` that were built before the first request */
	uint8_t unused2[4];
};

/* Store the statistics of launched kernel number i. Kernels are in the order of their names; each row sums over all
 * processes and devices of a runtime. A call with i == 0 takes a snapshot, which calls with other i read. Strings are
 * valid until the next snapshot. Returns -ENOENT if there is no kernel i, -EINVAL if stats->sz is invalid (see the top
 * of this file), or -ENOMEM. */
GPUBPF_API int gpubpf_session__kernel(struct gpubpf_session *s, size_t i, struct gpubpf_kernel_stats *stats);
/* Returns the full name of the kernel with this id, or NULL. The name is valid until gpubpf_session__free(). */
GPUBPF_API const char *gpubpf_session__kernel_name(const struct gpubpf_session *s, uint64_t id);
/* Store the total costs of the session. Returns -EINVAL if stats->sz is invalid (see the top of this file). */
GPUBPF_API int gpubpf_session__cost(const struct gpubpf_session *s, struct gpubpf_cost_stats *stats);

struct gpubpf_report_opts {
	size_t sz;       /* sizeof(struct gpubpf_report_opts) */
	bool json;       /* write one JSON object, documented in gpubpf-run(1) */
	bool maps_only;  /* write only maps[], with their entries */
	bool no_entries; /* write maps without their entries */
	uint8_t unused1[5];
	const char *map;   /* write only the map of this name; NULL: all maps */
	bool demangle;     /* text: demangle C++ names of kernels */
	bool json_strings; /* JSON: write integers above 2^53 as strings */
	bool csv;          /* write only the entries of maps, as comma-separated values (gpubpf-map(8)) */
	uint8_t unused2[5];
	bool verbose; /* text: also write registers and the time of each stage */
	uint8_t unused3[7];
};

/* Write the report: kernels, maps with BTF types, events, drops and waits. opts may be NULL: text with all maps.
  * Returns -EINVAL before load or if opts->sz is invalid (see the top of this file). Returns -ENOENT if no map has the
  * name opts->map, -EIO if writing failed, or -ENOMEM. */
GPUBPF_API int gpubpf_session__report(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts);

#ifdef __cplusplus
}
#endif

#endif
