/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session's internals. One thread, the caller of gpubpf_session__poll(), owns everything here except the data that
 * core/session/twins/build_pool.h passes to the builders' threads. The session does not trust its peers. A peer's message costs at most that
 * peer's connection, and every table that a peer can fill is bounded.
 *
 * Each folder of core/session calls only itself and the folders below it in this list:
 *
 *   here        start, poll, stop; the environment of a program that joins
 *   server/     sockets and the event loop, messages of peers, queries of other tools, answers with twins, maps of one
 *               moment, maps of killed processes
 *   loaders/    bpf(2) for loaders that do not know the session
 *   objects/    the session's data, objects that are loaded or join, links
 *   report/     the report, which kernels ran and how, costs
 *   kernel_bpf/ programs for the Linux kernel, and its synchronized maps
 *   twins/      requests for twins, the threads that build them, the steps of a build, twins built before their request
 *   maps/       arenas, operations on elements, the kind of memory of each map, prints and records
 *   stacks/     host stacks of kernel launches, function symbols of a file
 *   base/       errors and notes; look-ups of peers, kernels, programs and maps
 *
 * Further headers: entries (the elements of a map), rows (values shown as tables), signature, sized (public structs
 * that grow), table (text).
 */
#ifndef GPUBPF_SESSION_SESSION_H
#define GPUBPF_SESSION_SESSION_H

#include "core/model/diag.h"
#include "core/wire/placement.h"
#include "core/model/facts.h"
#include "core/load/load.h"
#include "core/model/prog.h"
#include "gpubpf/gpubpf.h"
#include "maps/maps.h"
#include "core/wire/msg.h"

#define GPUBPF_MAX_PEERS 256
#define GPUBPF_MAX_DEVICES 64     /* of one peer */
#define GPUBPF_MAX_ARENAS 64
#define GPUBPF_BATCH_ARENA_SHIFT 56      /* bit of a batch position where the arena's index begins */
#define GPUBPF_MAX_LISTED 256     /* devices in the report */
#define GPUBPF_MAX_NOTES 256
#define GPUBPF_MAX_KERNEL_IDS 65536
#define GPUBPF_BUILD_TIMEOUT_MS 300000    /* limit of a compiler for one twin, if --wait is not longer */
#define GPUBPF_PRINT_BYTES (1u << 20)
#define GPUBPF_MAX_FUNCTION_BYTES (16u << 20) /* stored names of device functions */

struct gpubpf_bpf;
struct gpubpf_code_file;
struct gpubpf_code_map;
struct gpubpf_linux;
struct gpubpf_linux_maps;
struct gpubpf_loader_ops;
struct gpubpf_synced_ops;
struct gpubpf_builders;
struct gpubpf_rescue;
struct gpubpf_twin;

enum gpubpf_session_state {
	GPUBPF_SESSION_NEW,
	GPUBPF_SESSION_LOADED,
	GPUBPF_SESSION_STARTED,
	GPUBPF_SESSION_STOPPED,
};

/* An arena and its user: one that all devices on host memory share, or one per device. */
struct gpubpf_session_arena {
	struct gpubpf_layout layout;
	uint32_t given;            /* number of maps that devices can use: the segments in use */
	void *base;
	int fd;
	bool shared;
	bool used;                 /* a device was assigned to it */
	void *begun;               /* first values of its summed maps, in the same layout; NULL: zeros */
	uint32_t process, device;  /* of the device, unless shared */
	char backend[16];          /* the device's runtime */
	char name[96];             /* the device's name */
	uint64_t caps;             /* the device's GPUBPF_CAP_*; of a shared arena: only the bits that all devices
				    * have */
	uint32_t places[GPUBPF_MAX_MAPS]; /* where maps are: GPUBPF_LAYOUT_PLACED and LIVE */
};

/* the user's choice of memory for a map */
struct gpubpf_placement_request {
	char *map;                 /* name or glob, owned */
	int where;                 /* enum gpubpf_placement */
};

