/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libgpubpf: load eBPF objects, prove their programs safe, and run them inside the GPU kernels of programs
 * that join a session. The manner is libbpf's: opaque objects, object__verb() names, option structs that
 * begin with their size, 0 or -errno.
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
 * A session goes new -> loaded -> started -> stopped. A call that comes too late answers -EBUSY, one that
 * comes too early -EINVAL. One thread at a time may use a session. Strings and objects that a getter
 * returns belong to the session and live until gpubpf_session__free().
 *
 * Structs that begin with `sz` have libbpf's rule: clear the struct, set sz to its sizeof. Members are added at the
 * end only, so a program and a library of different versions work together: members that the program's struct lacks
 * count as zero, and those that the library does not know must be zero, else the call answers -EINVAL, as it does
 * where sz was not set. Functions that fill such a struct fill as much of it as sz covers, and leave sz. Structs
 * handed to callbacks grow at their end too. Members called unused stay so: they are what a compiler would leave
 * between two members or at the end, where nobody says what is in it, and what is added begins behind them.
 *
 * Errors are those named with each function, and no others; an int that is not said to fail does not. Where one is
 * returned, gpubpf_session__error() says in words what and what to do. The library prints nothing, reads
 * no environment variable, and never ends the process. Link it (pkg-config libgpubpf) or load it by dlopen(); it
 * exports the names below and no others.
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

/* "0.1.0" */
GPUBPF_API const char *gpubpf_version_string(void);

/* -- callbacks: called from gpubpf_session__poll() and gpubpf_session__stop(), in the caller's thread -- */

/* what a probe printed (helpers 6 and 501) */
struct gpubpf_print_record {
	const char *text;          /* without trailing newline */
	const char *prog;          /* C name of the program, "" if unknown */
	const char *kernel;        /* "" if unknown */
	uint64_t launch;           /* number of the launch, from 0 */
	uint64_t block[3], thread[3];
	uint32_t process, device;  /* index of the process and ordinal of the device in the session */
	const char *backend;       /* the device's: "cuda"; "" where devices of several runtimes share host memory */
};

/* a record of a ring buffer or perf event array */
struct gpubpf_event {
	const struct gpubpf_map *map;
	const void *data;
	uint32_t size;             /* bytes */
	uint32_t copy;             /* multiprocessor whose ring it came from */
	uint32_t process, device;
	const char *backend;       /* as above; "linux": of a program of the Linux kernel's, and copy is the CPU, 0 of a ring buffer */
	uint64_t time_ns;          /* CLOCK_MONOTONIC, of a ring that programs of the Linux kernel put records into too: what the
				    * record tells (MAPS.md), or when it was read; else 0 */
};

typedef void (*gpubpf_print_fn)(void *ctx, const struct gpubpf_print_record *record);
typedef void (*gpubpf_event_fn)(void *ctx, const struct gpubpf_event *event);
/* one line for the user: a kernel that could not be probed, a peer that was turned away, ... */
typedef void (*gpubpf_note_fn)(void *ctx, const char *text);

/* -- the session -- */

