/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's side of bpf(2) for loaders that know nothing of it: the maps, programs, links and BTF that their calls make
 * (core/wire/loader.h), beside those that the session's objects brought.
 *
 *   serve.c   a question and its answer        object.c  handles, numbers, and when nobody holds one any more
 *   map.c, batch.c  maps and their elements    prog.c    programs, proven when they are loaded
 *   link.c    programs on kernels              info.c    what each is
 *   ring.c    records, as loaders read them     pin.c     names
 *   of.c      maps of maps, and of programs     given.c   a program with all that belongs to it
 *   uprobe.c  host stubs                        bridge.c  records among those of the Linux kernel's programs
 *   beside.c  maps of which the Linux kernel's programs have another one
 *
 * A map is on a shelf (a session of its own that is never started) until a program that names it is attached: how it is
 * laid out depends on what all programs do to it. From then on it is the session's.
 */
#ifndef GPUBPF_BPF_BPF_H
#define GPUBPF_BPF_BPF_H

#include <linux/bpf.h>

#include "core/load/bpf_syscall.h"
#include "core/session/session.h"
#include "core/wire/loader.h"
#include "core/wire/name.h"

#define GPUBPF_BPF_MOST 4096      /* objects of a session */
#define GPUBPF_BPF_HELD (256u << 20) /* bytes of programs and BTF that they are */
#define GPUBPF_BPF_BTF_MAX (16u << 20) /* bytes of one, the Linux kernel's */
#define GPUBPF_BPF_PLACES 16      /* patterns that --attach names for a program */
#define GPUBPF_BPF_LOG 4096       /* bytes of what is said of a program */
#define GPUBPF_BPF_CHAIN 256      /* programs that may go on in each other */

/* where a program stands in a kernel */
enum sys_place { SYS_AT_ENTRY, SYS_AT_EXIT, SYS_AT_ACCESS, SYS_PLACES };

struct sys_attached {
	uint32_t links[GPUBPF_BPF_PLACES], n; /* of the session */
};

/* Memory that a loader maps, to which records come. */
struct sys_ring {
	int fd;
	void *base;                    /* of fd; NULL: there is none yet */
	uint8_t *data;
	uint64_t size;                 /* of data, a power of two */
	uint64_t *head, *tail;         /* in it, by whoever maps it: how far we are, of which we go by */
	uint64_t at;                   /* , and how far the loader is */
	bool off, paused;              /* of a buffer: what is put then is lost */
};

struct sys_bridge;

struct sys_stream {
	struct sys_bridge *bridge;     /* to where the Linux kernel's own programs put records; NULL: none */
	struct sys_ring ring;          /* of a ring buffer; */
	uint32_t *buffers;             /* of a PERF_EVENT_ARRAY [max_entries], numbers, 0: none */
	void *late;                    /* a record that found no room, NULL: none, of */
	uint32_t size, copy;
};

/* What stands in a map of maps or of programs: other objects. */
struct sys_slots {
	uint8_t *keys;                 /* [n], of key_size bytes */
	uint32_t *ids, n;
	uint32_t *targets, ntargets;   /* of a map of programs: all that stood in it, by which programs that name it are made */
};

struct sys_object {
	uint32_t id;
	enum gpubpf_bpf_kind kind;
	int fd;                        /* the file of its handles */
	bool live;                     /* during a sweep */
	size_t held;                   /* bytes of GPUBPF_BPF_HELD */
	uint32_t btf;                  /* number of its BTF, 0: none */
	union {
		struct {
			struct gpubpf_map def;
			struct gpubpf_session *shelf; /* where it is until */
			bool joined;           /* it is the session's, */
			uint32_t index;        /* by this number */
			bool frozen;
			uint32_t flags;        /* as its maker has them */
			struct sys_stream *stream; /* NULL: it is none */
			struct sys_slots *slots; /* NULL: it has values, and a shelf */
			struct gpubpf_map inner; /* of a map of maps: what its elements are like */
			uint32_t was;          /* the number that it had as the Linux kernel's, 0: it was none */
			int pages;             /* the file of its values, which may be fd or an array of the kernel's; 0: none */
			int beside;            /* the kernel's, in which all values are until this is the session's; 0: none */
			bool rests;            /* none of the kernel's programs has that */
			const char *apart;     /* why the two are not kept alike; NULL: they are */
		} map;
		struct {
			uint32_t type;
			char name[64];         /* whole, as its BTF has it */
			struct gpubpf_sys_prog raw; /* names maps by their place in */
			uint32_t *maps, nmaps;
			uint32_t *use;         /* what it does to each, */
			uint32_t *inner_use;   /* and, where that is a map of maps, to elements */
			uint32_t number;       /* by which maps of programs have it, 0: none yet */
			int object[SYS_PLACES]; /* of the session, as that place's program; -1: not yet */
			uint64_t loaded_ns;    /* since boot */
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
			char function[GPUBPF_NAME_SIZE]; /* as gpubpf_pattern_keep() keeps it */
			enum sys_place place;
			uint32_t prog;         /* 0: none */
			struct sys_attached at;
		} perf;
		struct sys_ring ring;          /* of a buffer */
	};
};