/* A device in the report: listed once, even if a process opens several contexts on it. */
struct gpubpf_listed_device {
	uint32_t process, ordinal;
	char backend[16], name[96];
};

struct gpubpf_session_device {
	uint32_t number;           /* as the agent numbers it */
	struct gpubpf_device_caps caps;
	int arena;                 /* index, or -1: it cannot be probed */
	uint64_t pull_until_ns;    /* deadline of the agent's answer to our last GPUBPF_MSG_PULL; 0: no answer is due */
	uint32_t pulls;            /* number of that message */
	bool rescued;              /* gpubpf-rescue has copied its maps, or has failed: do not try again */
	int memory_fd;               /* the device memory of its maps, to be read when the process cannot; or -1 */
	bool kept;                 /* kept_fd was set once: a second one from the agent is refused */
};

enum gpubpf_peer_kind {
	GPUBPF_PEER_NEW,           /* has not sent HELLO */
	GPUBPF_PEER_AGENT,
	GPUBPF_PEER_TOOL,
	GPUBPF_PEER_LOADER,
};

struct gpubpf_peer {
	struct gpubpf_peer *next;
	uint64_t id;               /* never reused */
	int sock;
	enum gpubpf_peer_kind kind;
	uint32_t process;          /* index in the session */
	uint32_t pid;
	char exe[256], backend[32];
	struct gpubpf_session_device *devices;
	uint32_t ndevices, nrequests;
	struct gpubpf_known_image {
		uint64_t identity; /* the peer's key for the image */
		uint8_t digest[32];
		struct gpubpf_image_copy *copy; /* NULL: the peer sends the image with each request */
	} *known;                  /* images that the peer has sent, at most GPUBPF_MAX_KNOWN */
	uint32_t nknown;
	struct gpubpf_code_map *code; /* [ncode], sorted: mapped code of the process (core/session/stacks/stacks.c) */
	uint32_t ncode;
	uint64_t unloaded;         /* `code` was read at this value; it changes when the process loads or unloads
				    * code */
	enum gpubpf_held held;     /* of an agent that received GPUBPF_MSG_HOLD */
	struct {                   /* a loader's request that waits for mirrors */
		void *data;                /* NULL: none */
		size_t size;
		uint32_t seq;
		uint64_t until_ns;
	} parked;
	struct {                   /* a tool's query that waits for mirrors */
		bool open, asked;          /* asked: the session has requested mirrors */
		bool holds;                /* launches wait until the query is answered */
		uint32_t what, flags, seq;
		char map[64];
		char **words;              /* of an element: one block, owned */
		uint32_t nwords;
		uint64_t deadline_ns;
	} query;
};

struct gpubpf_link {
	struct gpubpf_session *session;
	uint32_t id;               /* also the index of its program in the unit */
	bool attached;
	bool was_attached;         /* at any time */
	bool borrowed;             /* another link owns what its program points to */
};

/* A record stored for the report. */
struct gpubpf_stored_record {
	int map;                   /* index in the unit; -1: a print */
	const char *backend;       /* of the device; "" if several runtimes share its arena */
	uint32_t process, device, copy, size;
	uint64_t time_ns;          /* time of a record in a ring shared with the Linux kernel; 0: not known */
	struct gpubpf_print *print;
	void *data;
};

struct gpubpf_session {
	enum gpubpf_session_state state;
	struct gpubpf_session_opts opts;   /* strings owned */
	char error[4096];
	struct gpubpf_diag refusal;        /* of load(); GPUBPF_OK: none */