struct gpubpf_session_opts {
	size_t sz;                 /* sizeof(struct gpubpf_session_opts) */
	const char *runtime_dir;   /* folder for the socket, of this user and mode 0700, in none that others may
				    * write, made if missing;
				    * NULL: /run/user/UID/gpubpf, else /tmp/gpubpf-UID */
	const char *worker_dir;    /* folder of gpubpf-compile and its like; NULL: beside the library */
	const char *agent;         /* libgpubpf-agent.so; NULL: beside the library */
	const char *cache_dir;     /* cache of twins on disk, of this user and mode 0700, else not used; NULL: none */
	const char *backend;       /* "opencl", ...: that runtime alone; NULL: all that the program uses */
	bool all_gpu;              /* kprobe/ and kretprobe/ programs are for the GPU */
	bool no_wait;              /* nothing in a program waits for twins */
	uint8_t unused1[2];
	uint32_t wait_ms;          /* a process waits for twins, where it makes and launches kernels, in all; 0: 60,000 */
	uint64_t sample;           /* probe every n-th launch of a kernel; 0, 1: all */
	uint64_t first;            /* probe the first n launches of a kernel; 0: all */
	uint64_t max_events;       /* records kept for the report; 0: 1,000 */
	bool no_events;            /* records are counted, none is kept */
	uint8_t unused2[7];
	uint64_t max_cost;         /* worst case of instructions a thread; 0: 1,000,000 */
	uint32_t threads;          /* room in per-thread maps, in threads; 0: 1,048,576 */
	bool inspect;              /* probe nothing, but ask of each kernel whether it could be */
	uint8_t unused3[3];
	gpubpf_print_fn print;     /* may be NULL, as the two below */
	gpubpf_event_fn event;
	gpubpf_note_fn note;
	void *ctx;                 /* handed to the three */
	bool no_attach;            /* programs are loaded and not attached: gpubpf_program__attach() does that */
	uint8_t unused4[7];
	const char *route;         /* "ptx", "sass", ...: this form of code alone, where several could be probed; NULL:
				    * the best that can be */
	bool closed_libraries;     /* machine code of libraries whose licence may forbid it too (gpubpf-run(1)) */
	bool no_kernel;            /* programs for the Linux kernel (uprobe/, tracepoint/, ...) are left out */
	uint8_t unused5[6];
};

/* opts may be NULL: all defaults. NULL and errno on failure: EINVAL (opts->sz, see above), ENOMEM. */
GPUBPF_API struct gpubpf_session *gpubpf_session__new(const struct gpubpf_session_opts *opts);
/* Stops the session if it runs. s may be NULL. */
GPUBPF_API void gpubpf_session__free(struct gpubpf_session *s);
/* Why the last call on the session that failed did: one or several lines without trailing newline; "" if none did.
 * Calls on maps, gpubpf_session__cost(), the end of gpubpf_session__kernel() and -ENOMEM may leave it as it was. */
GPUBPF_API const char *gpubpf_session__error(const struct gpubpf_session *s);

/* Name an object file to load. Programs on one kernel run in the order of their objects, then of their sections.
 * -ENOMEM. After load it joins the session, which may run: it is loaded and verified at once, its maps are there as the
 * others are, and its programs are attached by gpubpf_program__attach(). -EINVAL when it is refused (as one is with
 * more than 256 maps of its own), -E2BIG when there is no room for its maps on some device, -ENOSPC when the session
 * would have more than 256 maps or 1,024 links, -EBUSY when the session was stopped or only inspects, else what
 * open(2), read(2) or memfd_create(2) answered, -ENOENT say; gpubpf_session__error() then holds the diagnostic, and the
 * session is as it was. 0 and nothing to do for an object of the same bytes as one that the session has. */
GPUBPF_API int gpubpf_session__add_object(struct gpubpf_session *s, const char *path);
/* The same of an object in memory, which is copied; diagnostics and reports call it `name`. -EBUSY after load. */
GPUBPF_API int gpubpf_session__add_object_mem(struct gpubpf_session *s, const char *name, const void *data,
					      size_t size);
/* Give global data of an object, which is called as it was when it was added, other bytes than its file has: constants, as which
 * its programs are proven, too. map: the end of its name, ".rodata", ".data" or ".bss"; size: all of it. The last one holds.
 * Load refuses (-EINVAL) data that the object does not have, or of another size, and a name that no object has. After load
 * it is for an object that joins, which add_object() then refuses likewise; -EBUSY when the session has an object of that
 * name, or was stopped (and of add_object(), when it has one of the same bytes by another name). -ENOMEM. */
GPUBPF_API int gpubpf_session__set_initial_value(struct gpubpf_session *s, const char *object, const char *map, const void *data,
						 size_t size);
