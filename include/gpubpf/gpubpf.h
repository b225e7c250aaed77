/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libgpubpf: load eBPF objects, prove their programs safe, and run them inside the GPU kernels of programs that join a
 * session. The conventions are libbpf's: opaque objects, object__verb() names, option structs that begin with their
 * size, 0 or -errno.
 *
 *	struct gpubpf_session *s = gpubpf_session__new(NULL);
 *	if (!s || gpubpf_session__add_object(s, "probe.bpf.o") < 0 ||
 *	    gpubpf_session__load(s) < 0 || gpubpf_session__start(s) < 0)
 *		fprintf(stderr, "%s\n", gpubpf_session__error(s));
 *	... start a program with the environment of gpubpf_session__environ(), then, until it ended:
 *	while (gpubpf_session__poll(s, 100) >= 0) ...
 *	gpubpf_map__lookup_elem(gpubpf_session__find_map_by_name(s, "counts"), ...);
 *	gpubpf_session__free(s);
 *
 * A session is new, then loaded, then started, then stopped. A call that is too late returns -EBUSY, a call that is too
 * early -EINVAL. Only one thread at a time may use a session. Strings and objects that a getter returns belong to the
 * session and live until gpubpf_session__free().
 *
 * Structs that begin with `sz` follow libbpf's rule: clear the struct and set sz to its sizeof. New members are added
 * only at the end, so a program and a library of different versions work together. Members that the program's struct
 * lacks count as zero. Members that the library does not know must be zero, else the call returns -EINVAL; it also does
 * if sz is not set. Functions that fill such a struct fill the members that sz covers, and do not change sz. Structs
 * passed to callbacks also grow at their end. Members called unused remain unused. They occupy what would be padding,
 * whose content is undefined. New members follow them.
 *
 * Each function's comment lists all of its errors; a function that returns int without listed errors does not fail.
 * After an error, gpubpf_session__error() returns a text that names the problem and a remedy. The library prints
 * nothing, reads no environment variable, and never ends the process. Link it (pkg-config libgpubpf) or load it with
 * dlopen(). It exports only the names below.
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

/* -- callbacks: gpubpf_session__poll() and gpubpf_session__stop() call them in the caller's thread -- */

/* text that a probe printed (helpers 6 and 501) */
struct gpubpf_print_record {
	const char *text;   /* without trailing newline */
	const char *prog;   /* C name of the program, "" if unknown */
	const char *kernel; /* "" if unknown */
	uint64_t launch;    /* number of the launch, from 0 */
	uint64_t block[3], thread[3];
	uint32_t process, device; /* index of the process and ordinal of the device in the session */
	/* the device's runtime: "cuda"; "" if devices of several runtimes share host memory */
	const char *backend;
};

/* a record of a ring buffer or perf event array */
struct gpubpf_event {
	const struct gpubpf_map *map;
	const void *data;
	uint32_t size; /* bytes */
	uint32_t copy; /* the multiprocessor whose ring held the record */
	uint32_t process, device;
	/* runtime of the device, as in struct gpubpf_print_record. "linux": a program of the Linux kernel wrote the
	 * record, and `copy` is the CPU, or 0 for a ring buffer */
	const char *backend;
	/* CLOCK_MONOTONIC, if programs of the Linux kernel also put records into the ring: the record's own time
	 * (docs/reference/maps.md), or the time when it was read; else 0 */
	uint64_t time_ns;
};

typedef void (*gpubpf_print_fn)(void *ctx, const struct gpubpf_print_record *record);
typedef void (*gpubpf_event_fn)(void *ctx, const struct gpubpf_event *event);
/* One line for the user: a kernel that could not be probed, a peer that was rejected, ... */
typedef void (*gpubpf_note_fn)(void *ctx, const char *text);

/* -- the session -- */

