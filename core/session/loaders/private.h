/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session's implementation of bpf(2) for loaders (libbpf applications) that do not know the session. It holds the
 * maps, programs, links and BTF that loaders create (core/wire/loader.h). It does not hold the maps and programs of the
 * session's own BPF objects.
 *
 * - serve.c: answers one request
 * - object.c: handles, ids, and the release of unreferenced objects
 * - map.c, map_def.c, batch.c: maps and their elements
 * - map_in_map.c: maps of maps and program arrays
 * - percpu.c: values per multiprocessor
 * - prog.c: programs, which are verified when they are loaded
 * - closure.c: a program with all maps and programs that it can reach
 * - link.c: programs attached to kernels
 * - uprobe.c: uprobes at the host stubs of kernels
 * - info.c: BPF_OBJ_GET_INFO_BY_FD and iteration over ids
 * - ring.c: records in the Linux kernel's layout
 * - bridge.c: records written into ring buffers of the Linux kernel
 * - kernel_shadow.c: maps that Linux kernel programs also use
 * - pin.c: names in the session's pin folder
 * - support.c: the functions that the session calls
 *
 * The layout of a map depends on what all programs do to it. So a map is first on a shelf, which is a private session
 * that never starts. The map moves into the session when a program that uses it is attached.
 */
#ifndef GPUBPF_SESSION_LOADERS_PRIVATE_H
#define GPUBPF_SESSION_LOADERS_PRIVATE_H

#include <linux/bpf.h>

#include "core/load/linux/bpf_syscall.h"
#include "core/session/private.h"
#include "core/wire/loader.h"
#include "core/wire/name.h"

#define GPUBPF_BPF_MAX_OBJECTS 4096      /* objects of a session */
#define GPUBPF_BPF_MAX_BYTES (256u << 20) /* maximum bytes of programs and BTF, over all objects */
#define GPUBPF_BPF_BTF_MAX (16u << 20) /* maximum bytes of one BTF object, as in Linux */
#define GPUBPF_BPF_MAX_PATTERNS 16      /* maximum patterns that --attach names for one program */
#define GPUBPF_BPF_LOG_SIZE 4096       /* bytes of a program's verifier log */
#define GPUBPF_BPF_MAX_CHAIN 256      /* maximum programs that one program can reach by tail calls */

/* the place in a GPU kernel at which a program runs */
enum sys_place {
	SYS_AT_ENTRY,
	SYS_AT_EXIT,
	SYS_AT_ACCESS,
	SYS_AT_RUN, /* the kernel of direct runs (core/wire/direct.h) */
	SYS_PLACES
};

struct sys_attached {
	uint32_t links[GPUBPF_BPF_MAX_PATTERNS], n; /* ids of links in the session */
	uint64_t cookie;                            /* result of helper 174 */
};

/* Memory that a loader maps and into which the session writes records. */
struct sys_ring {
	int fd;
	void *base; /* the mapping of fd; NULL: not mapped yet */
	uint8_t *data;
	uint64_t size; /* number of bytes in data, a power of two */
	/*
	 * byte positions of the session (head) and of the loader (tail). Both are in the mapping, so the loader can
	 * overwrite them
	 */
	uint64_t *head, *tail;
	uint64_t at;           /* the session's own copy of *head, which no loader can change */
	bool disabled, paused; /* the perf buffer is disabled or paused, and new records are lost */
};

struct sys_bridge;

struct sys_stream {
	struct sys_bridge *bridge; /* writes records into a Linux ring or perf buffers; NULL: not needed */
	struct sys_ring ring;      /* memory of a ring buffer */
	uint32_t *buffers;         /* [max_entries] ids of the buffers in a PERF_EVENT_ARRAY; 0: no buffer */
	/* a record that did not fit into the loader's buffer, and waits for space; NULL: none */
	void *waiting;
	uint32_t size, copy; /* bytes of this record, and index of the multiprocessor that wrote it */
};

/* The elements of a map of maps or of a program array: ids of other objects. */
struct sys_slots {
	uint8_t *keys; /* [n], key_size bytes each */
	uint32_t *ids, n;
	/*
	 * [ntargets] for a program array: ids of all programs that were ever in it. A program that uses the array is
	 * built with all of these
	 */
	uint32_t *targets, ntargets;
};

struct sys_object;