/* Bind a program to kernels other than its section says: a name or a glob. -EBUSY after load, -ENOMEM. */
GPUBPF_API int gpubpf_session__attach(struct gpubpf_session *s, const char *prog, const char *pattern);
/* Have a map, by its name or a glob, lie in "device", "pinned", "svm" or "managed" memory (gpubpf-map(8)), whatever its
 * definition says; of several that match, the last. Load refuses (-EOPNOTSUPP) a map of that name that can lie in the device's
 * alone, which a glob leaves there, and a name that no map has; a device that lacks such memory runs its kernels unprobed, and a
 * note says which capability it is. -EINVAL of another place, -EBUSY after load, -ENOMEM. */
GPUBPF_API int gpubpf_session__place(struct gpubpf_session *s, const char *map, const char *where);
/* Load and verify everything. -EINVAL when an object or a program is refused, or there is no route of the name in
 * opts->route; -E2BIG when the maps are larger than memory may be; what open(2), read(2) or memfd_create(2) answered,
 * -ENOENT say; gpubpf_session__error() then holds the whole diagnostic. -ENOMEM; -EBUSY when loaded already. There is
 * no way to go on with a refused program. */
GPUBPF_API int gpubpf_session__load(struct gpubpf_session *s);
/* What loading decided that a user may want to know, line by line; NULL past the end. */
GPUBPF_API const char *gpubpf_session__load_note(const struct gpubpf_session *s, size_t i);

/* Open the session's socket. -EINVAL before load; -EBUSY when started; -EPERM when the runtime folder is not this
 * user's own and closed to others, or others may write one above it, -ENOTDIR when it is none; -ENAMETOOLONG when
 * the socket's path would be; -ENOMEM; else what mkdir(2), socket(2), bind(2) or memfd_create(2) answered. */
GPUBPF_API int gpubpf_session__start(struct gpubpf_session *s);
/* Path of the socket. NULL before start. */
GPUBPF_API const char *gpubpf_session__path(const struct gpubpf_session *s);
/* A descriptor that polls readable when gpubpf_session__poll() has something to do. -1 before start. */
GPUBPF_API int gpubpf_session__fd(const struct gpubpf_session *s);
/* Serve programs and read rings for at most timeout_ms (-1: until something happened, 0: do not block).
 * The number of messages, records and results handled, 0 also when a signal came; -EINVAL before start or after
 * stop, or what epoll_wait(2) answered. */
GPUBPF_API int gpubpf_session__poll(struct gpubpf_session *s, int timeout_ms);
/* Environment for a program that is to join: `base` (NULL-terminated) with OPENCL_LAYERS, LD_PRELOAD, ASAN_OPTIONS and
 * GPUBPF_SESSION set, and GPUBPF_BACKEND where opts.backend names one; what base had in the first three stays. *env is
 * one malloc'd block that the caller frees. -EINVAL before start or after stop, -ENOENT when the agent's file is
 * missing or cannot be read, -ENOMEM. */
GPUBPF_API int gpubpf_session__environ(struct gpubpf_session *s, char *const *base, char ***env);
/* Probe (again), or let programs run their own kernels from the next launch on. -EINVAL before start or after stop. */
GPUBPF_API int gpubpf_session__enable(struct gpubpf_session *s, bool on);
/* Read what is left, end the connections and the workers. Programs that still run go on unprobed. The
 * maps and the report stay readable. -EINVAL before start; 0 if it was stopped already. */
GPUBPF_API int gpubpf_session__stop(struct gpubpf_session *s);
/* Twins that are being made. */
GPUBPF_API uint32_t gpubpf_session__pending(const struct gpubpf_session *s);
/* Processes that joined so far, and devices that they opened. */
GPUBPF_API uint32_t gpubpf_session__processes(const struct gpubpf_session *s);
GPUBPF_API uint32_t gpubpf_session__devices(const struct gpubpf_session *s);

/* -- programs; NULL ends, prev NULL begins -- */

GPUBPF_API const struct gpubpf_prog *gpubpf_session__next_program(const struct gpubpf_session *s,
								   const struct gpubpf_prog *prev);