struct gpubpf_session_opts {
	size_t sz; /* sizeof(struct gpubpf_session_opts) */
	/* folder for the socket. It must belong to this user with mode 0700, and others must not be able to write its
	 * parents. It is created if missing. NULL: /run/user/UID/gpubpf, else /tmp/gpubpf-UID */
	const char *runtime_dir;
	const char *worker_dir; /* folder of gpubpf-compile and the other workers; NULL: next to the library */
	const char *agent;      /* libgpubpf-agent.so; NULL: next to the library */
	/* folder of the disk cache of twins. It is used only if it belongs to this user with mode 0700. NULL: no disk
	 * cache */
	const char *cache_dir;
	const char *backend; /* probe only this runtime, such as "opencl"; NULL: all that the program uses */
	bool all_gpu;        /* kprobe/ and kretprobe/ programs run on the GPU */
	bool no_wait;        /* nothing in a probed program waits for twins */
	uint8_t unused1[2];
	/* longest total time in ms that a process waits for twins when it creates and launches kernels; 0: 60,000 */
	uint32_t wait_ms;
	uint64_t sample;     /* probe every n-th launch of a kernel; 0, 1: all */
	uint64_t first;      /* probe the first n launches of a kernel; 0: all */
	uint64_t max_events; /* records stored for the report; 0: 1,000 */
	bool no_events;      /* records are counted but not stored */
	uint8_t unused2[7];
	uint64_t max_cost; /* limit of the worst-case instructions per thread; 0: 1,000,000 */
	uint32_t threads;  /* room in per-thread maps, in threads; 0: 1,048,576 */
	bool inspect;      /* probe nothing, but report for each kernel whether it could be probed */
	uint8_t unused3[3];
	gpubpf_print_fn print; /* may be NULL, like the next two */
	gpubpf_event_fn event;
	gpubpf_note_fn note;
	void *ctx;      /* passed to the three callbacks */
	bool no_attach; /* loading does not attach programs; gpubpf_program__attach() does */
	uint8_t unused4[7];
	/* probe only this form of code, such as "ptx" or "sass", if several are possible; NULL: the best possible
	 * one */
	const char *route;
	/* also probe machine code of libraries whose licence may forbid it (gpubpf-run(1)) */
	bool closed_libraries;
	bool no_kernel; /* skip programs for the Linux kernel (uprobe/, tracepoint/, ...) */
	uint8_t unused5[6];
};

/* opts may be NULL for all defaults. Returns NULL and sets errno on failure: EINVAL for opts->sz (see the top of this
 * file), ENOMEM. The caller frees the session with gpubpf_session__free(). */
GPUBPF_API struct gpubpf_session *gpubpf_session__new(const struct gpubpf_session_opts *opts);
/* Stops the session if it is started. s may be NULL. */
GPUBPF_API void gpubpf_session__free(struct gpubpf_session *s);
/* Returns why the last failing call on the session failed: one or several lines without trailing newline; "" if none
 * failed. Calls on maps, gpubpf_session__cost(), the end of gpubpf_session__kernel() and -ENOMEM may leave the text
 * unchanged. */
GPUBPF_API const char *gpubpf_session__error(const struct gpubpf_session *s);

/* Add an object file to load. Programs on one kernel run in the order of their objects, then of their sections. Returns
 * -ENOMEM if memory runs out.
 *
 * After load, the object joins the session, even a started one. The call loads and verifies the object at once and
 * creates its maps like the others. gpubpf_program__attach() attaches its programs. Returns -EINVAL if the object is
 * refused, for example because it has more than 256 maps. Returns -E2BIG if some device has no room for its maps.
 * Returns -ENOSPC if the session would have more than 256 maps or 1,024 links. Returns -EBUSY if the session was
 * stopped or only inspects. Else returns the error of open(2), read(2) or memfd_create(2), for example -ENOENT. On
 * error gpubpf_session__error() returns the diagnostic, and the session is unchanged. If the session already has an
 * object with the same bytes, the call returns 0 and does nothing. */
GPUBPF_API int gpubpf_session__add_object(struct gpubpf_session *s, const char *path);
/* Add an object in memory, which the call copies, as gpubpf_session__add_object() adds a file before load. Diagnostics
 * and reports call it `name`. Returns -EBUSY after load. */
GPUBPF_API int gpubpf_session__add_object_mem(struct gpubpf_session *s, const char *name, const void *data, size_t size);
/* Replace the initial bytes of an object's global data. `object` is the name under which the object was added. If the
 * data is constant, the verifier also uses these values. `map` is the end of the map's name: ".rodata", ".data" or
 * ".bss". `size` covers the whole map. The last call for a map counts. Load refuses (-EINVAL) data that the object does
 * not have, data of another size, and a name that no object has.
 *
 * After load, the call is for an object that is added later: then gpubpf_session__add_object() refuses in the same
 * cases. Returns -EBUSY if the session has an object of that name or was stopped. In this case add_object() also
 * returns -EBUSY if the session has an object of the same bytes under another name. Returns -ENOMEM if memory runs out. */