/* Operations that depend on the kind of object. The file that creates the object passes them. */
struct sys_object_ops {
	/* release all resources of the object except its file (fd) */
	void (*finish)(struct gpubpf_session *s, struct sys_object *o);
	/* call `mark` with the id of each object that this object refers to, except its BTF; NULL: there are none */
	void (*mark_references)(struct gpubpf_session *s, const struct sys_object *o,
				void (*mark)(struct gpubpf_session *s, uint32_t id));
	/* return 1 + the kind of objects that are the map's values, or 0, for the handle's name; NULL: 0 */
	uint32_t (*value_kind)(const struct sys_object *o);
};

struct sys_object {
	uint32_t id;
	enum gpubpf_bpf_kind kind;
	const struct sys_object_ops *ops;
	int fd;         /* the file that all handles of the object open */
	bool live;      /* gpubpf_bpf_sweep() has found a reference to the object */
	size_t charged; /* bytes of the object that count towards GPUBPF_BPF_MAX_BYTES */
	uint32_t btf;   /* id of the object's BTF; 0: none */
	union {
		struct {
			struct gpubpf_map def;
			/* private session that holds the map until it joins the session */
			struct gpubpf_session *shelf;
			bool joined;
			uint32_t index; /* index of the map in the session's unit, if joined */
			bool frozen;
			uint32_t flags, key_size;  /* as the loader passed them */
			struct sys_stream *stream; /* NULL unless the map is a ring buffer or PERF_EVENT_ARRAY */
			struct sys_slots *slots;   /* NULL unless the values are maps or programs */
			struct gpubpf_map inner;   /* for a map of maps: the definition of its elements */
			uint32_t kernel_id;        /* id of the Linux map that this map replaces; 0: none */
			/* descriptor of the values' memory: `fd`, or an array of the Linux kernel. 0: none */
			int values_fd;
			/*
			 * descriptor of the separate Linux map; 0: none. The Linux map holds all values until this map
			 * joins the session
			 */
			int kernel_fd;
			bool kernel_unused;       /* no Linux kernel program uses the separate Linux map */
			const char *unsynced_why; /* why the two maps are not synchronized; NULL: they are */
		} map;
		struct {
			uint32_t type;
			char name[64]; /* the untruncated name, from the program's BTF */
			/* the program; map operands in its instructions are indexes into `maps` */
			struct gpubpf_sys_prog raw;
			uint32_t *maps, nmaps;
			uint32_t *use;       /* [nmaps]: enum gpubpf_map_use of each map */
			uint32_t *inner_use; /* [nmaps]: enum gpubpf_map_use of the elements of each map of maps */
			uint32_t number;     /* number of the program in program arrays; 0: none yet */
			/* index of the session's object with this program for that place; -1: not joined yet */
			int object[SYS_PLACES];
			uint64_t loaded_ns; /* time since boot */
		} prog;
		struct {
			uint32_t prog, perf;
			struct sys_attached at;
		} link;
		struct {
			void *data;
			size_t size;
		} btf_data;
		struct {
			/* pattern of kernel names, as gpubpf_pattern_store() stores it */
			char function[GPUBPF_NAME_SIZE];
			enum sys_place place;
			uint32_t prog; /* id of the attached program, 0: none */
			struct sys_attached at;
		} perf;
		struct sys_ring ring; /* memory of a perf buffer */
	};
};

struct sys_pin {
	int fd; /* the pin's file */
	uint32_t id;
};

/* The definition of the elements of a Linux map of maps. The Linux kernel does not report this definition. */
struct sys_inner_define {
	uint32_t kernel_id;
	struct gpubpf_map def;
};

struct session_loaders {
	struct sys_object **objects; /* [n] all objects, sorted by id */
	uint32_t n, next;            /* number of objects, and id of the next object */
	/* [nretained]: descriptors of the memory of joined maps whose handles are closed */
	int retained_fds[GPUBPF_MAX_MAPS];
	uint32_t nretained;
	struct sys_pin *pins; /* [npins] */
	uint32_t npins;
	struct sys_inner_define *inners; /* [ninners] */
	uint32_t ninners;
	/* ids of the Linux queues and stacks from which Linux kernel programs pop values */
	uint32_t popped_queues[GPUBPF_MAX_MAPS], npopped;
	uint64_t mirrored_ns;                            /* time when mirrors for a loader's request last arrived */
	uint32_t mapped_rings[GPUBPF_MAX_MAPS], nmapped; /* ids of Linux ring buffers that loaders have mapped */
	struct gpubpf_direct_run *run;                   /* of a loader that has not fetched its result; NULL: none */
};

/*
 * Answer a loader's request. Returns 0, -EPROTO, or -errno of the connection. After an error, the caller closes the
 * connection.
 */