GPUBPF_API const char *gpubpf_prog__name(const struct gpubpf_prog *prog);
GPUBPF_API const char *gpubpf_prog__section_name(const struct gpubpf_prog *prog);
GPUBPF_API const char *gpubpf_prog__pattern(const struct gpubpf_prog *prog);
/* Its number in its object, from 1, where it may stand in maps of programs (PROG_ARRAY), whose values are such numbers, of 4
 * bytes; 0: in none. */
GPUBPF_API uint32_t gpubpf_prog__number(const struct gpubpf_prog *prog);
GPUBPF_API uint32_t gpubpf_prog__insn_cnt(const struct gpubpf_prog *prog);
/* Most instructions that one run by one thread executes, as the verifier proved; 0 before load. */
GPUBPF_API uint64_t gpubpf_prog__max_cost(const struct gpubpf_prog *prog);

/*
 * -- links: programs on kernels, as many as 1,024 in a session. Loading attaches each program to the kernels that its
 * section or gpubpf_session__attach() names, unless opts.no_attach. While programs run, no launch waits for a change: a
 * kernel runs the twin that it has until the agent has loaded the next one, in all processes of the session. Until then
 * what was attached before sees every launch, a detached program too; gpubpf_link__launches() tells when a link has
 * launches. A kernel without a program runs as if nothing had been, from its next launch on; maps stay as they are, and
 * readable. What was launched before,
 * and graphs that were made of a twin before (a line says so), run as they were. --
 */

struct gpubpf_attach_opts {
	size_t sz;                 /* sizeof(struct gpubpf_attach_opts) */
	const char *pattern;       /* name of up to 4095 characters, or glob of up to 255; NULL: gpubpf_prog__pattern() */
};

/* Attach the program to the kernels that its section names. The link lives until gpubpf_session__free(). NULL and
 * errno: EEXIST where it is attached to this pattern, EINVAL for opts->sz (see above) or the pattern, ENOSPC after
 * 1,024 programs and patterns, EBUSY when the session was stopped. */
GPUBPF_API struct gpubpf_link *gpubpf_program__attach(const struct gpubpf_prog *prog);
/* The same with options; opts may be NULL. */
GPUBPF_API struct gpubpf_link *gpubpf_program__attach_opts(const struct gpubpf_prog *prog,
							   const struct gpubpf_attach_opts *opts);
/* Detach it from all its kernels. -ENOENT when it was detached before. */
GPUBPF_API int gpubpf_link__detach(struct gpubpf_link *link);
/* Detach it if it is attached, and forget it: the pointer is not to be used again. link may be NULL. 0. */
GPUBPF_API int gpubpf_link__destroy(struct gpubpf_link *link);
/* What is attached; NULL ends, prev NULL begins. */
GPUBPF_API struct gpubpf_link *gpubpf_session__next_link(const struct gpubpf_session *s,
							 const struct gpubpf_link *prev);
/* Its number in the session: of this program and this pattern, whenever they are attached. */
GPUBPF_API uint32_t gpubpf_link__id(const struct gpubpf_link *link);
/* Its program, whose gpubpf_prog__pattern() is the link's. */
GPUBPF_API const struct gpubpf_prog *gpubpf_link__program(const struct gpubpf_link *link);
/* Launches that were probed with its program in the twin, in all processes, as long as it was attached at any time.
 * Each is in the maps; of a program for device functions, launches of the kernels that may call them. */
GPUBPF_API uint64_t gpubpf_link__launches(const struct gpubpf_link *link);

/* -- maps; usable from load until free, while programs run and after -- */

GPUBPF_API struct gpubpf_map *gpubpf_session__next_map(const struct gpubpf_session *s,
						       const struct gpubpf_map *prev);
/* NULL and errno ENOENT if there is none of that name. The first of several. */
GPUBPF_API struct gpubpf_map *gpubpf_session__find_map_by_name(const struct gpubpf_session *s,
							       const char *name);
