/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session's implementation of bpf(2) for loaders that do not know the session. It holds the maps, programs, links
 * and BTF that loaders create (core/wire/loader.h). The maps and programs of the session's own BPF objects are not in
 * it.
 *
 *   serve.c   one request and its answer       object.c  handles, ids, and when an object is no longer referenced
 *   map.c, map_def.c, batch.c  maps and their elements    prog.c    programs, verified when they are loaded
 *   link.c    programs attached to kernels     info.c    BPF_OBJ_GET_INFO_BY_FD and walks over ids
 *   ring.c    records, in the kernel's layout  pin.c     names in the session's pin folder
 *   map_in_map.c      maps of maps, and of programs    closure.c   a program with all maps and programs that it reaches
 *   uprobe.c  host stubs                       bridge.c  records written into rings of the Linux kernel
 *   kernel_shadow.c  maps that the Linux kernel's programs have too
 *
 * A map stays on a shelf (a private session that never starts) until a program that names it is attached, because its
 * layout depends on what all programs do to it. Then it moves into the session.
 */
#ifndef GPUBPF_BPF_BPF_H
#define GPUBPF_BPF_BPF_H

#include <linux/bpf.h>

#include "core/load/linux/bpf_syscall.h"
#include "core/session/session.h"
#include "core/wire/loader.h"
#include "core/wire/name.h"

#define GPUBPF_BPF_MAX_OBJECTS 4096      /* objects of a session */
#define GPUBPF_BPF_MAX_BYTES (256u << 20) /* bytes of programs and BTF, over all objects */
#define GPUBPF_BPF_BTF_MAX (16u << 20) /* bytes of one BTF object, the Linux kernel's limit */
#define GPUBPF_BPF_MAX_PATTERNS 16      /* patterns that --attach names for one program */
#define GPUBPF_BPF_LOG_SIZE 4096       /* bytes of a program's verifier log */
#define GPUBPF_BPF_MAX_CHAIN 256      /* programs that one program can reach by tail calls */

/* the place in a GPU kernel at which a program runs */
enum sys_place { SYS_AT_ENTRY, SYS_AT_EXIT, SYS_AT_ACCESS, SYS_PLACES };

struct sys_attached {
	uint32_t links[GPUBPF_BPF_MAX_PATTERNS], n; /* numbers of links in the session */
};

/* Memory that a loader maps and into which the session writes records. */
struct sys_ring {
	int fd;
	void *base; /* the mapping of fd; NULL: not made yet */
	uint8_t *data;
	uint64_t size;         /* bytes of data, a power of two */
	uint64_t *head, *tail; /* positions in bytes: head is the session's, tail is the loader's. Both are in
					* the mapping, so the loader can overwrite them */
	uint64_t at;           /* the session's position, which it trusts instead of *head */
	bool disabled, paused; /* disabled or paused perf buffer: records that arrive now are lost */
};

struct sys_bridge;

struct sys_stream {
	struct sys_bridge *bridge; /* writes records into the Linux kernel's ring or perf buffers; NULL:
					* not needed */
	struct sys_ring ring;      /* memory of a ring buffer */
	uint32_t *buffers;         /* [max_entries] elements of a PERF_EVENT_ARRAY: ids of buffers, 0: no buffer */
	void *waiting;             /* a record that waits because the loader's buffer had no room; NULL: none */
	uint32_t size, copy;       /* of the waiting record: bytes, and multiprocessor */
};

/* The elements of a map of maps or of a map of programs: ids of other objects. */
struct sys_slots {
	uint8_t *keys; /* [n], key_size bytes each */
	uint32_t *ids, n;
	uint32_t *targets, ntargets; /* [ntargets] of a map of programs: ids of all programs that were ever in it;
					* programs that use the map are built with all of these */
};

struct sys_object;

/* What differs by the kind of object. The file that creates the object passes it. */
struct sys_object_ops {
	/* release all resources of the object except its file */
	void (*finish)(struct gpubpf_session *s, struct sys_object *o);
	/* call `mark` for each object that it refers to, except its BTF; NULL: it refers to none */
	void (*mark_references)(struct gpubpf_session *s, const struct sys_object *o,
				void (*mark)(struct gpubpf_session *s, uint32_t id));
	/* 1 + the kind of objects that are its values, or 0, for the handle's name; NULL: 0 */
	uint32_t (*value_kind)(const struct sys_object *o);
};