	char **paths;
	struct gpubpf_load_image *images;  /* [npaths], data owned; NULL: read from the path */
	struct gpubpf_load_value *values;  /* all owned */
	uint32_t nvalues;
	struct gpubpf_attach *attach;
	struct gpubpf_placement_request *places;
	uint32_t npaths, nattach, nplaces;
	char *assembler;                   /* The user's assembler, which builds machine code from the text of twins.
					    * Line 1 is its path; line 2 identifies its build, since results depend
					    * on it. NULL: no assembler, or it is disabled. */
	struct gpubpf_loaded *loaded;
	/* Only for the conformance tool: each program runs in one thread, and the map of its number holds its memory
	 * and r0 (struct gpubpf_run). CHECKED: the program is not verified, so each access is checked at run time. */
	enum gpubpf_session_raw { GPUBPF_RAW_NONE, GPUBPF_RAW_PROVEN, GPUBPF_RAW_CHECKED } raw;
	struct gpubpf_linux **linux_progs; /* [nlinux_progs], by object; NULL: the object has no program in the
					    * kernel */
	uint32_t nlinux_progs;
	struct gpubpf_linux_maps *linux_maps; /* NULL: none */
	const struct gpubpf_synced_ops *synced_ops; /* core/session/maps/synced.h; NULL: no map is synchronized */
	struct gpubpf_link *links;         /* [unit.nprogs]. links and unit.progs have room for GPUBPF_PLAN_LINKS;
					    * unit.maps and the arrays per map below have room for GPUBPF_MAX_MAPS */
	uint64_t plan;                     /* generation of the attached links, even */
	uint32_t *map_use;                 /* union over all programs */
	bool has_rings;
	bool print_ring;
	bool allocations;              /* a program reads the table of allocations, or a map receives them */

	struct gpubpf_session_arena arenas[GPUBPF_MAX_ARENAS];
	uint32_t narenas;

	char dir[256], path[280];
	int listener, epoll, wake, timer;  /* wake: eventfd, set when a builder has finished */
	int spare;                         /* a descriptor to close when the process has no more */
	uint64_t interval_ns;              /* of the timer */
	struct gpubpf_peer *peers;
	uint32_t npeers, nprocesses, ndevices;
	struct gpubpf_listed_device *listed; /* [nlisted] */
	uint32_t nlisted;
	struct gpubpf_rescue *rescues;     /* the first one runs */
	uint64_t next_peer;
	uint64_t mirrored_ns;                 /* when mirrors last arrived for loaders */
	uint64_t held_ns;                  /* since when launches wait for a reader of the maps; 0: they do not wait */
	enum gpubpf_moment {
		GPUBPF_MOMENT_UNKNOWN,      /* of other reports */
		GPUBPF_MOMENT_LIVE,        /* kernels may have run during the read */
		GPUBPF_MOMENT_SNAPSHOT,
	} moment;                          /* which moment the current dump shows */
	bool enabled;
	bool loaders;                      /* programs that join may be loaders: libgpubpf-bpf.so is preloaded,
					    * unless supervised */
	bool supervised;                   /* a supervisor sees all their calls */
	void *buffer;                      /* of GPUBPF_MSG_BUF bytes */

	struct gpubpf_kernel_table *table;
	int table_fd;
	struct gpubpf_kernel_name {
		uint32_t id;
		char text[256];            /* the short name, which the agent counts by */
		char *whole, *plain;       /* the whole name, if it is longer; the demangled name, once requested */
		const char *route;         /* the target that built its twin; NULL: none */
		char assembler[32];        /* the assembler that built machine code from the twin's text; "": none */
		struct gpubpf_signature *signature; /* NULL: not known */
	} **kernel_ids;                    /* by id */
	uint32_t nkernel_ids;
	void *kernel_names;                /* the same by name, for tsearch(3) */
	char shared_backend[16];           /* the runtime of all devices on host memory; "" if there are several */
	bool shared_mixed;
	struct gpubpf_kernel_stats *stats; /* cache of gpubpf_session__kernel() */
	struct gpubpf_missed *missed;      /* core/session/report/missed.h: one per element of stats */
	uint32_t nstats;

