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
 * returns belong to the session and live until gpubpf_session__free(). The library prints nothing, reads
 * no environment variable, and never ends the process. Link it (pkg-config libgpubpf): it answers
 * libbpf's system calls for GPU programs itself, and a library that comes by dlopen() is bound too late.
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
};

/* a record of a ring buffer or perf event array */
struct gpubpf_event {
	const struct gpubpf_map *map;
	const void *data;
	uint32_t size;             /* bytes */
	uint32_t copy;             /* multiprocessor whose ring it came from */
	uint32_t process, device;
};

typedef void (*gpubpf_print_fn)(void *ctx, const struct gpubpf_print_record *record);
typedef void (*gpubpf_event_fn)(void *ctx, const struct gpubpf_event *event);
/* one line for the user: a kernel that could not be probed, a peer that was turned away, ... */
typedef void (*gpubpf_note_fn)(void *ctx, const char *text);

/* -- the session -- */

struct gpubpf_session_opts {
	size_t sz;                 /* sizeof(struct gpubpf_session_opts) */
	const char *runtime_dir;   /* folder for the socket, of this user and mode 0700, made if missing;
				    * NULL: /run/user/UID/gpubpf, else /tmp/gpubpf-UID */
	const char *worker_dir;    /* folder of gpubpf-compile and its like; NULL: as installed */
	const char *agent;         /* libgpubpf-agent.so; NULL: as installed */
	const char *cache_dir;     /* cache of twins on disk; NULL: none */
	const char *backend;       /* "opencl", ...; NULL: the first runtime that the program loads */
	bool all_gpu;              /* kprobe/ and kretprobe/ programs are for the GPU */
	bool no_wait;              /* launches do not wait for their twins */
	uint32_t wait_ms;          /* longest wait of a launch for its twin, which may come later; 0: 60,000 */
	uint64_t sample;           /* probe every n-th launch of a kernel; 0, 1: all */
	uint64_t first;            /* probe the first n launches of a kernel; 0: all */
	uint64_t max_events;       /* records kept for the report; 0: 1,000 */
	bool no_events;            /* records are counted, none is kept */
	uint64_t max_cost;         /* worst case of instructions a thread; 0: 1,000,000 */
	uint32_t threads;          /* room in per-thread maps, in threads; 0: 1,048,576 */
	bool inspect;              /* probe nothing, but ask of each kernel whether it could be */
	gpubpf_print_fn print;     /* may be NULL, as the two below */
	gpubpf_event_fn event;
	gpubpf_note_fn note;
	void *ctx;                 /* handed to the three */
};

/* opts may be NULL. NULL and errno on failure: EINVAL for an opts->sz of no known version, ENOMEM. */
GPUBPF_API struct gpubpf_session *gpubpf_session__new(const struct gpubpf_session_opts *opts);
/* Stops the session if it runs. s may be NULL. */
GPUBPF_API void gpubpf_session__free(struct gpubpf_session *s);
/* Why the last call failed: one or several lines without trailing newline; "" if none did. */
GPUBPF_API const char *gpubpf_session__error(const struct gpubpf_session *s);

/* Name an object file to load. Programs on one kernel run in the order of their objects, then of their
 * sections. -EBUSY after load, -ENOMEM. */
GPUBPF_API int gpubpf_session__add_object(struct gpubpf_session *s, const char *path);
/* Bind a program to kernels other than its section says: a name or a glob. -EBUSY after load, -ENOMEM. */
GPUBPF_API int gpubpf_session__attach(struct gpubpf_session *s, const char *prog, const char *pattern);
/* Load and verify everything. -EINVAL when an object or a program is refused; gpubpf_session__error()
 * then holds the whole diagnostic. There is no way to go on with a refused program. */
GPUBPF_API int gpubpf_session__load(struct gpubpf_session *s);
/* What loading decided that a user may want to know, line by line; NULL past the end. */
GPUBPF_API const char *gpubpf_session__load_note(const struct gpubpf_session *s, size_t i);

/* Open the session's socket. -EINVAL before load, -EBUSY when started, or why the socket failed:
 * -EPERM when the runtime folder is not this user's own. */
GPUBPF_API int gpubpf_session__start(struct gpubpf_session *s);
/* Path of the socket. NULL before start. */
GPUBPF_API const char *gpubpf_session__path(const struct gpubpf_session *s);
/* A descriptor that polls readable when gpubpf_session__poll() has something to do. -1 before start. */
GPUBPF_API int gpubpf_session__fd(const struct gpubpf_session *s);
/* Serve programs and read rings for at most timeout_ms (-1: until something happened, 0: do not block).
 * The number of messages, records and results handled, or -errno: -EINVAL before start or after stop. */
GPUBPF_API int gpubpf_session__poll(struct gpubpf_session *s, int timeout_ms);
/* Environment for a program that is to join: `base` (NULL-terminated) with OPENCL_LAYERS, LD_PRELOAD,
 * GPUBPF_SESSION and GPUBPF_BACKEND set; what base had in the first two stays. *env is one malloc'd
 * block that the caller frees. -EINVAL before start, -ENOENT when the agent's file is missing. */