struct sys_pin {
	int fd;                        /* of its file */
	uint32_t id;
};

/* A map of maps that the Linux kernel has made, which tells nobody what its elements are like */
struct sys_inner {
	uint32_t was;
	struct gpubpf_map def;
};

struct gpubpf_bpf {
	struct sys_object **objects;   /* [n], by number */
	uint32_t n, next;              /* number */
	int kept[GPUBPF_MAX_MAPS];     /* [nkept]: memory of the session's maps whose handles are closed */
	uint32_t nkept;
	struct sys_pin *pins;          /* [npins] */
	uint32_t npins;
	struct sys_inner *inners;      /* [ninners] */
	uint32_t ninners;
	uint32_t taken[GPUBPF_MAX_MAPS], ntaken; /* queues of the kernel's, by number, from which its programs take values */
	uint32_t read[GPUBPF_MAX_MAPS], nread; /* ring buffers of the kernel's, by number, that loaders have mapped */
};

/* The question of a peer, answered. -EPROTO or -errno of the connection. */
int gpubpf_bpf_message(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_packet *msg);
/* Answer those that waited for mirrors, if these have come. */
void gpubpf_bpf_resume(struct gpubpf_session *s);
/* Let go what no descriptor holds; to be called now and then. */
void gpubpf_bpf_sweep(struct gpubpf_session *s);
void gpubpf_bpf_finish(struct gpubpf_session *s);

/* ring.c. Who reads the records of this map, by its number in the session; NULL: no loader. Then: has it room, and here is
 * one, after which it has no more where that is false; and wake all for whom there is something. */
struct sys_object *gpubpf_bpf_stream(const struct gpubpf_session *s, uint32_t map);
bool gpubpf_bpf_has_room(struct gpubpf_session *s, struct sys_object *map);
bool gpubpf_bpf_record(struct gpubpf_session *s, struct sys_object *map, uint32_t copy, const void *data, uint32_t size);
void gpubpf_bpf_wake(struct gpubpf_session *s);

/* pin.c: the folder of a session, and what is left of it at that socket. */
int gpubpf_pins_open(const struct gpubpf_session *s);
void gpubpf_pins_remove(const char *session);
/* One of GPUBPF_QUERY_PIN and UNPIN: the word is the pin's path. 0, or -errno with the reason in s->error. */
int gpubpf_pin_query(struct gpubpf_session *s, uint32_t what, const char *map, char *const *words, uint32_t nwords);
/* what is pinned is called; pins whose files are gone go */
void sys_pins_sweep(struct gpubpf_session *s, void (*has)(struct gpubpf_session *s, uint32_t id));
void sys_pins_finish(struct gpubpf_bpf *bpf);