GPUBPF_API int gpubpf_session__set_initial_value(struct gpubpf_session *s, const char *object, const char *map,
						 const void *data, size_t size);
/* Bind a program to other kernels than its section names: a name or a glob. Returns -EBUSY after load, or -ENOMEM. */
GPUBPF_API int gpubpf_session__attach(struct gpubpf_session *s, const char *prog, const char *pattern);
/* Place a map in "device", "pinned", "svm" or "managed" memory (gpubpf-map(8)), whatever its definition says. `map` is
 * a name or a glob. If several calls match a map, the last counts. Load refuses (-EOPNOTSUPP) a named map that can only
 * lie in device memory, and a name that no map has. A glob leaves such maps in device memory. A device without such
 * memory runs its kernels unprobed, and a note names the missing capability. Returns -EINVAL for an unknown place,
 * -EBUSY after load, or -ENOMEM. */
GPUBPF_API int gpubpf_session__place(struct gpubpf_session *s, const char *map, const char *where);
/* Load and verify all objects. Returns -EINVAL if an object or a program is refused, or no route has the name in
 * opts->route. Returns -E2BIG if the maps exceed the limit of memory. Returns -EBUSY if the session is already loaded,
 * or -ENOMEM. Else returns the error of open(2), read(2) or memfd_create(2), for example -ENOENT. On error
 * gpubpf_session__error() returns the whole diagnostic. After a refusal the session cannot be used further. */
GPUBPF_API int gpubpf_session__load(struct gpubpf_session *s);
/* Decisions made by loading that may interest a user, line by line; NULL past the end. */
GPUBPF_API const char *gpubpf_session__load_note(const struct gpubpf_session *s, size_t i);

/* Open the session's socket. Returns -EINVAL before load, and -EBUSY when started. Returns -EPERM if the runtime folder
 * does not belong to this user alone, or others may write a folder above it. Returns -ENOTDIR if it is no folder, and
 * -ENAMETOOLONG if the socket's path is too long. Else returns -ENOMEM or the error of mkdir(2), socket(2), bind(2) or
 * memfd_create(2). */
GPUBPF_API int gpubpf_session__start(struct gpubpf_session *s);
/* Returns the path of the socket. NULL before start. */
GPUBPF_API const char *gpubpf_session__path(const struct gpubpf_session *s);
/* Returns a descriptor that becomes readable when gpubpf_session__poll() has work. -1 before start. */
GPUBPF_API int gpubpf_session__fd(const struct gpubpf_session *s);
/* Serve programs and read rings for at most timeout_ms (-1: until something happens, 0: do not block). Returns the
 * number of handled messages, records and results; 0 also after a signal. -EINVAL before start or after stop, or the
 * error of epoll_wait(2). */
GPUBPF_API int gpubpf_session__poll(struct gpubpf_session *s, int timeout_ms);
/* Build the environment for a program that shall join: `base` (NULL-terminated) with OPENCL_LAYERS, LD_PRELOAD,
 * ASAN_OPTIONS and GPUBPF_SESSION set. If opts.backend names a runtime, GPUBPF_BACKEND is set too. Values in `base` of
 * the first three are kept. The result *env is one malloc'd block that the caller frees. Returns -EINVAL before start
 * or after stop. Returns -ENOENT if the agent's file is missing or cannot be read, or -ENOMEM. */
GPUBPF_API int gpubpf_session__environ(struct gpubpf_session *s, char *const *base, char ***env);
/* Switch probing on or off. When it is off, programs run their own kernels from the next launch on. Returns -EINVAL
 * before start or after stop. */
GPUBPF_API int gpubpf_session__enable(struct gpubpf_session *s, bool on);
/* Read the remaining records, and end the connections and the workers. Programs that still run continue unprobed. The
 * maps and the report stay readable. Returns -EINVAL before start, and 0 if the session was already stopped. */
