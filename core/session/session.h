/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session, inside. One thread (the caller of gpubpf_session__poll) owns everything here but what
 * makers.h hands to the makers' threads. Peers are not trusted: whatever one sends costs at most its own
 * connection, and every table that a peer can fill has an end.
 *
 *   session.c           life: load, verify, start, poll, stop
 *   server.c            sockets and the event loop           runtime_dir.c      the folder where they lie
 *   attach.c            what is attached                     join.c             objects that come later
 *   placement.c         in which memory maps lie
 *   linux_progs.c       programs for the Linux kernel, and arrays that they share
 *   linux_maps.c        other maps of theirs, kept alike   merge.c            by which rules
 *   peer.c              what a peer may say                  arena.c            layouts, arenas, look-ups in all
 *   request.c           a request for a twin and its answer  kernel_table.c     which kernels ran, and how
 *   twin_make.c         how one twin is made                 twin_sites.c       which programs stand where in it
 *   twin_code.c         machine code behind its text     twin_query.c       answers of the device's compiler
 *   twin_ahead.c        twins before they are asked for      makers.c           threads that make them, their cache
 *   named_places.c      programs at places with names        called_functions.c  what a kernel calls
 *   reader.c, event.c   rings: prints and records            rescue.c           maps of processes that were killed
 *   report*.c           what the user sees                   query.c            other tools asking
 *   element.c, element_keyed.c  values that other tools put in and take out
 *   snapshot.c          maps of one moment                   batch.c            many elements by one call
 *   stacks.c            where kernels were launched from     symbols.c          functions of a file
 * and by headers of their own: entries (what a map holds), rows (values that are tables), signature, sized (public
 * structs that grow), table (text).
 */
#ifndef GPUBPF_SESSION_SESSION_H
#define GPUBPF_SESSION_SESSION_H

#include "core/diag.h"
#include "core/wire/placement.h"
#include "core/facts.h"
#include "core/load/load.h"
#include "core/prog.h"
#include "gpubpf/gpubpf.h"
#include "maps/maps.h"
#include "core/wire/msg.h"

#define GPUBPF_MAX_PEERS 256
#define GPUBPF_MAX_DEVICES 64     /* of a peer */
#define GPUBPF_MAX_ARENAS 64
#define GPUBPF_BATCH_ARENA 56      /* of where a batch goes on: arenas from this bit on, below what was iterated over */
#define GPUBPF_MAX_LISTED 256     /* devices that the report names */
#define GPUBPF_MAX_NOTES 256
#define GPUBPF_MAX_KERNEL_IDS 65536
#define GPUBPF_BUILD_MS 300000    /* a compiler's time for a twin, if --wait is not longer: it may come late */
#define GPUBPF_PRINT_BYTES (1u << 20)
#define GPUBPF_FUNCTION_BYTES (16u << 20) /* names of device functions that are kept */

struct gpubpf_bpf;
struct gpubpf_code_file;
struct gpubpf_code_map;
struct gpubpf_linux;
struct gpubpf_linux_maps;
struct gpubpf_makers;
struct gpubpf_rescue;
struct gpubpf_twin;

enum gpubpf_session_state {
	GPUBPF_SESSION_NEW,
	GPUBPF_SESSION_LOADED,
	GPUBPF_SESSION_STARTED,
	GPUBPF_SESSION_STOPPED,
};

/* an arena and where it is used: one shared by all devices that work on host memory, else one a device */
struct gpubpf_session_arena {
	struct gpubpf_layout layout;
	uint32_t given;            /* maps that devices may take: those of segments that are in use */
	void *base;
	int fd;
	bool shared;
	bool used;                 /* some device was told to use it */
	void *begun;               /* what its summed maps held at first, laid out alike; NULL: zeros */
	uint32_t process, device;  /* whose, unless shared, */
	char backend[16];          /* and of which runtime */
	char name[96];             /* the device's */
	uint64_t caps;             /* and what it has, GPUBPF_CAP_*; of a shared one: nothing that devices do not all have */
	uint32_t places[GPUBPF_MAX_MAPS]; /* where maps lie: GPUBPF_LAYOUT_PLACED and LIVE */
};