	struct gpubpf_bpf *bpf;            /* objects that loaders created; NULL: none */
	const struct gpubpf_loader_ops *loader_ops; /* core/session/base/loader_ops.h; NULL: no loader reads records */
	struct gpubpf_builders *makers;
	uint32_t pending;
	uint64_t retained_bytes;               /* bytes of images that peers need not send again */
	struct gpubpf_cost_stats cost;
	struct gpubpf_verdict {            /* facts about a kernel from its image */
		char name[256];
		char reason[240];          /* inspect: why it cannot be probed, or "" */
		bool entry_only;           /* the reason concerns its exit only */
		const char *route;         /* the target that accepts it; NULL: none */
		char instead[240];         /* why a preferred target does not; "": no reason */
		char *functions;           /* functions that it calls (core/session/twins/called_functions.h); NULL: not known */
		uint8_t named[GPUBPF_PLAN_LINKS / 8]; /* programs that have a place in it */
		struct gpubpf_twin *twin;  /* inspect: the twin that owns places[], or NULL */
		const struct gpubpf_place *places;
		uint32_t nplaces;
	} *verdicts;
	uint32_t nverdicts;
	size_t function_bytes;             /* of all verdicts */

	struct gpubpf_stacks *stacks;      /* host stacks of kernel launches */
	struct gpubpf_code_file *code_files; /* [ncode_files] that contain their addresses */
	uint32_t ncode_files;
	char stack_text[1024];             /* the last stack that gpubpf_session_names() formatted */

	struct gpubpf_stored_record *kept;
	uint64_t nkept, nrecords;          /* nrecords also counts records after the limit */
	uint64_t *map_records;             /* [nmaps]: records read from rings */
	bool *map_set;                     /* [nmaps]: an update has changed the map */
	char **notes;
	uint32_t nnotes;
};

/* core/session/objects/load.c: free the strings of a value. */
void gpubpf_load_value_finish(struct gpubpf_load_value *value);

/* core/session/objects/session_data.c: gpubpf_session__new() and gpubpf_session__free() for a session that never starts. */
struct gpubpf_session *gpubpf_session_create(const struct gpubpf_session_opts *opts);
void gpubpf_session_destroy(struct gpubpf_session *s);