/* object.c. There may be one more: 0 or -errno. */
int sys_open(struct gpubpf_session *s);
/* A new one, NULL and *err; and its handles' file, of a map with its sizes and of `size` bytes. 0 or -errno. */
struct sys_object *sys_object_new(struct gpubpf_session *s, enum gpubpf_bpf_kind kind, int *err);
int sys_object_file(struct sys_object *o, size_t size, uint32_t key, uint32_t value);
/* The same, which can be waited for: a pipe. */
int sys_object_fifo(const struct gpubpf_session *s, struct sys_object *o, uint32_t key, uint32_t value);
struct sys_object *sys_object_find(const struct gpubpf_session *s, uint32_t id);
/* Of that kind; NULL: there is none. */
struct sys_object *sys_object_of(const struct gpubpf_session *s, enum gpubpf_bpf_kind kind, uint32_t id);
/* It is to have so many bytes more: 0, or -ENOMEM where all have too many. */
int sys_object_hold(struct gpubpf_session *s, struct sys_object *o, size_t size);
/* A descriptor for a process that asked, whose file is made if there is none. -errno */
int sys_object_handle(struct sys_object *o);
/* One that was just made and is of no use. */
void sys_object_drop(struct gpubpf_session *s, struct sys_object *o);

/* one question; what answers it reads `r`, writes `out`, and may set fd */
struct sys_call {
	struct gpubpf_session *s;
	struct gpubpf_reader *r;
	struct gpubpf_writer *out;
	int fd;                        /* the answer's, owned; -1: none */
	int given;                     /* the question's */
};

/* What a call that made an object answers: its handle, or the error, with which the object goes. */
int sys_object_give(struct sys_call *c, struct sys_object *o, int err);
/* What answers enum gpubpf_bpf_op: 0 or -errno, as bpf(2) has it; a question that breaks its form is -EPROTO. */
int sys_wants(struct sys_call *c);
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
int sys_was(struct sys_call *c);
int sys_inner(struct sys_call *c);
int sys_uprobe_open(struct sys_call *c);
int sys_output(struct sys_call *c);
int sys_kernel(struct sys_call *c);
int sys_takes(struct sys_call *c);
int sys_read(struct sys_call *c);

/* map.c: as the public functions take it; and for who makes a unit: its definition, with what it holds if that is for good. */
struct gpubpf_map *sys_map_of(const struct gpubpf_session *s, const struct sys_object *o);
int sys_map_define(const struct gpubpf_session *s, const struct sys_object *o, struct gpubpf_map *def);
/* It is the session's from now on, with what it holds. */
void sys_map_joined(struct gpubpf_session *s, struct sys_object *o, uint32_t index);
void sys_map_finish(struct sys_object *o);
int sys_map_definition(struct sys_call *c, struct gpubpf_sys_map *sys);
int sys_map_defined(struct gpubpf_sys_map *sys, struct gpubpf_map *def); /* as ours; -EINVAL */

bool sys_map_writes(uint32_t cmd);
/* May loaders run that command? BPF_F_RDONLY and BPF_F_WRONLY forbid some, and a frozen map cannot be changed. */
bool sys_map_may(const struct sys_object *map, uint32_t cmd);
uint64_t sys_map_pages(const struct sys_object *map); /* bytes that can be mapped of an array's values, 0: none */
/* A name that bpf(2) takes: letters, digits, '_' and '.' */
bool sys_name_is_good(const char *name);

/* beside.c. The one that was given is beside the map from now on: 0 or -errno. */
int sys_beside_open(struct sys_call *c, struct sys_object *map);
/* Are its values there yet? Then this is the answer to a command of bpf(2) for an element, or for some. */
bool sys_beside_alone(const struct sys_object *map);
int sys_beside_elem(const struct sys_object *map, uint32_t cmd, const void *key, const void *value, uint64_t flags, void *back);
int sys_beside_batch(const struct sys_object *map, union bpf_attr *attr, uint32_t cmd);
/* It is the session's: what the kernel's has, and will have, comes over. */
void sys_beside_joined(struct gpubpf_session *s, struct sys_object *map);
/* Before a loader looks at the key, NULL: at all, and when it has written. */
void sys_beside_settle(struct gpubpf_session *s, const struct sys_object *map, const void *key);

/* of.c */
int sys_slots_create(struct sys_object *map);
void sys_slots_destroy(struct sys_slots *slots);
/* A command of bpf(2) for an element; what it gives back, to back. 0 or -errno. */
int sys_slots_elem(struct gpubpf_session *s, struct sys_object *map, uint32_t cmd, const void *key, uint32_t id, uint64_t flags,
		   void *back);