/* what the user has said of where a map is to lie */
struct gpubpf_placement_asked {
	char *map;                 /* name or glob, owned */
	int where;                 /* enum gpubpf_placement */
};

/* a device as the report names it: once, however many contexts a process makes of it */
struct gpubpf_listed_device {
	uint32_t process, ordinal;
	char backend[16], name[96];
};

struct gpubpf_session_device {
	uint32_t number;           /* the agent's */
	struct gpubpf_device_caps caps;
	int arena;                 /* index, or -1: cannot be probed */
	uint64_t pull_until_ns;    /* until when the agent may answer our last GPUBPF_MSG_PULL; 0: we wait for none */
	uint32_t pulls;            /* its number */
	bool rescued;              /* its maps were copied out by gpubpf-rescue, or that was tried: not again */
	int kept_fd;               /* the device's own memory of it, to be read when the process cannot; or -1 */
	bool kept;                 /* kept_fd was set once: a second one from the agent is refused */
};

enum gpubpf_peer_kind {
	GPUBPF_PEER_NEW,           /* has not said HELLO */
	GPUBPF_PEER_AGENT,
	GPUBPF_PEER_TOOL,
	GPUBPF_PEER_LOADER,
};

struct gpubpf_peer {
	struct gpubpf_peer *next;
	uint64_t id;               /* never used again */
	int sock;
	enum gpubpf_peer_kind kind;
	uint32_t process;          /* index in the session */
	uint32_t pid;
	char exe[256], backend[32];
	struct gpubpf_session_device *devices;
	uint32_t ndevices, nrequests;
	struct gpubpf_known_image {
		uint64_t identity; /* as the peer calls it */
		uint8_t digest[32];
		struct gpubpf_image_copy *copy; /* NULL: it is sent with each request */
	} *known;                  /* images that it has sent, at most GPUBPF_MAX_KNOWN */
	uint32_t nknown;
	struct gpubpf_code_map *code; /* [ncode], stacks.c: where it has which code, in order; */
	uint32_t ncode;
	uint64_t unloaded;         /* as it was when the agent said this */
	enum gpubpf_held held;     /* of an agent that was told to hold launches */
	struct {                   /* a loader's, the same */
		void *data;                /* NULL: none */
		size_t size;
		uint32_t seq;
		uint64_t until_ns;
	} parked;
	struct {                   /* a tool's question, waiting for mirrors */
		bool open, asked;          /* asked: mirrors are on their way */
		bool holds;                /* and launches wait meanwhile */
		uint32_t what, flags, seq;
		char map[64];
		char **words;              /* of an element: one block, owned */
		uint32_t nwords;
		uint64_t deadline_ns;
	} query;
};

struct gpubpf_link {
	struct gpubpf_session *session;
	uint32_t id;               /* of its program in the unit, too */
	bool attached;
	bool was_attached;         /* at any time */
	bool borrowed;             /* what its program holds is another link's */
};

/* a record that is kept for the report */
struct gpubpf_kept_record {
	int map;                   /* index in the unit; -1: a print */
	const char *backend;       /* of the device, "" where its arena is that of several runtimes */
	uint32_t process, device, copy, size;
	uint64_t time_ns;          /* of a ring that the Linux kernel's programs have too; 0: not known */
	struct gpubpf_print *print;
	void *data;
};

struct gpubpf_session {
	enum gpubpf_session_state state;
	struct gpubpf_session_opts opts;   /* strings owned */
	char error[4096];
	struct gpubpf_diag refusal;        /* of load(), GPUBPF_OK: none */