GPUBPF_API const char *gpubpf_map__name(const struct gpubpf_map *map);
/* Its number in the session, from 1: values of maps of maps are such numbers, of 4 bytes. */
GPUBPF_API uint32_t gpubpf_map__number(const struct gpubpf_map *map);
GPUBPF_API uint32_t gpubpf_map__type(const struct gpubpf_map *map);        /* BPF_MAP_TYPE_* or 1501.. */
GPUBPF_API const char *gpubpf_map__type_str(const struct gpubpf_map *map); /* "HASH" */
GPUBPF_API uint32_t gpubpf_map__key_size(const struct gpubpf_map *map);    /* bytes */
GPUBPF_API uint32_t gpubpf_map__value_size(const struct gpubpf_map *map);  /* bytes of one copy */
GPUBPF_API uint32_t gpubpf_map__max_entries(const struct gpubpf_map *map);
/* Bytes that look-ups and updates move: value_size, or for maps with a value a multiprocessor or thread
 * the number of copies times value_size rounded up to 8, as bpf(2) has it for per-CPU maps. Of a value a multiprocessor
 * they are the tool's, those of the Linux kernel's CPUs where its programs have the map too, and those of each device
 * with memory of its own in the order in which these came: ask again after programs have used another one. */
GPUBPF_API size_t gpubpf_map__user_value_size(const struct gpubpf_map *map);
/* Records and updates that found no room. */
GPUBPF_API uint64_t gpubpf_map__drops(const struct gpubpf_map *map);

/*
 * bpf(2)'s operations with its errors. -EINVAL for all of them: key_sz is not the map's key size, value_sz is not
 * gpubpf_map__user_value_size(), the map has no values (a ring buffer), or flags that the operation does not take
 * (look-ups and deletes take none, updates BPF_ANY, BPF_NOEXIST and BPF_EXIST). Queues and stacks have no keys: key is
 * NULL and key_sz 0, an update puts a value in (BPF_EXIST: where there is no room, in place of the oldest), a look-up
 * copies the one that comes out next, and gpubpf_map__lookup_and_delete_elem() takes it out; -ENOENT of an empty one.
 * Of a map of maps an element that is no map is -ENOENT, and an update takes the number of a map of the session that is
 * like its others, else -EINVAL. Where devices keep maps of their own (not in host memory), a look-up adds up values
 * that programs only add to, gives all of a value a multiprocessor, and else answers for the first device that has the
 * key; updates and deletes reach the tool's copy.
 */
/* -ENOENT: no such key, or the value that a bloom filter was asked for; -EBUSY: it was changed all the time;
 * -ENOMEM: where several devices are added up */
GPUBPF_API int gpubpf_map__lookup_elem(const struct gpubpf_map *map, const void *key, size_t key_sz,
				       void *value, size_t value_sz, uint64_t flags);
/* -ENOENT: BPF_EXIST and no such key; -EEXIST: BPF_NOEXIST and it is there, as in an array all are; -E2BIG: no room in
 * a hash, a queue or a stack, an index past the end of an array; -ENOSPC: no room in an LPM_TRIE; -EPERM: programs may
 * only read the map; -EBUSY: the key, the queue or the stack is being changed */
GPUBPF_API int gpubpf_map__update_elem(const struct gpubpf_map *map, const void *key, size_t key_sz,
				       const void *value, size_t value_sz, uint64_t flags);
/* -ENOENT: no such key; -EINVAL: elements of an array cannot be deleted; -EOPNOTSUPP: nor what a bloom filter has;
 * -EPERM, -EBUSY as above */
GPUBPF_API int gpubpf_map__delete_elem(const struct gpubpf_map *map, const void *key, size_t key_sz,
				       uint64_t flags);
/* The value, and then the key is gone; of several callers one gets it. Errors as for look-ups and deletes; -EINVAL of
 * an array. */