int gpubpf_bpf_message(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_packet *msg);
/* Answer the parked requests if their mirrors have arrived. */
void gpubpf_bpf_resume(struct gpubpf_session *s);
/*
 * Release the objects to which no descriptor, pin or other object refers. The event loop calls this function from time
 * to time.
 */
void gpubpf_bpf_sweep(struct gpubpf_session *s);
void gpubpf_bpf_finish(struct gpubpf_session *s);

/* Implemented in pin.c. Create the session's pin folder, which the server removes. */
int gpubpf_pins_open(const struct gpubpf_session *s);
/*
 * Run GPUBPF_QUERY_PIN or GPUBPF_QUERY_UNPIN. words[0] is the path of the pin. Returns 0, or -errno with the reason in
 * gpubpf_session__error().
 */
int gpubpf_pin_query(struct gpubpf_session *s, uint32_t what, const char *map, char *const *words, uint32_t nwords);
/* Call `has` with the id of each pinned object, and drop pins whose files were deleted. */
void sys_pins_sweep(struct gpubpf_session *s, void (*has)(struct gpubpf_session *s, uint32_t id));
void sys_pins_finish(struct session_loaders *bpf);

/* Implemented in object.c. Returns 0 if the session can have one more object, else -errno. */
int sys_check_room(struct gpubpf_session *s);
/*
 * sys_object_new() creates an object, or returns NULL and sets *err. Then sys_object_file() creates a memfd of `size`
 * bytes; the loader's descriptors of the object refer to this memfd. Returns 0 or -errno. The memfd's name contains the
 * sizes of a map's key and value (GPUBPF_BPF_HANDLE).
 */
struct sys_object *sys_object_new(struct gpubpf_session *s, enum gpubpf_bpf_kind kind, const struct sys_object_ops *ops,
				  int *err);
int sys_object_file(struct sys_object *o, size_t size, uint32_t key, uint32_t value);
/* Like sys_object_file(), but creates a pipe, which loaders can poll. */
int sys_object_fifo(const struct gpubpf_session *s, struct sys_object *o, uint32_t key, uint32_t value);
struct sys_object *sys_object_find(const struct gpubpf_session *s, uint32_t id);
/* Returns the object of that kind and id, or NULL. */
struct sys_object *sys_object_find_kind(const struct gpubpf_session *s, enum gpubpf_bpf_kind kind, uint32_t id);
/* Count `size` more bytes for the object. Returns 0, or -ENOMEM if all objects together exceed the limit. */
int sys_object_charge(struct gpubpf_session *s, struct sys_object *o, size_t size);
/*
 * Returns a new descriptor of the object's file for the requesting process, or -errno. Creates the file if it does not
 * exist.
 */
int sys_object_handle(struct sys_object *o);
/* Destroy an object whose creation failed. */
void sys_object_drop(struct gpubpf_session *s, struct sys_object *o);

/* A request in progress. Its handler reads the request from r, writes the answer to out, and may set fd. */
struct sys_call {
	struct gpubpf_session *s;
	struct gpubpf_reader *r;
	struct gpubpf_writer *out;
	int fd;         /* descriptor that the answer carries and that this struct owns; -1: none */
	int request_fd; /* descriptor that the request carries; -1: none */
};

/*
 * Finish a call that created an object. Puts the object's handle into c->fd. Destroys the object if err is negative or
 * the handle cannot be made.
 */
int sys_object_answer(struct sys_call *c, struct sys_object *o, int err);
/*
 * The handlers of enum gpubpf_bpf_op. They return 0 or -errno as bpf(2) does, or -EPROTO if the request is malformed.
 */
int sys_prog_is_gpu(struct sys_call *c);
int sys_map_create(struct sys_call *c);
int sys_map_elem(struct sys_call *c);
int sys_map_batch(struct sys_call *c);
int sys_map_freeze(struct sys_call *c);
int sys_prog_load(struct sys_call *c);
int sys_btf_load(struct sys_call *c);
int sys_info(struct sys_call *c);
int sys_next_id(struct sys_call *c);
int sys_fd_by_id(struct sys_call *c);
int sys_perf_open(struct sys_call *c);
int sys_run(struct sys_call *c);        /* run.c */
int sys_run_result(struct sys_call *c); /* run.c */
/* run.c: enforce the time limit of a loader's run, and free a run whose result no loader fetches */
void sys_run_turn(struct gpubpf_session *s);
void sys_run_stop(struct gpubpf_session *s); /* run.c: kill a loader's run */
int sys_link_create(struct sys_call *c);
int sys_perf_set(struct sys_call *c);
int sys_memory(struct sys_call *c);
int sys_buffer_open(struct sys_call *c);
int sys_pin(struct sys_call *c);
int sys_pinned(struct sys_call *c);
int sys_map_by_kernel_id(struct sys_call *c);
int sys_inner_define(struct sys_call *c);
int sys_uprobe_open(struct sys_call *c);
int sys_output(struct sys_call *c);
int sys_kernel_map_fd(struct sys_call *c);
int sys_queue_consumed(struct sys_call *c);
int sys_ring_mapped(struct sys_call *c);