GPUBPF_API int gpubpf_session__stop(struct gpubpf_session *s);
/* Returns the number of twins that are being built. */
GPUBPF_API uint32_t gpubpf_session__pending(const struct gpubpf_session *s);
/* Return the number of processes that have joined so far, and of devices that they have opened. */
GPUBPF_API uint32_t gpubpf_session__processes(const struct gpubpf_session *s);
GPUBPF_API uint32_t gpubpf_session__devices(const struct gpubpf_session *s);

/* -- programs: iterate with prev NULL first; NULL is the end -- */

GPUBPF_API const struct gpubpf_prog *gpubpf_session__next_program(const struct gpubpf_session *s,
								  const struct gpubpf_prog *prev);
GPUBPF_API const char *gpubpf_prog__name(const struct gpubpf_prog *prog);
GPUBPF_API const char *gpubpf_prog__section_name(const struct gpubpf_prog *prog);
GPUBPF_API const char *gpubpf_prog__pattern(const struct gpubpf_prog *prog);
/* Returns the program's number in its object, from 1, if maps of programs (PROG_ARRAY) may contain it; else 0. Values
 * of such maps are these numbers, of 4 bytes. */
GPUBPF_API uint32_t gpubpf_prog__number(const struct gpubpf_prog *prog);
GPUBPF_API uint32_t gpubpf_prog__insn_cnt(const struct gpubpf_prog *prog);
/* Returns the largest number of instructions that one run by one thread executes, as the verifier proved; 0 before
 * load. */
GPUBPF_API uint64_t gpubpf_prog__max_cost(const struct gpubpf_prog *prog);

/*
 * -- links: programs on kernels, up to 1,024 in a session. Loading attaches each program to the kernels that its
 * section or gpubpf_session__attach() names, unless opts.no_attach is set. A change never delays a launch of a running
 * program. In every process of the session, a kernel runs its current twin until the agent has loaded the next one.
 * Until then the previously attached programs, including a detached one, see every launch. gpubpf_link__launches()
 * shows when a link has launches. A kernel without a program runs unmodified from its next launch on; maps stay
 * unchanged and readable. Launches made before, and graphs built from a twin before (a note says so), do not change. --
 */

struct gpubpf_attach_opts {
	size_t sz; /* sizeof(struct gpubpf_attach_opts) */
	/* name of up to 4095 characters, or glob of up to 255; NULL: gpubpf_prog__pattern() */
	const char *pattern;
};

/* Attach the program to the kernels that its section names. The link lives until gpubpf_session__free(). On failure
 * returns NULL and sets errno. EEXIST if the program is already attached to this pattern. EINVAL for opts->sz (see the
 * top of this file) or the pattern. ENOSPC after 1,024 programs and patterns. EBUSY if the session was stopped. */
GPUBPF_API struct gpubpf_link *gpubpf_program__attach(const struct gpubpf_prog *prog);
/* Do the same with options; opts may be NULL. */
GPUBPF_API struct gpubpf_link *gpubpf_program__attach_opts(const struct gpubpf_prog *prog,
							   const struct gpubpf_attach_opts *opts);
/* Detach the program from all its kernels. Returns -ENOENT if it is already detached. */
GPUBPF_API int gpubpf_link__detach(struct gpubpf_link *link);
/* Detach the link if it is attached, and release it: the caller must not use the pointer again. link may be NULL.
 * Returns 0. */
GPUBPF_API int gpubpf_link__destroy(struct gpubpf_link *link);
/* Iterate over the attached links: prev NULL first; NULL is the end. */
GPUBPF_API struct gpubpf_link *gpubpf_session__next_link(const struct gpubpf_session *s, const struct gpubpf_link *prev);
/* Returns the link's number in the session. The same program and pattern keep it when they are attached again. */
GPUBPF_API uint32_t gpubpf_link__id(const struct gpubpf_link *link);
/* Returns the link's program; its gpubpf_prog__pattern() is the link's pattern. */
GPUBPF_API const struct gpubpf_prog *gpubpf_link__program(const struct gpubpf_link *link);
/* Returns the number of launches whose twin contained the program, in all processes, whenever the link was attached.
 * The maps include each of them. For a program on device functions, it counts launches of the kernels that may call
 * them. */
GPUBPF_API uint64_t gpubpf_link__launches(const struct gpubpf_link *link);

/* -- maps; usable from load until free, while programs run and afterwards -- */