GPUBPF_API int gpubpf_map__lookup_and_delete_elem(const struct gpubpf_map *map, const void *key, size_t key_sz,
						  void *value, size_t value_sz, uint64_t flags);
/*
 * Add n to the word of size 4 or 8 at `offset` of a key's value: nothing gets lost, whoever adds to it meanwhile, other
 * threads, and programs on devices that only add to values of the map (or share the host's memory: CPU devices). A key
 * that is not there gets a value of zeros first. -EINVAL also of an offset that is no multiple of size or past the
 * value, of another size than what programs add, and of maps with a value a multiprocessor or thread; -EOPNOTSUPP:
 * devices have memory of their own, and their programs do more with values than add to them; -ENOENT: the key was
 * deleted at once; errors of updates.
 */
GPUBPF_API int gpubpf_map__add(const struct gpubpf_map *map, const void *key, size_t key_sz, size_t offset, size_t size,
			       uint64_t n);
/*
 * As many elements as *count, and on return how many those were, in arrays of keys and of values, of
 * gpubpf_map__user_value_size() each. in_batch NULL: from the first; then what out_batch was given. -ENOENT: there were
 * no more, *count may not be 0. An element that stays in the map comes once, whatever is written meanwhile. -EINVAL of
 * maps without keys; -ENOMEM; errors of look-ups.
 */
GPUBPF_API int gpubpf_map__lookup_batch(const struct gpubpf_map *map, const uint64_t *in_batch, uint64_t *out_batch,
					void *keys, void *values, uint32_t *count);
/* The same of the tool's copy, and each is then gone. -EINVAL also of arrays. */
GPUBPF_API int gpubpf_map__lookup_and_delete_batch(const struct gpubpf_map *map, const uint64_t *in_batch,
						   uint64_t *out_batch, void *keys, void *values, uint32_t *count);
/*
 * Where the values of an array (global data too) lie in this process, that of index i at *values + i * *stride, to be read as long
 * as the session is there: no call and no copy for each. What programs write on devices that work on the host's memory is seen at
 * once, what others write as look-ups have it. Words of 8 bytes, aligned, are never seen half. Ask again after a device has come.
 * -EINVAL of other maps; -EOPNOTSUPP where an index has several values (a multiprocessor's or thread's own, summands, of
 * several devices).
 */
GPUBPF_API int gpubpf_map__memory(const struct gpubpf_map *map, const void **values, size_t *stride);
/* One after the other until one fails, with the error of that one; *count: how many were done. -EINVAL of maps without
 * keys. */
GPUBPF_API int gpubpf_map__update_batch(const struct gpubpf_map *map, const void *keys, const void *values,
					uint32_t *count, uint64_t flags);
GPUBPF_API int gpubpf_map__delete_batch(const struct gpubpf_map *map, const void *keys, uint32_t *count);
/* cur_key NULL: the first. -ENOENT at the end, -ENOMEM. Keys are in no order that would stay as the map changes. */
GPUBPF_API int gpubpf_map__get_next_key(const struct gpubpf_map *map, const void *cur_key, void *next_key,
					size_t key_sz);

/* -- what happened -- */

enum gpubpf_kernel_outcome {
	GPUBPF_OUTCOME_SEEN,      /* launched, no program names it */
	GPUBPF_OUTCOME_WAITING,   /* its twin was not ready */
	GPUBPF_OUTCOME_PROBED,
	GPUBPF_OUTCOME_REFUSED,   /* reason says why */
};