	char **paths;
	struct gpubpf_load_image *images;  /* [npaths], data owned; NULL: read from the path */
	struct gpubpf_load_value *values;  /* all owned */
	uint32_t nvalues;
	struct gpubpf_attach *attach;
	struct gpubpf_placement_asked *places;
	uint32_t npaths, nattach, nplaces;
	char *assembler;                   /* of the user's, which makes machine code of twins' text: its path, and in a second line
					    * which it is, as results depend on that; NULL: there is none, or it is not to be used */
	struct gpubpf_loaded *loaded;
	/* Conformance tool only: each program is one of one thread, whose memory and r0 are in the map of its number
	 * (struct gpubpf_run); CHECKED: not proven, so each access is checked while it is made. */
	enum gpubpf_session_raw { GPUBPF_RAW_NONE, GPUBPF_RAW_PROVEN, GPUBPF_RAW_CHECKED } raw;
	struct gpubpf_linux **linux_progs; /* [nlinux_progs] of objects, by index; NULL: nothing of it is in the kernel */
	uint32_t nlinux_progs;
	struct gpubpf_linux_maps *linux_maps; /* NULL: there are none */
	struct gpubpf_link *links;         /* [unit.nprogs], with room for GPUBPF_PLAN_LINKS, as unit.progs has; unit.maps,
					    * and what is kept of maps below, has room for GPUBPF_MAX_MAPS */
	uint64_t plan;                     /* generation of what is attached, even */
	uint32_t *map_use;                 /* union over the programs */
	bool has_rings;
	bool print_ring;
	bool allocations;              /* some program looks into their table, or a map is to have them */

	struct gpubpf_session_arena arenas[GPUBPF_MAX_ARENAS];
	uint32_t narenas;

	char dir[256], path[280];
	int listener, epoll, wake, timer;  /* wake: eventfd, a maker has finished */
	int spare;                         /* for when there are no more */
	uint64_t interval_ns;              /* of the timer */
	struct gpubpf_peer *peers;
	uint32_t npeers, nprocesses, ndevices;
	struct gpubpf_listed_device *listed; /* [nlisted] */
	uint32_t nlisted;
	struct gpubpf_rescue *rescues;     /* the first one runs */
	uint64_t next_peer;
	uint64_t fresh_ns;                 /* when mirrors last came for loaders */
	uint64_t held_ns;                  /* since when launches wait for who reads the maps; 0: they do not */
	enum gpubpf_moment {
		GPUBPF_MOMENT_UNSAID,      /* of other reports */
		GPUBPF_MOMENT_LIVE,        /* kernels may have run while it was read */
		GPUBPF_MOMENT_ONE,
	} moment;                          /* what the dump in hand is of */
	bool enabled;
	bool loaders;                      /* programs that join may be loaders: libgpubpf-bpf.so comes with them, but where */
	bool supervised;                   /* a supervisor sees all their calls */
	void *buffer;                      /* GPUBPF_MSG_BUF */

	struct gpubpf_kernel_table *table;
	int table_fd;
	struct gpubpf_kernel_name {
		uint32_t id;
		char text[256];            /* as the agent counts it, short */
		char *whole, *plain;       /* the whole, where that is longer; demangled, once it was asked for */
		const char *route;         /* the target that made its twin; NULL: none did */
		char assembler[32];        /* that made code of the twin's text; "": none did */
		struct gpubpf_signature *signature; /* NULL: not known */
	} **kernel_ids;                    /* by id */
	uint32_t nkernel_ids;
	void *kernel_names;                /* the same by name, of tsearch(3) */
	char shared_backend[16];           /* of all devices on host memory, "" where several have some: */
	bool shared_mixed;
	struct gpubpf_kernel_stats *stats; /* cache of gpubpf_session__kernel */
	struct gpubpf_missed *missed;      /* missed.h: one for each of them */
	uint32_t nstats;

	struct gpubpf_bpf *bpf;            /* what loaders have made; NULL: nothing */
	struct gpubpf_makers *makers;
	uint32_t pending;
	uint64_t kept_bytes;               /* of images that peers need not send again */
	struct gpubpf_cost_stats cost;
	struct gpubpf_verdict {            /* what was found of a kernel in its image */
		char name[256];
		char reason[240];          /* inspect: why it cannot be probed; "": it can */
		bool entry_only;           /* reason is of its exit alone */
		const char *route;         /* the target that takes it; NULL: none does */
		char instead[240];         /* why not one that is preferred; "": none is */
		char *functions;           /* that it calls: called_functions.h; NULL: not known */
		uint8_t named[GPUBPF_PLAN_LINKS / 8]; /* programs that have a place in it */
		struct gpubpf_twin *twin;  /* inspect: whose places[] these are; NULL: none are known */
		const struct gpubpf_place *places;
		uint32_t nplaces;
	} *verdicts;
	uint32_t nverdicts;
	size_t function_bytes;             /* of all verdicts */