/* core/session/base/status.c */
uint32_t gpubpf_session_build_ms(const struct gpubpf_session *s);
int gpubpf_session_fail(struct gpubpf_session *s, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int gpubpf_session_refuse(struct gpubpf_session *s, int err, const struct gpubpf_diag *diag);
/* Report a note to the user; each text once, bounded in number. */
void gpubpf_session_note(struct gpubpf_session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
uint64_t gpubpf_now_ns(void);

/* core/session/objects/load.c. Put a loaded unit into a new session, which owns it from then on. */
int gpubpf_session_adopt_unit(struct gpubpf_session *s, struct gpubpf_loaded *loaded, struct gpubpf_diag *diag);
/* Verify all programs of the unit from index `first` on. If one fails, none may run. */
int gpubpf_session_verify(struct gpubpf_session *s, struct gpubpf_unit *unit, uint32_t first, struct gpubpf_diag *diag);

/* core/session/kernel_bpf/progs.c. 0 or -ENOMEM. Afterwards maps of the unit may be arrays of the kernel. */
int gpubpf_linux_progs_load(struct gpubpf_session *s);
void gpubpf_linux_progs_sync_maps(struct gpubpf_session *s); /* synchronize their other maps (core/session/kernel_bpf/kernel_maps.c) */
void gpubpf_linux_progs_attach(struct gpubpf_session *s);
void gpubpf_linux_progs_detach(struct gpubpf_session *s);
void gpubpf_linux_progs_close(struct gpubpf_session *s);
/* core/session/maps/kernel_arrays.c. Map the kernel's arrays, from map `first` on, into our arena, and into an agent's arena if that is the same
 * memory. */
int gpubpf_linux_map_pages(struct gpubpf_session *s, const struct gpubpf_session_arena *a, uint32_t first);
int gpubpf_linux_share(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t first);
void gpubpf_linux_share_all(struct gpubpf_session *s, uint32_t first); /* with all agents that have that arena */

/* core/session/objects/join.c, after load. The object's index, or that of an earlier object with the same bytes, or -errno with the reason
 * in s->error. */
int gpubpf_session_join_object(struct gpubpf_session *s, const char *path);
/* The same for one object that is already loaded. A map with at[] -1 becomes a new map of the session, and at[] returns
 * its number. A map with another at[] is the session's map of that number. use[] holds what programs outside the object
 * do to each map. On success the function frees `more`. */
int gpubpf_session_join_loaded(struct gpubpf_session *s, struct gpubpf_loaded *more, int32_t *at, const uint32_t *use,
			       struct gpubpf_diag *diag);

/* core/session/server/runtime_dir.c: create and check the folder for sockets. 0 or -errno with the reason in s->error. */
int gpubpf_session_dir(struct gpubpf_session *s);
/* Write the path of the newest session's socket in `dir` (NULL: default) to buf. Returns the number of sessions, or
 * -ENOENT. */
int gpubpf_newest_session(const char *dir, char *buf, size_t size);

/* environ.c: build the environment of a program that joins the session at that socket. *env is one block. 0 or -errno;
 * `why` holds the reason, except for -ENOMEM. */
struct gpubpf_environ_opts {
	const char *session, *agent, *backend; /* agent NULL: the installed one. backend NULL: all */
	bool loaders, supervised;
};
int gpubpf_environ(const struct gpubpf_environ_opts *o, char *const *base, char ***env, char *why, size_t size);

/* core/session/base/programs.c. Make a copy of the unit in which only the programs of these links match kernels; all keep their index. 0 or -ENOMEM.
 * The caller frees out->progs, but not the data that it points to. */
int gpubpf_links_make_unit(const struct gpubpf_session *s, const uint32_t *links, uint32_t n, struct gpubpf_unit *out);

/* core/session/base/peers.c */
struct gpubpf_peer *gpubpf_peer_find(struct gpubpf_session *s, uint64_t id);
/* The image that the peer sent under that key; NULL: none. */
#define GPUBPF_MAX_KNOWN 4096
#define GPUBPF_MAX_RETAINED_BYTES (64u << 20) /* of images that peers need not send again */
const struct gpubpf_known_image *gpubpf_peer_known(const struct gpubpf_peer *peer, uint64_t identity);
int gpubpf_peer_send(struct gpubpf_peer *peer, uint16_t type, uint32_t seq, struct gpubpf_writer *w,
		     const int *fds, uint32_t nfds);

/* core/session/base/mirrors.c. Does a device have mirrors? Are mirrors being copied? Start a new copy of all. */
bool gpubpf_session_has_mirrors(const struct gpubpf_session *s);
bool gpubpf_session_is_pulling(const struct gpubpf_session *s);
void gpubpf_session_pull_mirrors(struct gpubpf_session *s);
/* Are mirrors of the process being copied? */
bool gpubpf_peer_is_pulling(const struct gpubpf_peer *peer);
/* Request the mirrors of a process's devices, if the devices have their own memory. all: of every such device, for
 * readers of any map. Otherwise only of devices whose agent does not drain rings. anew: even if an answer is due, since
 * that may be a copy that has already begun. */
void gpubpf_peer_pull_mirrors(struct gpubpf_session *s, struct gpubpf_peer *peer, bool all, bool anew);

/* core/session/server/server.c */
int gpubpf_server_open(struct gpubpf_session *s);
/* Copy the mirrors of devices with memory of their own, and wait for them for a limited time. */
void gpubpf_session_refresh_mirrors(struct gpubpf_session *s);
int gpubpf_server_poll(struct gpubpf_session *s, int timeout_ms);
void gpubpf_server_close(struct gpubpf_session *s);
void gpubpf_peer_forget_images(struct gpubpf_session *s, struct gpubpf_peer *peer);
/* core/session/server/peer.c: handle one packet. -EPROTO: the connection must end. Takes over the descriptors that it uses. */
int gpubpf_peer_message(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_packet *msg);

/* core/session/server/rescue.c: copy a device's memory into the arena's mirror when its process cannot, once per device. A helper process
 * does it; it takes as long as a GPU takes to start, some hundred milliseconds. The function takes the memory over. */
void gpubpf_rescue(struct gpubpf_session *s, struct gpubpf_session_device *dev);
/* The process that gpubpf_server_watch_rescue() watches has ended. */
void gpubpf_rescue_ended(struct gpubpf_session *s);
/* Wait for all of them, for a limited time. */
void gpubpf_rescues_finish(struct gpubpf_session *s);
int gpubpf_server_watch_rescue(struct gpubpf_session *s, int pidfd);

/*
 * core/session/maps/placement.c. Choose where each map from `first` on is: on a device with these capabilities, or for all devices on
 * host memory. If the user or the map's definition requests a memory that the device lacks: -EOPNOTSUPP, with the
 * reason in *diag.
 */
enum gpubpf_placement gpubpf_map_placement(const struct gpubpf_session *s, uint32_t arena, uint32_t map);
int gpubpf_placements_choose(const struct gpubpf_session *s, const struct gpubpf_unit *unit, uint32_t first, const uint32_t *map_use,
			 uint64_t caps, const char *device, uint32_t *places, struct gpubpf_diag *diag);
int gpubpf_placements_shared(const struct gpubpf_session *s, const struct gpubpf_unit *unit, uint32_t first, const uint32_t *map_use,
			 uint32_t *places, struct gpubpf_diag *diag);
/* Does the device have all kinds of memory that the maps need? */
int gpubpf_placements_check(const struct gpubpf_session *s, const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag);
/* Does the session have a map for each name that the user specified? -EINVAL and the name that matches no map. */
int gpubpf_placements_check_names(const struct gpubpf_session *s, const struct gpubpf_unit *unit, struct gpubpf_diag *diag);
/* Iterate over the memories of a map, one per device or arena, from *at 0 on. False after the last. */
struct gpubpf_map_memory {
	const char *device, *backend;  /* backend "": all devices on host memory */
	uint32_t process, ordinal;
	enum gpubpf_placement where;
	bool live;                     /* host and kernels see each other's writes at once */
	uint64_t bytes;
};
bool gpubpf_map_memory_next(const struct gpubpf_session *s, uint32_t map, uint32_t *at, struct gpubpf_map_memory *place);
/* Bytes that maps take in each kind of memory of a device, and the size of its arena including spare room. */
struct gpubpf_memory_used {
	const char *device;
	uint64_t arena, bytes[GPUBPF_PLACEMENTS];
};
bool gpubpf_memory_used_next(const struct gpubpf_session *s, uint32_t *at, struct gpubpf_memory_used *used);
/* Do programs on a device see what the host changes in the map there? The device has its own memory. */
bool gpubpf_placement_sees_host_writes(const struct gpubpf_session *s, uint32_t arena, uint32_t map);
void gpubpf_placements_free(struct gpubpf_session *s);

/* core/session/maps/arena.c: open the arena of a device, or (caps NULL) the one of all devices on host memory. `memory` is the size of
 * that memory. Index or -errno. */
int gpubpf_arena_open(struct gpubpf_session *s, uint32_t replicas, const struct gpubpf_device_caps *caps, uint64_t memory,
		      uint32_t process, struct gpubpf_diag *diag);
int gpubpf_arena_assign(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_session_device *dev,
		     struct gpubpf_diag *diag);
void gpubpf_arenas_close(struct gpubpf_session *s);
/* Place the maps that the unit has beyond the layout, which changes as gpubpf_layout_extend() says. No arena
 * changes. */
int gpubpf_arena_lay_out(struct gpubpf_session *s, uint32_t arena, const struct gpubpf_unit *unit, const uint32_t *map_use,
			 bool prints, bool allocations, struct gpubpf_layout *layout, struct gpubpf_diag *diag);
/* Install that layout, with the session's maps. Devices cannot use the new segments before gpubpf_arenas_activate(). */
void gpubpf_arena_grow(struct gpubpf_session *s, uint32_t arena, const struct gpubpf_layout *layout);
void gpubpf_arenas_activate(struct gpubpf_session *s);
struct gpubpf_map_view gpubpf_arena_view(const struct gpubpf_session *s, uint32_t arena, uint32_t map);
/* The runtime of the devices that write an arena; "": several. */
const char *gpubpf_arena_backend(const struct gpubpf_session *s, uint32_t arena);
/* Are the values of the map sums? Then readers add up the values of several arenas. */
bool gpubpf_map_is_percpu(const struct gpubpf_map *map); /* one value per multiprocessor */
bool gpubpf_map_is_summed(const struct gpubpf_session *s, uint32_t map);
/* Add a value of such a map to another, or subtract it. */
void gpubpf_sum_add(const struct gpubpf_map *map, void *sum, const void *value, size_t size, bool minus);
uint32_t gpubpf_map_index(const struct gpubpf_map *map);
/* Are its values maps or programs, which reports show by name? */
static inline bool gpubpf_map_holds_objects(const struct gpubpf_map *map)
{
	return map->type->flags & (GPUBPF_MAP_OF_MAPS | GPUBPF_MAP_PROGS);
}
/* May the map or program with that number be an element of such a map? */
bool gpubpf_map_accepts_element(const struct gpubpf_map *map, uint32_t number);
/* Does an earlier arena have the key? scratch: gpubpf_map_scratch_size() bytes, room for a value of any arena. */
bool gpubpf_map_has_in_earlier_arena(const struct gpubpf_map *map, uint32_t arena, const void *key, void *scratch);
size_t gpubpf_map_scratch_size(const struct gpubpf_map *map);
/* 524 (ENOTSUPP) is internal to the Linux kernel: return -EINVAL to users. */
int gpubpf_map_user_error(int err);

/* core/session/objects/attach.c: links */
int gpubpf_links_open(struct gpubpf_session *s);    /* of a unit just loaded. 0 or -ENOMEM */
void gpubpf_links_close(struct gpubpf_session *s);  /* before the unit is freed */
/* Publish the attached links to the agents, which use them from their next launch on. */
void gpubpf_links_publish(struct gpubpf_session *s);
/* The operations for other tools: 0 or -errno with the reason in s->error. `pattern` "": the one of the program's
 * section. */
void gpubpf_links_list(const struct gpubpf_session *s, bool json, FILE *out);
/* `object`: number of the object with the program, or -1: the first object with a program of that name. */
int gpubpf_links_attach(struct gpubpf_session *s, int object, const char *prog, const char *pattern, uint32_t *id);
int gpubpf_links_detach(struct gpubpf_session *s, uint32_t id);

/* Does a map of the unit receive the application's allocations? */
bool gpubpf_maps_need_allocations(const struct gpubpf_unit *unit);

/* core/session/maps/reader.c: read all rings, and return the number of records. `last`: all writers have ended, so incomplete records are
 * dropped. */
uint64_t gpubpf_reader_run(struct gpubpf_session *s, bool last);
struct gpubpf_linux_record;
/* deliver a record whose turn has come */
void gpubpf_reader_deliver(struct gpubpf_session *s, const struct gpubpf_linux_record *record);

/* Is it a program's internal map, with two underscores before its name? Reports show it, and store its records, only on
 * request. */
bool gpubpf_map_is_internal(const struct gpubpf_map *map);
/* Report which maps of a process that has ended were not copied. */
void gpubpf_peer_note_lost_counts(struct gpubpf_session *s, const struct gpubpf_peer *peer);

/* core/session/report/kernel_table.c */
/* Launches whose counts are not in the mirror. */
uint64_t gpubpf_kernel_table_uncopied(const struct gpubpf_session *s, uint32_t process, const char *backend,
				      uint32_t device);
int gpubpf_kernel_table_open(struct gpubpf_session *s);
void gpubpf_kernel_table_close(struct gpubpf_session *s);
/* Collect the kernel table's rows by kernel name into s->stats. */
int gpubpf_kernel_table_collect(struct gpubpf_session *s);
/* The sums over all rows: time that programs waited for twins, and time to load them. */
void gpubpf_kernel_table_times(const struct gpubpf_session *s, uint64_t *wait_ns, uint64_t *load_ns);
uint64_t gpubpf_kernel_table_hook_ns(const struct gpubpf_session *s);
/* Id of the kernel with that name in the session; UINT32_MAX when the table is full. */
uint32_t gpubpf_kernel_id(struct gpubpf_session *s, const char *name);
/* Store the kernel's whole name, if its short name is truncated. */
void gpubpf_kernel_set_full_name(struct gpubpf_session *s, uint32_t id, const char *whole);
/* Store the target that built its twin, and the user's assembler that built its code; "": none. */
void gpubpf_kernel_set_route(struct gpubpf_session *s, uint32_t id, const char *route, const char *assembler);
/* Store the kernel's parameters: takes *signature over and sets it to NULL, unless the kernel has a signature
 * already. */
struct gpubpf_signature;
void gpubpf_kernel_set_signature(struct gpubpf_session *s, uint32_t id, struct gpubpf_signature **signature);
const struct gpubpf_signature *gpubpf_kernel_signature(const struct gpubpf_session *s, uint64_t id);
/* the whole name; "": no kernel has that id */
const char *gpubpf_kernel_full_name(const struct gpubpf_session *s, uint64_t id);
/* The name for people: demangled as C++ if requested. */
const char *gpubpf_kernel_display_name(struct gpubpf_session *s, uint64_t id, bool demangle);
void gpubpf_kernel_ids_free(struct gpubpf_session *s);

/* core/session/server/twin_answers.c: answer the finished requests for twins. Returns their number. */
int gpubpf_twins_answer(struct gpubpf_session *s);

/* core/session/server/query.c */
int gpubpf_query_start(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t seq,
		       struct gpubpf_reader *r);
/* Answer the peer's query if the mirrors that it waits for have arrived, or its deadline has passed. */
void gpubpf_query_try_answer(struct gpubpf_session *s, struct gpubpf_peer *peer);
/* End the wait of launches for the peer's query, and free the query. */
void gpubpf_query_release(struct gpubpf_session *s, struct gpubpf_peer *peer);
/* Answer the query that launches wait for. */
void gpubpf_query_answer_held(struct gpubpf_session *s);
/* core/session/server/snapshot.c: hold launches and request mirrors of one moment. -EBUSY with the reason in s->error while another query
 * does so. */
int gpubpf_hold_begin(struct gpubpf_session *s);
/* -EAGAIN: agents have not answered. 0: the mirrors show one moment. Else -errno with the reason in s->error. A second
 * call after the read checks that launches were held until then. */
int gpubpf_hold_check(struct gpubpf_session *s);
void gpubpf_hold_end(struct gpubpf_session *s);
/* Can devices change the maps during the read? */
bool gpubpf_session_is_live(const struct gpubpf_session *s);
/* core/session/maps/element.c: run GPUBPF_QUERY_PEEK, PUSH or POP with the words of a command line, and write the result to `out`. On
 * failure: -errno with the reason in s->error. */
int gpubpf_element_query(struct gpubpf_session *s, uint32_t what, uint32_t flags, const char *name, char *const *words,
			 uint32_t nwords, FILE *out);
/* core/session/maps/element_keyed.c: run GPUBPF_QUERY_LOOKUP, UPDATE, DELETE or NEXT, the same way. */
int gpubpf_keyed_query(struct gpubpf_session *s, uint32_t what, uint32_t flags, const char *name, char *const *words,
		       uint32_t nwords, FILE *out);
/* The client side, for a tool: write the answer's text to `out`, and its remark, or "", to `why`. -errno and the reason
 * in `why`. `more` holds the query's further arguments; the function frees it. */
int gpubpf_query_request(const char *path, uint32_t what, uint32_t flags, struct gpubpf_writer *more, FILE *out,
		     char *why, size_t why_size);

#endif