struct gpubpf_kernel_stats {
	size_t sz;                 /* sizeof(struct gpubpf_kernel_stats), set by the caller */
	const char *name;
	const char *reason;        /* "" if there is nothing to explain */
	enum gpubpf_kernel_outcome outcome;
	uint32_t dim;
	uint64_t launches;
	uint64_t probed, missed;   /* of these */
	uint64_t grid[3], block[3]; /* of the last launch: blocks, threads of a block (0: unknown) */
	uint64_t wait_ns;          /* time that launches waited for the twin */
	uint32_t registers, twin_registers; /* a thread's, of the kernel and of its twin; 0: unknown */
	uint64_t twin_load_ns;     /* time that the runtime took to compile and load the twin */
	const char *backend;       /* runtime that launched it: "opencl", "cuda", ... */
	uint64_t threads[3];       /* of the last launch, in all */
	uint64_t id;               /* as ctx->kernel and gpubpf_kernel of <gpubpf/probe.h> have it */
	const char *route;         /* the form of code of its twin: "ptx", "sass", "wrap", ...; "": none was made */
	const char *compiled_by;   /* who made its twin's machine code of text: "driver", or a program of the user's and its
				    * version, "ptxas 13.0.88"; "": nobody had to, or there is no choice */
};

struct gpubpf_cost_stats {
	size_t sz;                 /* sizeof(struct gpubpf_cost_stats), set by the caller */
	uint64_t load_ns, verify_ns;
	uint64_t lower_ns;         /* reading kernels, lowering and injecting */
	uint64_t build_ns;         /* the vendor's compiler */
	uint64_t wait_ns;          /* what launches waited for twins, each thread's added up */
	uint64_t hook_ns;          /* mean time of the launch hook, 0 without a launch */
	uint32_t twins, cached, refused; /* requests answered: built, cached (in the run or on disk), with nothing */
	uint8_t unused1[4];
	uint64_t twin_load_ns;     /* time that the programs' runtimes took to compile and load twins */
	uint64_t drained_bytes, drain_ns; /* of rings in devices' memory: what was copied, and the time it took */
	uint64_t queue_ns;         /* what requests waited in the session before lower_ns and build_ns */
	/* What wait_ns was spent on, these five add up to it: opening devices, reading and sending programs; the
	 * session's answers; the runtimes that load twins; other threads that do one of these; what lies between. */
	uint64_t wait_ask_ns, wait_answer_ns, wait_load_ns, wait_others_ns, wait_rest_ns;
	uint32_t ahead;            /* of `twins` and `cached`: made before they were asked for */
	uint8_t unused2[4];
};

/* The i-th kernel that was launched, all processes and devices of a runtime taken together, by name; i 0 takes the
 * figures anew, and strings live until the next time. -ENOENT past the end, -EINVAL (stats->sz, see above), -ENOMEM. */
GPUBPF_API int gpubpf_session__kernel(struct gpubpf_session *s, size_t i, struct gpubpf_kernel_stats *stats);
/* The whole name of the kernel with that id; NULL if there is none. It lives as long as the session. */
GPUBPF_API const char *gpubpf_session__kernel_name(const struct gpubpf_session *s, uint64_t id);
/* -EINVAL (stats->sz, see above) */
GPUBPF_API int gpubpf_session__cost(const struct gpubpf_session *s, struct gpubpf_cost_stats *stats);

struct gpubpf_report_opts {
	size_t sz;                 /* sizeof(struct gpubpf_report_opts) */
	bool json;                 /* one JSON object, documented in gpubpf-run(1) */
	bool maps_only;            /* only maps[] with their entries */
	bool no_entries;           /* maps without their entries */
	uint8_t unused1[5];
	const char *map;           /* only the map of that name; NULL: all */
	bool demangle;             /* text: C++ names of kernels as C++ writes them */
	bool json_strings;         /* JSON: integers beyond 2^53 as strings */
	bool csv;                  /* instead: the maps' entries as comma-separated values, gpubpf-map(8) */
	uint8_t unused2[5];
};

/* Write the report: kernels, maps typed through BTF, events, drops, cost. opts may be NULL: text, all.
 * -EINVAL before load or for opts->sz (see above), -ENOENT if opts->map names none, -EIO when writing failed,
 * -ENOMEM. */
GPUBPF_API int gpubpf_session__report(struct gpubpf_session *s, FILE *out,
				      const struct gpubpf_report_opts *opts);

#ifdef __cplusplus
}
#endif

#endif