/*
 * Implemented in map_def.c. The function sys_map_get() returns the map, on its shelf or in the session, for the public
 * map functions. Then sys_map_make_def() makes the map's definition for a unit, with the value if it is constant.
 */
struct gpubpf_map *sys_map_get(const struct gpubpf_session *s, const struct sys_object *o);
int sys_map_make_def(const struct gpubpf_session *s, const struct sys_object *o, struct gpubpf_map *def);
int sys_map_read_def(struct sys_call *c, struct gpubpf_sys_map *sys);
/* converts *sys to struct gpubpf_map; 0 or -EINVAL */
int sys_map_check_def(struct gpubpf_sys_map *sys, struct gpubpf_map *def);
bool sys_map_writes(uint32_t cmd);
/*
 * Returns true if loaders may run that command of bpf(2) on the map. BPF_F_RDONLY and BPF_F_WRONLY forbid some
 * commands, and a frozen map cannot be changed.
 */
bool sys_map_allows(const struct sys_object *map, uint32_t cmd);
/* bytes of values that loaders can map if an array has this definition; 0: none */
uint64_t sys_map_def_mappable_bytes(const struct gpubpf_map *def);
/* bytes of the array's values that loaders can map; 0: none */
uint64_t sys_map_mappable_bytes(const struct sys_object *map);
/* Returns true if bpf(2) accepts the name: letters, digits, '_' and '.'. */
bool sys_name_is_valid(const char *name);

/*
 * Implemented in map.c. Called when the map has joined the session with that index. Copies the map's elements from the
 * shelf into the session's map.
 */
void sys_map_on_join(struct gpubpf_session *s, struct sys_object *o, uint32_t index);

/*
 * Implemented in kernel_shadow.c. Use the descriptor of the request as the separate Linux map of `map`. Returns 0 or
 * -errno.
 */
int sys_shadow_open(struct sys_call *c, struct sys_object *map);
/*
 * Returns true if only the separate Linux map holds values, because `map` has not joined the session. Then
 * sys_shadow_elem() and sys_shadow_batch() run a bpf(2) command on the Linux map.
 */
bool sys_shadow_is_primary(const struct sys_object *map);
int sys_shadow_elem(const struct sys_object *map, uint32_t cmd, const void *key, const void *value, uint64_t flags,
		    void *back);
int sys_shadow_batch(const struct sys_object *map, union bpf_attr *attr, uint32_t cmd);
/*
 * Called when the map has joined the session. Copies the elements of the Linux map, and starts to synchronize the two
 * maps.
 */
void sys_shadow_on_join(struct gpubpf_session *s, struct sys_object *map);
/*
 * Synchronize the two maps at this key (NULL: at all keys). Call it before a loader reads the map and after a loader
 * has written.
 */
void sys_shadow_sync(struct gpubpf_session *s, const struct sys_object *map, const void *key);

/* map_in_map.c */
int sys_slots_create(struct sys_object *map);
void sys_slots_destroy(struct sys_slots *slots);
/*
 * Run a bpf(2) command on an element of a map of maps or a program array. Stores the result in `back`. Returns 0 or
 * -errno.
 */
int sys_slots_elem(struct gpubpf_session *s, struct sys_object *map, uint32_t cmd, const void *key, uint32_t id,
		   uint64_t flags, void *back);
/*
 * Called when the map has joined the session. Inserts the loader's elements into the session's map. Lists all programs
 * that a program array can hold.
 */
void sys_slots_on_join(struct gpubpf_session *s, struct sys_object *map);
/* Returns the definition of the elements of the Linux map of maps `kernel_id`, or NULL if it is not known. */
const struct gpubpf_map *sys_inner_find(const struct gpubpf_session *s, uint32_t kernel_id);