GPUBPF_API struct gpubpf_map *gpubpf_session__next_map(const struct gpubpf_session *s, const struct gpubpf_map *prev);
/* Returns the first map of that name. If there is none, returns NULL and sets errno to ENOENT. */
GPUBPF_API struct gpubpf_map *gpubpf_session__find_map_by_name(const struct gpubpf_session *s, const char *name);
GPUBPF_API const char *gpubpf_map__name(const struct gpubpf_map *map);
/* Returns the map's number in the session, from 1. Values of maps of maps are these numbers, of 4 bytes. */
GPUBPF_API uint32_t gpubpf_map__number(const struct gpubpf_map *map);
GPUBPF_API uint32_t gpubpf_map__type(const struct gpubpf_map *map);        /* BPF_MAP_TYPE_* or 1501.. */
GPUBPF_API const char *gpubpf_map__type_str(const struct gpubpf_map *map); /* "HASH" */
GPUBPF_API uint32_t gpubpf_map__key_size(const struct gpubpf_map *map);    /* bytes */
GPUBPF_API uint32_t gpubpf_map__value_size(const struct gpubpf_map *map);  /* bytes of one copy */
GPUBPF_API uint32_t gpubpf_map__max_entries(const struct gpubpf_map *map);
/* Returns the number of bytes that look-ups and updates copy: value_size, except for maps with one value per
 * multiprocessor or thread. There it is the number of copies times value_size rounded up to 8, as in bpf(2) for per-CPU
 * maps. With a value per multiprocessor, the first copies are the tool's. The copies of the Linux kernel's CPUs follow
 * if its programs use the map too. The copies of each device with separate memory are last, in the order in which the
 * devices were added. Query the size again after programs have used another device. */
GPUBPF_API size_t gpubpf_map__user_value_size(const struct gpubpf_map *map);
/* Records and updates that were dropped because there was no room. */
GPUBPF_API uint64_t gpubpf_map__drops(const struct gpubpf_map *map);

/*
 * The operations of bpf(2), with its errors. All of them return -EINVAL if key_sz is not the map's key size or value_sz
 * is not gpubpf_map__user_value_size(). They also do if the map has no values (a ring buffer), or the operation does
 * not accept the flags. Look-ups and deletes accept no flags; updates accept BPF_ANY, BPF_NOEXIST and BPF_EXIST.
 *
 * Queues and stacks have no keys: key is NULL and key_sz 0. An update pushes a value; with BPF_EXIST it replaces the
 * oldest value if there is no room. A look-up copies the next value, and gpubpf_map__lookup_and_delete_elem() removes
 * it. Both return -ENOENT if the map is empty.
 *
 * In a map of maps, a look-up of an element without a map returns -ENOENT. An update accepts the number of a map of the
 * session that has the same layout as the others, else it returns -EINVAL.
 *
 * Devices outside of host memory have separate copies of maps. A look-up then sums values to which programs only add,
 * and returns all values of a map with one per multiprocessor. Otherwise it returns the value of the first device that
 * has the key. Updates and deletes change the tool's copy.
 */
/* Returns -ENOENT if there is no such key, or a bloom filter does not contain the value. Returns -EBUSY if the value
 * changed during all attempts, and -ENOMEM when summing over several devices fails. */
GPUBPF_API int gpubpf_map__lookup_elem(const struct gpubpf_map *map, const void *key, size_t key_sz, void *value,
				       size_t value_sz, uint64_t flags);
/* Returns -ENOENT for BPF_EXIST if there is no such key. Returns -EEXIST for BPF_NOEXIST if the key exists, as every
 * key of an array does. Returns -E2BIG if a hash, a queue or a stack has no room, or an index is past the end of an
 * array. Returns -ENOSPC if an LPM_TRIE has no room. Returns -EPERM if programs may only read the map. Returns -EBUSY
 * while the key, the queue or the stack is being changed. */
GPUBPF_API int gpubpf_map__update_elem(const struct gpubpf_map *map, const void *key, size_t key_sz, const void *value,
				       size_t value_sz, uint64_t flags);
/* Returns -ENOENT if there is no such key. Returns -EINVAL for an array, and -EOPNOTSUPP for a bloom filter: their
 * elements cannot be deleted. Returns -EPERM and -EBUSY as gpubpf_map__update_elem() does. */