	struct gpubpf_stacks *stacks;      /* that kernels were launched from */
	struct gpubpf_code_file *code_files; /* [ncode_files] in which their addresses lie */
	uint32_t ncode_files;
	char stack_text[1024];             /* what gpubpf_session_names() last said of one */

	struct gpubpf_kept_record *kept;
	uint64_t nkept, nrecords;          /* nrecords counts those past the cap too */
	uint64_t *map_records;             /* [nmaps]: records read from rings */
	bool *map_set;                     /* [nmaps]: something was put in by an update */
	char **notes;
	uint32_t nnotes;
};

/* session.c */
uint32_t gpubpf_session_build_ms(const struct gpubpf_session *s);
int gpubpf_session_fail(struct gpubpf_session *s, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int gpubpf_session_refuse(struct gpubpf_session *s, int err, const struct gpubpf_diag *diag);
/* Tell the user, each text once; bounded. */
void gpubpf_session_note(struct gpubpf_session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
uint64_t gpubpf_now_ns(void);
/* A new session has what is loaded in place of objects, and owns it from here on. */
int gpubpf_session_take(struct gpubpf_session *s, struct gpubpf_loaded *loaded, struct gpubpf_diag *diag);
/* Every program of the unit from the first on is proven safe, or none is to run. */
int gpubpf_session_verify(struct gpubpf_session *s, struct gpubpf_unit *unit, uint32_t first, struct gpubpf_diag *diag);

/* linux_progs.c. 0 or -ENOMEM; after it, maps of the unit may be the kernel's. */
int gpubpf_linux_progs_load(struct gpubpf_session *s);
void gpubpf_linux_progs_carry(struct gpubpf_session *s); /* their other maps: linux_maps.c */
void gpubpf_linux_progs_attach(struct gpubpf_session *s);
void gpubpf_linux_progs_detach(struct gpubpf_session *s);
void gpubpf_linux_progs_close(struct gpubpf_session *s);
/* The kernel's arrays, from the map `first` on, in our arena, and in that of an agent which has the same memory. */
int gpubpf_linux_map_pages(struct gpubpf_session *s, const struct gpubpf_session_arena *a, uint32_t first);
int gpubpf_linux_share(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t first);
void gpubpf_linux_share_all(struct gpubpf_session *s, uint32_t first); /* with all agents that have that arena */

/* join.c: after load. The object's index, which is an earlier one's if it is of the same bytes, or -errno, told. */
int gpubpf_session_join_object(struct gpubpf_session *s, const char *path);
/* The same of what is loaded already, of one object: its maps become the session's by the numbers that at[] tells on return,
 * and those whose at[] is not -1 are the session's by that number before. use[]: what others than its programs will do to
 * each. Finishes `more` where it succeeds. */
int gpubpf_session_join_loaded(struct gpubpf_session *s, struct gpubpf_loaded *more, int32_t *at, const uint32_t *use,
			       struct gpubpf_diag *diag);

/* runtime_dir.c: the folder for sockets, made and checked. 0 or -errno with the reason in s->error. */
int gpubpf_session_dir(struct gpubpf_session *s);
/* Fill buf with the path of the newest session's socket in `dir` (NULL: default). How many there are, or -ENOENT. */
int gpubpf_newest_session(const char *dir, char *buf, size_t size);

/* environ.c: of a program that is to join the session at that socket; *env is one block. 0, or -errno and why, but of
 * -ENOMEM. */
struct gpubpf_environ_opts {
	const char *session, *agent, *backend; /* agent NULL: ours; backend NULL: all */
	bool loaders, supervised;
};
int gpubpf_environ(const struct gpubpf_environ_opts *o, char *const *base, char ***env, char *why, size_t size);

/* server.c */
int gpubpf_server_open(struct gpubpf_session *s);
/* Have the mirrors of devices with memory of their own copied, and wait for that a limited time. */
void gpubpf_session_fresh(struct gpubpf_session *s);
/* Does some device's memory have mirrors; are some on their way; and have all be on it anew. */
bool gpubpf_session_mirrored(const struct gpubpf_session *s);
bool gpubpf_session_pulling(const struct gpubpf_session *s);
void gpubpf_session_pull(struct gpubpf_session *s);
int gpubpf_server_poll(struct gpubpf_session *s, int timeout_ms);
void gpubpf_server_close(struct gpubpf_session *s);
struct gpubpf_peer *gpubpf_peer_find(struct gpubpf_session *s, uint64_t id);
/* NULL: it has sent no image that it calls so. */
#define GPUBPF_MAX_KNOWN 4096
#define GPUBPF_KEPT_BYTES (64u << 20) /* of images that peers need not send again */
const struct gpubpf_known_image *gpubpf_peer_known(const struct gpubpf_peer *peer, uint64_t identity);
void gpubpf_peer_forget_images(struct gpubpf_session *s, struct gpubpf_peer *peer);
int gpubpf_peer_send(struct gpubpf_peer *peer, uint16_t type, uint32_t seq, struct gpubpf_writer *w,
		     const int *fds, uint32_t nfds);

/* Are mirrors of the process on their way? */
bool gpubpf_peer_pulling(const struct gpubpf_peer *peer);

/* peer.c: handle one packet. -EPROTO: the connection must end. Takes the descriptors that it wants. */
int gpubpf_peer_message(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_packet *msg);

/* rescue.c: copy what a device's memory holds into the arena's mirror, since its process cannot: once a device. A
 * process does it, which takes as long as a GPU takes to start, some hundred milliseconds; takes the memory over. */
void gpubpf_rescue(struct gpubpf_session *s, struct gpubpf_session_device *dev);
/* The process that gpubpf_server_watch_rescue() was told of has ended. */
void gpubpf_rescue_ended(struct gpubpf_session *s);
/* Wait for all, a limited time. */
void gpubpf_rescues_finish(struct gpubpf_session *s);
int gpubpf_server_watch_rescue(struct gpubpf_session *s, int pidfd);

/*
 * placement.c. Fill in, for maps from the first one on, where they lie on a device of these capabilities, or on those that work on
 * the host's memory. -EOPNOTSUPP where the user, or the map's definition, asks for what it has not, and the reason.
 */
enum gpubpf_placement gpubpf_placed_in(const struct gpubpf_session *s, uint32_t arena, uint32_t map);
int gpubpf_placements_choose(const struct gpubpf_session *s, const struct gpubpf_unit *unit, uint32_t first, const uint32_t *map_use,
			 uint64_t caps, const char *device, uint32_t *places, struct gpubpf_diag *diag);
int gpubpf_placements_shared(const struct gpubpf_session *s, const struct gpubpf_unit *unit, uint32_t first, const uint32_t *map_use,
			 uint32_t *places, struct gpubpf_diag *diag);
/* Has a device all that maps are to lie in? */
int gpubpf_placements_check(const struct gpubpf_session *s, const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag);
/* Are there maps of the names that the user has given? -EINVAL and which there is not. */
int gpubpf_placements_named(const struct gpubpf_session *s, const struct gpubpf_unit *unit, struct gpubpf_diag *diag);
/* Where a map lies, device by device, which work on it: from *at 0 on. False after the last. */
struct gpubpf_map_memory {
	const char *device, *backend;  /* backend "": the devices that work on host memory, whichever they are */
	uint32_t process, ordinal;
	enum gpubpf_placement where;
	bool live;                     /* the host and kernels see at once what the others write */
	uint64_t bytes;
};
bool gpubpf_map_memory_next(const struct gpubpf_session *s, uint32_t map, uint32_t *at, struct gpubpf_map_memory *place);
/* What maps take in each kind of memory of a device, and what its arena is in all, with room for more. */
struct gpubpf_memory_used {
	const char *device;
	uint64_t arena, bytes[GPUBPF_PLACEMENTS];
};
bool gpubpf_memory_used_next(const struct gpubpf_session *s, uint32_t *at, struct gpubpf_memory_used *used);
/* Is what the host changes in the map there what programs of a device with memory of its own see? */
bool gpubpf_placement_reaches(const struct gpubpf_session *s, uint32_t arena, uint32_t map);
void gpubpf_placements_free(struct gpubpf_session *s);

/* arena.c: of a device, NULL: that of all which work on host memory, as much as there is of it. Index or -errno. */
int gpubpf_arena_open(struct gpubpf_session *s, uint32_t replicas, const struct gpubpf_device_caps *caps, uint64_t memory,
		      uint32_t process, struct gpubpf_diag *diag);
int gpubpf_arena_for(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_session_device *dev,
		     struct gpubpf_diag *diag);
void gpubpf_arenas_close(struct gpubpf_session *s);
/* Place what the unit has more than the layout, which becomes as gpubpf_layout_extend() says; no arena changes. */
int gpubpf_arena_lay_out(struct gpubpf_session *s, uint32_t arena, const struct gpubpf_unit *unit, const uint32_t *map_use,
			 bool prints, bool allocations, struct gpubpf_layout *layout, struct gpubpf_diag *diag);
/* The arena has the session's maps by that layout, and keeps the segments that it has gained from devices until */
void gpubpf_arena_grow(struct gpubpf_session *s, uint32_t arena, const struct gpubpf_layout *layout);
void gpubpf_arenas_give(struct gpubpf_session *s);
struct gpubpf_map_view gpubpf_arena_view(const struct gpubpf_session *s, uint32_t arena, uint32_t map);
/* The runtime of the devices that write an arena; "": of several. */
const char *gpubpf_arena_backend(const struct gpubpf_session *s, uint32_t arena);
/* Are the values of the map sums, so that those of several arenas may be added up? */
bool gpubpf_map_is_percpu(const struct gpubpf_map *map); /* a value a multiprocessor */
bool gpubpf_map_sums(const struct gpubpf_session *s, uint32_t map);
/* Add a value of such a map to another, or take it away. */
void gpubpf_sum_add(const struct gpubpf_map *map, void *sum, const void *value, size_t size, bool minus);
uint32_t gpubpf_map_index(const struct gpubpf_map *map);
/* Are its values maps or programs, which people know by name? */
static inline bool gpubpf_map_of_names(const struct gpubpf_map *map)
{
	return map->type->flags & (GPUBPF_MAP_OF_MAPS | GPUBPF_MAP_PROGS);
}
/* May the map or program of that number be an element of such a map? */
bool gpubpf_map_takes(const struct gpubpf_map *map, uint32_t number);
/* Has some arena before that one the key? scratch: gpubpf_map_scratch() bytes, a value of any of them. */
bool gpubpf_map_earlier_has(const struct gpubpf_map *map, uint32_t arena, const void *key, void *scratch);
size_t gpubpf_map_scratch(const struct gpubpf_map *map);
/* 524, ENOTSUPP, is the kernel's alone: users are told -EINVAL. */
int gpubpf_map_told(int err);

/* attach.c: links */
int gpubpf_links_open(struct gpubpf_session *s);    /* of a unit just loaded. 0 or -ENOMEM */
void gpubpf_links_close(struct gpubpf_session *s);  /* before the unit goes */
/* Tell agents what is attached, from their next launch on. */
void gpubpf_links_publish(struct gpubpf_session *s);
/* The unit in which only the programs of these links are for kernels; the others keep their index. 0 or -ENOMEM;
 * out->progs is to be freed, what it points to is not. */
int gpubpf_links_unit(const struct gpubpf_session *s, const uint32_t *links, uint32_t n, struct gpubpf_unit *out);
/* What other tools ask for; 0 or -errno with the reason in s->error. `pattern` "": as the program's section says. */
void gpubpf_links_list(const struct gpubpf_session *s, bool json, FILE *out);
/* `object`: the one that has the program; -1: the first that has one of this name. */
int gpubpf_links_attach(struct gpubpf_session *s, int object, const char *prog, const char *pattern, uint32_t *id);
int gpubpf_links_detach(struct gpubpf_session *s, uint32_t id);

/* Is a map of the unit to be filled with the application's allocations? */
bool gpubpf_maps_ask_allocations(const struct gpubpf_unit *unit);

/* reader.c: read all rings; `last`: nobody writes any more, and records that are not whole are dropped. Records read. */
uint64_t gpubpf_reader_run(struct gpubpf_session *s, bool last);
struct gpubpf_linux_record;
void gpubpf_reader_give(struct gpubpf_session *s, const struct gpubpf_linux_record *record); /* its turn has come */

/* Of a program's own use, by two underscores before its name: reports show it, and keep its records, only when asked for. */
bool gpubpf_map_hidden(const struct gpubpf_map *map);
/* Say what a process that is gone has left uncopied. */
void gpubpf_peer_lost(struct gpubpf_session *s, const struct gpubpf_peer *peer);

/* kernel_table.c */
/* launches whose counts are not in the mirror */
uint64_t gpubpf_kernel_table_uncopied(const struct gpubpf_session *s, uint32_t process, const char *backend,
				      uint32_t device);
int gpubpf_kernel_table_open(struct gpubpf_session *s);
void gpubpf_kernel_table_close(struct gpubpf_session *s);
/* Take the kernel table's rows together by kernel name, into s->stats. */
int gpubpf_kernel_table_collect(struct gpubpf_session *s);
/* What programs waited for twins, and what loading them took: all rows' sums. */
void gpubpf_kernel_table_times(const struct gpubpf_session *s, uint64_t *wait_ns, uint64_t *load_ns);
uint64_t gpubpf_kernel_table_hook_ns(const struct gpubpf_session *s);
/* Id of the kernel of that name in the session; UINT32_MAX when the table is full. */
uint32_t gpubpf_kernel_id(struct gpubpf_session *s, const char *name);
/* Its whole name, if `short` is not it. */
void gpubpf_kernel_whole(struct gpubpf_session *s, uint32_t id, const char *whole);
/* By which target its twin was made, and by which assembler of the user's its code, "" by none. */
void gpubpf_kernel_routed(struct gpubpf_session *s, uint32_t id, const char *route, const char *assembler);
/* What is known of its parameters: taken from *signature, which then is NULL, unless it is known already. */
struct gpubpf_signature;
void gpubpf_kernel_signed(struct gpubpf_session *s, uint32_t id, struct gpubpf_signature **signature);
const struct gpubpf_signature *gpubpf_kernel_signature(const struct gpubpf_session *s, uint64_t id);
const char *gpubpf_kernel_named(const struct gpubpf_session *s, uint64_t id); /* whole; "": nobody has it */
/* For people: as C++ writes it where that is asked for and it is mangled. */
const char *gpubpf_kernel_shown(struct gpubpf_session *s, uint64_t id, bool demangle);
void gpubpf_kernel_ids_free(struct gpubpf_session *s);

/* query.c */
int gpubpf_query_start(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t seq,
		       struct gpubpf_reader *r);
/* Answer the question of `peer` if the copies of maps that it waits for have come, or it has waited long enough. */
void gpubpf_query_try(struct gpubpf_session *s, struct gpubpf_peer *peer);
/* Launches that wait for the question of `peer` go on, and what it brought is freed. */
void gpubpf_query_let_go(struct gpubpf_session *s, struct gpubpf_peer *peer);
/* Answer the question for whose sake launches wait. */
void gpubpf_query_held(struct gpubpf_session *s);
/* snapshot.c: have launches wait and mirrors of one moment made. -EBUSY, told, while that is done for somebody else. */
int gpubpf_hold_begin(struct gpubpf_session *s);
/* -EAGAIN: agents have not answered; 0: the mirrors are of one moment; else why they are not, told. Asked again behind
 * what was read, it says whether launches have waited so long. */
int gpubpf_hold_check(struct gpubpf_session *s);
void gpubpf_hold_end(struct gpubpf_session *s);
/* May devices change what is read? */
bool gpubpf_session_live(const struct gpubpf_session *s);
/* element.c: one of GPUBPF_QUERY_PEEK, PUSH and POP by the words of a command line, written to `out`. -errno, told. */
int gpubpf_element_query(struct gpubpf_session *s, uint32_t what, uint32_t flags, const char *name, char *const *words,
			 uint32_t nwords, FILE *out);
/* element_keyed.c: one of GPUBPF_QUERY_LOOKUP, UPDATE, DELETE and NEXT, the same way. */
int gpubpf_keyed_query(struct gpubpf_session *s, uint32_t what, uint32_t flags, const char *name, char *const *words,
		       uint32_t nwords, FILE *out);
/* The asking side, for a tool: text to `out`, and what is to be said of it, or ""; -errno and a reason. `more` is what the query takes, and finished. */
int gpubpf_query_ask(const char *path, uint32_t what, uint32_t flags, struct gpubpf_writer *more, FILE *out,
		     char *why, size_t why_size);

#endif