/* closure.c */
struct sys_closure {
	/* the program, followed by the programs that it can reach by tail calls */
	struct sys_object *progs[GPUBPF_BPF_MAX_CHAIN];
	uint32_t nprogs;
	struct sys_closure_map {
		struct sys_object *map;
		bool prototype; /* the entry is the prototype of the map's elements, not the map */
	} maps[GPUBPF_MAX_MAPS];
	uint32_t nmaps;
};
/*
 * Build a BPF object from a program and everything that it can reach, or from a map alone. The object's maps have the
 * order of g->maps. *g must be zeroed. The caller joins the object to the session.
 */
int sys_closure_program(const struct gpubpf_session *s, struct sys_object *prog, enum gpubpf_site site,
			const char *pattern, struct sys_closure *g, struct gpubpf_loaded **loaded,
			struct gpubpf_diag *diag);
int sys_closure_map(const struct gpubpf_session *s, struct sys_object *map, struct sys_closure *g,
		    struct gpubpf_loaded **loaded, struct gpubpf_diag *diag);
/* Returns true if the program, or a program that it can reach by tail calls, uses the map. */
bool sys_closure_names_map(const struct gpubpf_session *s, struct sys_object *prog, const struct sys_object *map);
/* Store in *targets a new array of the programs that can be in a program array. Returns 0 or -errno. */
int sys_closure_targets(const struct gpubpf_session *s, const struct sys_object *map, struct gpubpf_map_target **targets);

/*
 * Implemented in percpu.c. sys_value_size() returns the bytes of a value in a loader's buffer. The other two look up or
 * update a value. They return -E2BIG if the values of all multiprocessors do not fit into the buffer, and report a note
 * once per map.
 */
typedef int sys_lookup_fn(const struct gpubpf_map *map, const void *key, size_t key_size, void *value, size_t size,
			  uint64_t flags);
size_t sys_value_size(const struct gpubpf_map *map);
int sys_value_lookup(struct gpubpf_session *s, const struct gpubpf_map *map, sys_lookup_fn *look, const void *key,
		     size_t key_size, void *value, uint64_t flags);
int sys_value_update(struct gpubpf_session *s, const struct gpubpf_map *map, const void *key, size_t key_size,
		     const void *value, size_t value_size, uint64_t flags);
/* Returns 0 if batches can return the map's values, or -EOPNOTSUPP if the values of all multiprocessors do not fit. */
int sys_value_check_batch(struct gpubpf_session *s, const struct gpubpf_map *map);

/* ring.c */
int sys_stream_create(struct gpubpf_session *s, struct sys_object *map);
/* Also write the map's records into the Linux map `kernel`, which loaders read. */
int sys_stream_bridge(struct gpubpf_session *s, struct sys_object *map, int kernel);
void sys_stream_destroy(struct sys_stream *stream);
/* bytes of a key, and of a value, of a PERF_EVENT_ARRAY; 0: the map has another type */
uint32_t sys_stream_word_size(const struct sys_object *map);
/* Run a bpf(2) command on an element. Returns 0 or -errno. */
int sys_stream_elem(struct gpubpf_session *s, struct sys_object *map, uint32_t cmd, uint32_t key, uint32_t value);

/*
 * Implemented in bridge.c. Write records into the Linux map `map`. It is a ring buffer of ring_bytes bytes, or a
 * PERF_EVENT_ARRAY if ring_bytes is 0. These functions return 0 or -errno. sys_bridge_put() returns -EAGAIN if a ring
 * buffer is full. It returns 0 if a perf buffer is full, because the Linux kernel counts the lost record.
 */
int sys_bridge_create(int map, uint64_t ring_bytes, struct sys_bridge **bridge);
void sys_bridge_destroy(struct sys_bridge *bridge);
int sys_bridge_put(struct sys_bridge *bridge, const void *data, uint32_t size);

/* prog.c */
/* Returns the i-th pattern that --attach names for the program, or NULL after the last. */
const char *sys_prog_pattern(const struct gpubpf_session *s, const char *name, uint32_t i);

/* link.c */
extern const struct sys_object_ops sys_perf_ops;
/*
 * link.c: returns the number of the link that runs the program in a direct run, or -errno. The program joins the session
 * first if necessary.
 */
int64_t sys_run_link(struct gpubpf_session *s, struct sys_object *prog);
/* Join the map to the session although no program uses it yet. */
int sys_map_join(struct gpubpf_session *s, struct sys_object *map);
/*
 * A program was added to the targets of this program array. Rebuild the programs that use the array, and replace them
 * where they are attached.
 */
int sys_links_rebuild(struct gpubpf_session *s, struct sys_object *map);

#endif