GPUBPF_API int gpubpf_map__delete_elem(const struct gpubpf_map *map, const void *key, size_t key_sz, uint64_t flags);
/* Copy the value and delete the key. If several callers race, only one gets the value. Errors are as for look-ups and
 * deletes, and -EINVAL for an array. */
GPUBPF_API int gpubpf_map__lookup_and_delete_elem(const struct gpubpf_map *map, const void *key, size_t key_sz,
						  void *value, size_t value_sz, uint64_t flags);
/*
 * Atomically add n to the word of `size` 4 or 8 bytes at `offset` in a key's value. No concurrent add is lost, neither
 * of other threads nor of programs on devices that only add to values of the map or share the host's memory (CPU
 * devices). A missing key is first created with a value of zeros.
 *
 * Returns -EINVAL also if offset is no multiple of size or past the value, or if programs add with another size.
 * Returns -EINVAL for maps with one value per multiprocessor or thread. Returns -EOPNOTSUPP if devices have separate
 * memory and their programs do more with values than add to them. Returns -ENOENT if the key was deleted concurrently.
 * Other errors are those of updates.
 */
GPUBPF_API int gpubpf_map__add(const struct gpubpf_map *map, const void *key, size_t key_sz, size_t offset, size_t size,
			       uint64_t n);
/*
 * Copy up to *count elements to arrays of keys and of values, of gpubpf_map__user_value_size() each. On return *count
 * is the number of copied elements. With in_batch NULL, begin at the first element; later, pass the previous out_batch.
 * Returns -ENOENT at the end, where *count may still be above 0. An element that stays in the map is returned exactly
 * once, whatever is written meanwhile. Returns -EINVAL if the map has no keys, or -ENOMEM. Other errors are those of
 * look-ups.
 */
GPUBPF_API int gpubpf_map__lookup_batch(const struct gpubpf_map *map, const uint64_t *in_batch, uint64_t *out_batch,
					void *keys, void *values, uint32_t *count);
/* Look up elements of the tool's copy, as gpubpf_map__lookup_batch() does, and delete each returned element. Returns
 * -EINVAL also for arrays. */
GPUBPF_API int gpubpf_map__lookup_and_delete_batch(const struct gpubpf_map *map, const uint64_t *in_batch,
						   uint64_t *out_batch, void *keys, void *values, uint32_t *count);
/*
 * Store the address of an array's values (also of global data) in this process. The value of index i is at *values + i
 * * *stride. It is readable until the session is freed, without a call or a copy. Writes by programs on devices that
 * use host memory are visible at once. Other writes are as visible as through look-ups. Aligned words of 8 bytes are
 * never torn. Query the address again after a device was added. Returns -EINVAL for other map types. Returns
 * -EOPNOTSUPP if an index has several values: one per multiprocessor or thread, summands, or several devices.
 */
GPUBPF_API int gpubpf_map__memory(const struct gpubpf_map *map, const void **values, size_t *stride);
/* Apply the operation to one element after another until one fails, and return its error. On return *count is the
 * number of successful ones. Returns -EINVAL if the map has no keys. */
GPUBPF_API int gpubpf_map__update_batch(const struct gpubpf_map *map, const void *keys, const void *values,
					uint32_t *count, uint64_t flags);
GPUBPF_API int gpubpf_map__delete_batch(const struct gpubpf_map *map, const void *keys, uint32_t *count);
/* With cur_key NULL, return the first key. Returns -ENOENT at the end, or -ENOMEM. The order of keys may differ after a
 * change to the map. */
GPUBPF_API int gpubpf_map__get_next_key(const struct gpubpf_map *map, const void *cur_key, void *next_key, size_t key_sz);

/* -- reports -- */

enum gpubpf_kernel_outcome {
	GPUBPF_OUTCOME_SEEN,    /* launched, but no program names it */
	GPUBPF_OUTCOME_WAITING, /* its twin was not ready */
	GPUBPF_OUTCOME_PROBED,
	GPUBPF_OUTCOME_REFUSED, /* reason says why */
};