/* The map, which is the session's now, has what the loader put into it, and knows of all that may stand there. */
void sys_slots_joined(struct gpubpf_session *s, struct sys_object *map);
/* What elements of that map of the kernel's are like, NULL: nobody knows. */
const struct gpubpf_map *sys_inner_of(const struct gpubpf_session *s, uint32_t was);

/* given.c */
struct sys_given {
	struct sys_object *progs[GPUBPF_BPF_CHAIN]; /* itself, and what it may go on in */
	uint32_t nprogs;
	struct sys_given_map {
		struct sys_object *map;
		bool prototype;        /* not it, but what its elements are like */
	} maps[GPUBPF_MAX_MAPS];
	uint32_t nmaps;
};
/* With all that belongs to a program, or a map by itself, as an object to be joined; its maps are in the order of g->maps. g is
 * all zeros before. */
int sys_given_program(const struct gpubpf_session *s, struct sys_object *prog, enum gpubpf_site site, const char *pattern,
		      struct sys_given *g, struct gpubpf_loaded **loaded, struct gpubpf_diag *diag);
int sys_given_map(const struct gpubpf_session *s, struct sys_object *map, struct sys_given *g, struct gpubpf_loaded **loaded,
		  struct gpubpf_diag *diag);
/* Does the program, or what it may go on in, name the map? */
bool sys_given_names(const struct gpubpf_session *s, struct sys_object *prog, const struct sys_object *map);
/* All that may stand in a map of programs, in the order of its targets. 0 or -errno. */
int sys_given_targets(const struct gpubpf_session *s, const struct sys_object *map, struct gpubpf_map_target **targets);

/* percpu.c: bytes of a value as loaders have it, and the public operations with such. -E2BIG: loaders have no room for all.
 * What is refused is told, once a map. */
typedef int sys_look_fn(const struct gpubpf_map *map, const void *key, size_t key_size, void *value, size_t size, uint64_t flags);
size_t sys_value_size(const struct gpubpf_map *map);
int sys_value_look(struct gpubpf_session *s, const struct gpubpf_map *map, sys_look_fn *look, const void *key, size_t key_size, void *value, uint64_t flags);
int sys_value_update(struct gpubpf_session *s, const struct gpubpf_map *map, const void *key, size_t key_size, const void *value,
		     size_t value_size, uint64_t flags);
/* 0, or -EOPNOTSUPP: batches have no room for them. */
int sys_value_batches(struct gpubpf_session *s, const struct gpubpf_map *map);

/* ring.c */
int sys_stream_create(struct gpubpf_session *s, struct sys_object *map);
int sys_stream_bridge(struct gpubpf_session *s, struct sys_object *map, int kernel); /* the kernel's map that loaders read */
void sys_stream_destroy(struct sys_stream *stream);
void sys_ring_finish(struct sys_ring *ring);
uint32_t sys_stream_words(const struct sys_object *map); /* bytes of a key, and of a value */
/* A command of bpf(2) for an element: 0 or -errno. */
int sys_stream_elem(struct gpubpf_session *s, struct sys_object *map, uint32_t cmd, uint32_t key, uint32_t value);

/* bridge.c: to a PERF_EVENT_ARRAY of the kernel's, or to a ring buffer of ring_bytes. 0 or -errno. A record without room is -EAGAIN;
 * a perf event without room is 0, since the kernel counts it. */
int sys_bridge_create(int map, uint64_t ring_bytes, struct sys_bridge **bridge);
void sys_bridge_destroy(struct sys_bridge *bridge);
int sys_bridge_put(struct sys_bridge *bridge, const void *data, uint32_t size);

/* prog.c */
void sys_prog_finish(struct sys_object *o);
/* --attach names it: the i-th pattern, NULL past the last. */
const char *sys_prog_pattern(const struct gpubpf_session *s, const char *name, uint32_t i);

/* link.c */
void sys_detach(struct gpubpf_session *s, struct sys_attached *at);
/* The map is the session's too, by itself. */
int sys_map_join(struct gpubpf_session *s, struct sys_object *map);
/* There is one more target in this map of programs: what names it is made anew, and goes on where it is attached. */
int sys_links_renew(struct gpubpf_session *s, struct sys_object *map);

#endif