struct sys_object {
	uint32_t id;
	enum gpubpf_bpf_kind kind;
	const struct sys_object_ops *ops;
	int fd;         /* the file that all handles of the object open */
	bool live;      /* mark of the running sweep: the object is referenced */
	size_t charged; /* its bytes that count towards GPUBPF_BPF_MAX_BYTES */
	uint32_t btf;   /* id of its BTF, 0: none */
	union {
		struct {
			struct gpubpf_map def;
			struct gpubpf_session *shelf; /* private session that has the map until the map joins the
						       * session */
			bool joined;                  /* the map is in the session */
			uint32_t index;               /* its index in the session's unit, if joined */
			bool frozen;
			uint32_t flags;            /* as the loader passed them */
			struct sys_stream *stream; /* NULL: the map is neither a ring buffer nor a PERF_EVENT_ARRAY */
			struct sys_slots *slots;   /* NULL: the values are not objects, and the map has a shelf */
			struct gpubpf_map inner;   /* of a map of maps: the definition of its elements */
			uint32_t kernel_id; /* id of the Linux kernel's map in whose place it was created, 0: none */
			int values_fd;      /* descriptor of the memory of its values: `fd`, or an array of the Linux
						* kernel. 0: none */
			int kernel_fd;      /* descriptor of a separate map of the Linux kernel, 0: none. That map
						* holds all values until this one joins the session */
			bool kernel_unused; /* no program of the Linux kernel uses the separate map */
			const char *unsynced_why; /* why the two maps are not synchronized; NULL: they are */
		} map;
		struct {
			uint32_t type;
			char name[64];              /* the whole name from its BTF */
			struct gpubpf_sys_prog raw; /* in its instructions, map operands are indices into `maps` */
			uint32_t *maps, nmaps;
			uint32_t *use;          /* [nmaps]: enum gpubpf_map_use of each map */
			uint32_t *inner_use;    /* [nmaps]: enum gpubpf_map_use of the elements of each map of maps */
			uint32_t number;        /* its number in maps of programs, 0: none yet */
			int object[SYS_PLACES]; /* number of the session's object with this program at that place;
						 * -1: not joined yet */
			uint64_t loaded_ns;     /* time since boot */
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
			char function[GPUBPF_NAME_SIZE]; /* as gpubpf_pattern_store() stores it */
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

/* A map of maps that the Linux kernel created, and the definition of its elements, which the kernel does not report. */
struct sys_inner_define {
	uint32_t kernel_id;
	struct gpubpf_map def;
};

struct gpubpf_bpf {
	struct sys_object **objects;       /* [n], in order of id */
	uint32_t n, next;                  /* n: number of objects; next: id of the next object */
	int retained_fds[GPUBPF_MAX_MAPS]; /* [nretained]: descriptors of the memory of joined maps whose handles
						* are closed */
	uint32_t nretained;
	struct sys_pin *pins; /* [npins] */
	uint32_t npins;
	struct sys_inner_define *inners; /* [ninners] */
	uint32_t ninners;
	uint32_t popped_queues[GPUBPF_MAX_MAPS], npopped; /* ids of kernel queues and stacks from which kernel programs
							   * take values */
	uint32_t mapped_rings[GPUBPF_MAX_MAPS], nmapped;  /* ids of kernel ring buffers that loaders have mapped */
};

/* Answer a loader's request. 0, -EPROTO, or -errno of the connection; the caller then closes the connection. */
int gpubpf_bpf_message(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_packet *msg);
/* Answer the requests that wait for mirrors, if the mirrors have arrived. */
void gpubpf_bpf_resume(struct gpubpf_session *s);
/* Release the objects that no descriptor, pin or object refers to. The event loop calls it from time to time. */
void gpubpf_bpf_sweep(struct gpubpf_session *s);
void gpubpf_bpf_finish(struct gpubpf_session *s);

/* pin.c: create the session's pin folder; remove the pin folder that belongs to the socket path `session`. */
int gpubpf_pins_open(const struct gpubpf_session *s);
void gpubpf_pins_remove(const char *session);
/* Run GPUBPF_QUERY_PIN or GPUBPF_QUERY_UNPIN; the word is the pin's path. 0, or -errno with the reason in s->error. */
int gpubpf_pin_query(struct gpubpf_session *s, uint32_t what, const char *map, char *const *words, uint32_t nwords);
/* Call `has` for each pinned object, and drop pins whose files were deleted. */
void sys_pins_sweep(struct gpubpf_session *s, void (*has)(struct gpubpf_session *s, uint32_t id));
void sys_pins_finish(struct gpubpf_bpf *bpf);

/* object.c. Does the session have room for one more object? 0 or -errno. */
int sys_check_room(struct gpubpf_session *s);
/* sys_object_new() creates an object; NULL and *err after an error. Then sys_object_file() creates the file of its
 * handles, with `size` bytes and a name that has the sizes of a map's key and value (GPUBPF_BPF_HANDLE). 0
 * or -errno. */
struct sys_object *sys_object_new(struct gpubpf_session *s, enum gpubpf_bpf_kind kind, const struct sys_object_ops *ops,
				  int *err);
int sys_object_file(struct sys_object *o, size_t size, uint32_t key, uint32_t value);
/* Like sys_object_file(), but creates a pipe, which loaders can poll. */
int sys_object_fifo(const struct gpubpf_session *s, struct sys_object *o, uint32_t key, uint32_t value);
struct sys_object *sys_object_find(const struct gpubpf_session *s, uint32_t id);
/* The object of that kind and id; NULL: none. */
struct sys_object *sys_object_find_kind(const struct gpubpf_session *s, enum gpubpf_bpf_kind kind, uint32_t id);
/* Count `size` more bytes for the object: 0, or -ENOMEM if all objects together exceed the limit. */
int sys_object_charge(struct gpubpf_session *s, struct sys_object *o, size_t size);
/* Returns a new descriptor of the object's file for the requesting process, or -errno. Creates the file if there is
 * none. */
int sys_object_handle(struct sys_object *o);
/* Destroy an object whose creation failed. */
void sys_object_drop(struct gpubpf_session *s, struct sys_object *o);

/* One request: its handler reads `r`, writes `out`, and may set fd. */
struct sys_call {
	struct gpubpf_session *s;
	struct gpubpf_reader *r;
	struct gpubpf_writer *out;
	int fd;         /* descriptor that the answer carries, owned; -1: none */
	int request_fd; /* descriptor that the request carries; -1: none */
};

/* Answer a call that created an object: put its handle into c->fd, or destroy the object if err or the handle fails. */
int sys_object_answer(struct sys_call *c, struct sys_object *o, int err);
/* The handlers of enum gpubpf_bpf_op. 0 or -errno, as bpf(2) returns it. -EPROTO: the request is malformed. */
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

/* map_def.c: sys_map_get() returns the map in its shelf or session, for the public functions. sys_map_make_def() makes
 * its definition for a unit, with its value if that is constant. */
struct gpubpf_map *sys_map_get(const struct gpubpf_session *s, const struct sys_object *o);
int sys_map_make_def(const struct gpubpf_session *s, const struct sys_object *o, struct gpubpf_map *def);
int sys_map_read_def(struct sys_call *c, struct gpubpf_sys_map *sys);
int sys_map_check_def(struct gpubpf_sys_map *sys, struct gpubpf_map *def); /* converts to struct gpubpf_map: 0 or
									    * -EINVAL */
bool sys_map_writes(uint32_t cmd);
/* May loaders run that command of bpf(2) on the map? BPF_F_RDONLY and BPF_F_WRONLY forbid some, and a frozen map cannot
 * be changed. */
bool sys_map_allows(const struct sys_object *map, uint32_t cmd);
uint64_t sys_map_def_mappable_bytes(const struct gpubpf_map *def); /* bytes of the values of an array so defined that
								    * loaders can map, 0: none */
uint64_t sys_map_mappable_bytes(const struct sys_object *map); /* bytes of an array's values that loaders can map, 0: none */
/* Is it a name that bpf(2) accepts: letters, digits, '_' and '.'? */
bool sys_name_is_valid(const char *name);

/* map.c. The map has joined the session with that index: copy its elements from the shelf into the session's map. */
void sys_map_on_join(struct gpubpf_session *s, struct sys_object *o, uint32_t index);

/* kernel_shadow.c. Store the Linux kernel's map that the request carries as the map's separate kernel map: 0
 * or -errno. */
int sys_shadow_open(struct sys_call *c, struct sys_object *map);
/* Does only the separate kernel map hold values yet? Then sys_shadow_elem() and sys_shadow_batch() run a bpf(2) command
 * there. */
bool sys_shadow_is_primary(const struct sys_object *map);
int sys_shadow_elem(const struct sys_object *map, uint32_t cmd, const void *key, const void *value, uint64_t flags,
		    void *back);
int sys_shadow_batch(const struct sys_object *map, union bpf_attr *attr, uint32_t cmd);
/* The map has joined the session: copy the elements of the kernel's map, and start to synchronize the two maps. */
void sys_shadow_on_join(struct gpubpf_session *s, struct sys_object *map);
/* Synchronize the two maps at this key (NULL: at all keys). Call it before a loader reads the map, and after it has
 * written. */
void sys_shadow_sync(struct gpubpf_session *s, const struct sys_object *map, const void *key);

/* map_in_map.c */
int sys_slots_create(struct sys_object *map);
void sys_slots_destroy(struct sys_slots *slots);
/* Run a bpf(2) command on an element of a map of maps or programs; its result goes to `back`. 0 or -errno. */
int sys_slots_elem(struct gpubpf_session *s, struct sys_object *map, uint32_t cmd, const void *key, uint32_t id,
		   uint64_t flags, void *back);
/* The map has joined the session: insert the loader's elements into the session's map, and list all programs that it
 * can hold. */
void sys_slots_on_join(struct gpubpf_session *s, struct sys_object *map);
/* The definition of the elements of the Linux kernel's map of maps with id `kernel_id`; NULL: not known. */
const struct gpubpf_map *sys_inner_find(const struct gpubpf_session *s, uint32_t kernel_id);

/* closure.c */
struct sys_closure {
	struct sys_object *progs[GPUBPF_BPF_MAX_CHAIN]; /* the program itself, then the programs that it can reach by
							 * tail calls */
	uint32_t nprogs;
	struct sys_closure_map {
		struct sys_object *map;
		bool prototype; /* the entry stands for the definition of the map's elements */
	} maps[GPUBPF_MAX_MAPS];
	uint32_t nmaps;
};
/* Build an object from a program and everything that it reaches, or from a map alone. The caller joins the object to
 * the session. The object's maps are in the order of g->maps. *g must be zeroed. */
int sys_closure_program(const struct gpubpf_session *s, struct sys_object *prog, enum gpubpf_site site,
			const char *pattern, struct sys_closure *g, struct gpubpf_loaded **loaded,
			struct gpubpf_diag *diag);
int sys_closure_map(const struct gpubpf_session *s, struct sys_object *map, struct sys_closure *g,
		    struct gpubpf_loaded **loaded, struct gpubpf_diag *diag);
/* Does the program, or a program that it can reach by tail calls, name the map? */
bool sys_closure_names_map(const struct gpubpf_session *s, struct sys_object *prog, const struct sys_object *map);
/* All programs that can be in a map of programs, in the order of its targets. 0 or -errno. */
int sys_closure_targets(const struct gpubpf_session *s, const struct sys_object *map, struct gpubpf_map_target **targets);

/* percpu.c: sys_value_size(): bytes of a value as loaders see it. The others: look up or update such a value. -E2BIG:
 * the loader's buffer has no room for all copies. A note reports each refusal once per map. */
typedef int sys_lookup_fn(const struct gpubpf_map *map, const void *key, size_t key_size, void *value, size_t size,
			  uint64_t flags);
size_t sys_value_size(const struct gpubpf_map *map);
int sys_value_lookup(struct gpubpf_session *s, const struct gpubpf_map *map, sys_lookup_fn *look, const void *key,
		     size_t key_size, void *value, uint64_t flags);
int sys_value_update(struct gpubpf_session *s, const struct gpubpf_map *map, const void *key, size_t key_size,
		     const void *value, size_t value_size, uint64_t flags);
/* Can batches return the map's values? 0, or -EOPNOTSUPP: a batch has no room for all copies. */
int sys_value_check_batch(struct gpubpf_session *s, const struct gpubpf_map *map);

/* ring.c */
int sys_stream_create(struct gpubpf_session *s, struct sys_object *map);
/* Make records also arrive in `kernel`, the Linux kernel's map that loaders read. */
int sys_stream_bridge(struct gpubpf_session *s, struct sys_object *map, int kernel);
void sys_stream_destroy(struct sys_stream *stream);
uint32_t sys_stream_word_size(const struct sys_object *map); /* bytes of a key, and of a value */
/* Run a bpf(2) command on an element: 0 or -errno. */
int sys_stream_elem(struct gpubpf_session *s, struct sys_object *map, uint32_t cmd, uint32_t key, uint32_t value);

/* bridge.c: writes records into the Linux kernel's map `map`: a ring buffer of ring_bytes, or with ring_bytes 0 a
 * PERF_EVENT_ARRAY. 0 or -errno. A ring buffer without room returns -EAGAIN. A perf buffer without room returns 0,
 * because the kernel counts the loss. */
int sys_bridge_create(int map, uint64_t ring_bytes, struct sys_bridge **bridge);
void sys_bridge_destroy(struct sys_bridge *bridge);
int sys_bridge_put(struct sys_bridge *bridge, const void *data, uint32_t size);

/* prog.c */
/* The i-th pattern that --attach names for the program, NULL after the last. */
const char *sys_prog_pattern(const struct gpubpf_session *s, const char *name, uint32_t i);

/* link.c */
extern const struct sys_object_ops sys_perf_ops;
/* Join the map to the session without a program. */
int sys_map_join(struct gpubpf_session *s, struct sys_object *map);
/* The map of programs has a new target: rebuild the programs that name it, and replace them where they are attached. */
int sys_links_rebuild(struct gpubpf_session *s, struct sys_object *map);

#endif