struct gpubpf_kernel_stats {
	size_t sz; /* sizeof(struct gpubpf_kernel_stats), set by the caller */
	const char *name;
	const char *reason; /* "" if there is nothing to explain */
	enum gpubpf_kernel_outcome outcome;
	uint32_t dim; /* dimensions of the last launch */
	uint64_t launches;
	uint64_t probed, missed;            /* subsets of launches */
	uint64_t grid[3], block[3];         /* of the last launch: blocks, threads per block (0: unknown) */
	uint64_t wait_ns;                   /* total time that launches waited for the twin */
	uint32_t registers, twin_registers; /* per thread, of the kernel and of its twin; 0: unknown */
	uint64_t twin_load_ns;              /* time that the runtime needed to compile and load the twin */
	const char *backend;                /* runtime that launched it: "opencl", "cuda", ... */
	uint64_t threads[3];                /* of the last launch: threads in each dimension */
	uint64_t id;                        /* same value as ctx->kernel and gpubpf_kernel of <gpubpf/probe.h> */
	const char *route; /* the form of code of its twin: "ptx", "sass", "wrap", ...; "": there is no twin */
	/* compiler of its twin's machine code: "driver", or a program of the user and its version, "ptxas 13.0.88"; "":
	 * none was needed, or there is no alternative */
	const char *compiled_by;
};

struct gpubpf_cost_stats {
	size_t sz; /* sizeof(struct gpubpf_cost_stats), set by the caller */
	uint64_t load_ns, verify_ns;
	uint64_t lower_ns;               /* reading kernels, lowering and injecting */
	uint64_t build_ns;               /* the vendor's compiler */
	uint64_t wait_ns;                /* time that launches waited for twins, summed over threads */
	uint64_t hook_ns;                /* mean time of the launch hook in ns, 0 without a launch */
	uint32_t twins, cached, refused; /* answered requests: built, cached (in this run or on disk), without a twin */
	uint8_t unused1[4];
	uint64_t twin_load_ns;            /* time that the programs' runtimes needed to compile and load twins */
	uint64_t drained_bytes, drain_ns; /* rings in device memory: bytes copied, and the time for copying them */
	uint64_t queue_ns; /* time that requests were queued in the session before lower_ns and build_ns */
	/* Parts of wait_ns, which is their sum. They are: opening devices, reading and sending programs; the session's
	 * answers; runtimes that load twins; other threads that do one of these; the rest. */
	uint64_t wait_ask_ns, wait_answer_ns, wait_load_ns, wait_others_ns, wait_rest_ns;
	uint32_t ahead; /* part of `twins` and `cached`: built before they were requested */
	uint8_t unused2[4];
};

/* Store the statistics of launched kernel number i, in the order of their names, summed over all processes and devices
 * of a runtime. A call with i == 0 takes a new snapshot, which later calls read; strings live until the next snapshot.
 * Returns -ENOENT past the end, -EINVAL for stats->sz (see the top of this file), or -ENOMEM. */
GPUBPF_API int gpubpf_session__kernel(struct gpubpf_session *s, size_t i, struct gpubpf_kernel_stats *stats);
/* Returns the full name of the kernel with that id; NULL if there is none. The name lives as long as the session. */
GPUBPF_API const char *gpubpf_session__kernel_name(const struct gpubpf_session *s, uint64_t id);
/* Total costs of the session. Returns -EINVAL for stats->sz (see the top of this file). */
GPUBPF_API int gpubpf_session__cost(const struct gpubpf_session *s, struct gpubpf_cost_stats *stats);

struct gpubpf_report_opts {
	size_t sz;       /* sizeof(struct gpubpf_report_opts) */
	bool json;       /* one JSON object, documented in gpubpf-run(1) */
	bool maps_only;  /* only maps[] with their entries */
	bool no_entries; /* maps without their entries */
	uint8_t unused1[5];
	const char *map;   /* only the map of that name; NULL: all */
	bool demangle;     /* text: print C++ names of kernels demangled */
	bool json_strings; /* JSON: integers beyond 2^53 as strings */
	bool csv;          /* print the maps' entries as comma-separated values instead, gpubpf-map(8) */
	uint8_t unused2[5];
};

/* Write the report: kernels, maps typed through BTF, events, drops, cost. opts may be NULL for text with everything.
 * Returns -EINVAL before load, or for opts->sz (see the top of this file). Returns -ENOENT if no map has the name
 * opts->map, -EIO if writing failed, or -ENOMEM. */
GPUBPF_API int gpubpf_session__report(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts);

#ifdef __cplusplus
}
#endif

#endif