GPUBPF_API int gpubpf_session__environ(struct gpubpf_session *s, char *const *base, char ***env);
/* Probe (again), or let programs run their own kernels from the next launch on. -EINVAL before start. */
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
GPUBPF_API uint32_t gpubpf_prog__insn_cnt(const struct gpubpf_prog *prog);
/* Most instructions that one run by one thread executes, as the verifier proved; 0 before load. */
GPUBPF_API uint64_t gpubpf_prog__max_cost(const struct gpubpf_prog *prog);

/* -- maps; usable from load until free, while programs run and after -- */

GPUBPF_API struct gpubpf_map *gpubpf_session__next_map(const struct gpubpf_session *s,
						       const struct gpubpf_map *prev);
/* NULL and errno ENOENT if there is none of that name. The first of several. */
GPUBPF_API struct gpubpf_map *gpubpf_session__find_map_by_name(const struct gpubpf_session *s,
							       const char *name);
GPUBPF_API const char *gpubpf_map__name(const struct gpubpf_map *map);
GPUBPF_API uint32_t gpubpf_map__type(const struct gpubpf_map *map);        /* BPF_MAP_TYPE_* or 1501.. */
GPUBPF_API const char *gpubpf_map__type_str(const struct gpubpf_map *map); /* "HASH" */
GPUBPF_API uint32_t gpubpf_map__key_size(const struct gpubpf_map *map);    /* bytes */
GPUBPF_API uint32_t gpubpf_map__value_size(const struct gpubpf_map *map);  /* bytes of one copy */
GPUBPF_API uint32_t gpubpf_map__max_entries(const struct gpubpf_map *map);
/* Bytes that look-ups and updates move: value_size, or for maps with a value a multiprocessor or thread
 * the number of copies times value_size rounded up to 8, as bpf(2) has it for per-CPU maps. */
GPUBPF_API size_t gpubpf_map__user_value_size(const struct gpubpf_map *map);
/* Records and updates that found no room. */
GPUBPF_API uint64_t gpubpf_map__drops(const struct gpubpf_map *map);

/*
 * bpf(2)'s operations with its errors (-ENOENT, -EEXIST, -E2BIG, -EINVAL). key_sz must be the map's key
 * size and value_sz gpubpf_map__user_value_size(), else -EINVAL. Where devices keep maps of their own (not
 * in host memory), a look-up adds up values that programs only add to, and else answers for the
 * first device that has the key; updates and deletes reach the tool's copy.
 */
GPUBPF_API int gpubpf_map__lookup_elem(const struct gpubpf_map *map, const void *key, size_t key_sz,
				       void *value, size_t value_sz, uint64_t flags);
GPUBPF_API int gpubpf_map__update_elem(const struct gpubpf_map *map, const void *key, size_t key_sz,
				       const void *value, size_t value_sz, uint64_t flags);
GPUBPF_API int gpubpf_map__delete_elem(const struct gpubpf_map *map, const void *key, size_t key_sz,
				       uint64_t flags);
/* cur_key NULL: the first. -ENOENT at the end. */
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
	uint64_t grid[3], block[3]; /* of the last launch: threads in all, threads a block (0: unknown) */
	uint64_t wait_ns;          /* time that launches waited for the twin */
	uint32_t registers, twin_registers; /* a thread's, of the kernel and of its twin; 0: unknown */
	uint64_t twin_load_ns;     /* time that the runtime took to compile and load the twin */
};

struct gpubpf_cost_stats {
	size_t sz;                 /* sizeof(struct gpubpf_cost_stats), set by the caller */
	uint64_t load_ns, verify_ns;
	uint64_t lower_ns;         /* reading kernels, lowering and injecting */
	uint64_t build_ns;         /* the vendor's compiler */
	uint64_t wait_ns;          /* time that the programs waited for twins */
	uint64_t hook_ns;          /* mean time of the launch hook, 0 without a launch */
	uint32_t twins, cached, refused; /* requests answered: built, from the cache, with nothing */
	uint64_t twin_load_ns;     /* time that the programs' runtimes took to compile and load twins */
	uint64_t drained_bytes, drain_ns; /* of rings in devices' memory: what was copied from there, and the time it took */
};

/* The i-th kernel that was launched, all processes and devices taken together, by name. 0, or -ENOENT. */
GPUBPF_API int gpubpf_session__kernel(struct gpubpf_session *s, size_t i, struct gpubpf_kernel_stats *stats);
GPUBPF_API int gpubpf_session__cost(const struct gpubpf_session *s, struct gpubpf_cost_stats *stats);

struct gpubpf_report_opts {
	size_t sz;                 /* sizeof(struct gpubpf_report_opts) */
	bool json;                 /* one JSON object, documented in gpubpf-run(1) */
	bool maps_only;            /* only maps[] with their entries */
	bool no_entries;           /* maps without their entries */
	const char *map;           /* only the map of that name; NULL: all */
};

/* Write the report: kernels, maps typed through BTF, events, drops, cost. opts may be NULL: text, all.
 * 0, -EINVAL before load, -ENOENT if opts->map names none, -EIO when writing failed. */
GPUBPF_API int gpubpf_session__report(struct gpubpf_session *s, FILE *out,
				      const struct gpubpf_report_opts *opts);

#ifdef __cplusplus
}
#endif

#endif
