/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session's internals. One thread, the caller of gpubpf_session__poll(), owns all data of the session except what
 * core/session/twins/build_pool.h passes to the builders' threads. The session does not trust its peers. An invalid
 * message ends only the connection of the peer that sent it, and every table that a peer can fill is bounded.
 *
 * Each folder of core/session calls only itself and the folders below it in this list:
 *
 *   here        start, poll, stop; the environment of a program that joins
 *   server/     sockets and the event loop, messages of peers, queries of other tools, answers with twins, snapshots
 *               of maps, rescue of the maps of killed processes
 *   loaders/    bpf(2) for loaders that do not know the session
 *   objects/    the session's data, objects that are loaded or join, links
 *   report/     the report, which kernels ran and how, costs
 *   kernel_bpf/ programs for the Linux kernel, and its synchronized maps
 *   twins/      requests for twins, the threads that build them, the steps of a build, twins built before their request
 *   maps/       arenas, operations on elements, the kind of memory of each map, prints and records
 *   stacks/     host stacks of kernel launches, function symbols of a file
 *   base/       errors and notes; look-ups of peers, kernels, programs and maps
 *
 * Further headers: core/session/maps/entries.h (the elements of a map), core/session/report/rows.h (values shown as
 * tables), core/session/report/table.h (text tables), core/session/base/signature.h (a kernel's parameters),
 * core/session/base/sized.h (public structs that grow).
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
#define GPUBPF_MAX_DEVICES 64     /* maximum devices of one peer */
#define GPUBPF_MAX_ARENAS 64
#define GPUBPF_BATCH_ARENA_SHIFT 56      /* bit of a batch position where the arena's index begins */
#define GPUBPF_MAX_LISTED 256     /* maximum devices in the report */
#define GPUBPF_MAX_NOTES 256
#define GPUBPF_MAX_KERNEL_IDS 65536
#define GPUBPF_BUILD_TIMEOUT_MS 300000    /* limit of a compiler for one twin, if --wait is not longer */
#define GPUBPF_PRINT_BYTES (1u << 20)
#define GPUBPF_MAX_FUNCTION_BYTES (16u << 20) /* maximum bytes of stored names of device functions, over all kernels */

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
	uint32_t nactive_maps; /* number of maps in the segments that devices can use; later maps are laid
					   * out but not activated */
	void *base;
	int fd;
	bool shared;
	bool used;                /* a device was assigned to it */
	void *initial;            /* values of summed maps when the device joined, in the same layout, which readers
				    * subtract; NULL: all zeros */
	uint32_t process, device; /* the device's process and number, unless shared */
	char backend[16];         /* the device's runtime */
	char name[96];            /* the device's name */
	uint64_t caps;            /* the device's GPUBPF_CAP_*; of a shared arena: only the bits that all devices
				    * have */
	uint32_t places[GPUBPF_MAX_MAPS]; /* the memory of each map: bits of GPUBPF_LAYOUT_PLACED, and
					   * GPUBPF_LAYOUT_LIVE */
};

/* the user's choice of memory for a map */
struct gpubpf_placement_request {
	char *map; /* name or glob, owned */
	int where; /* enum gpubpf_placement */
};

/* A device in the report: listed once, even if a process opens several contexts on it. */
struct gpubpf_listed_device {
	uint32_t process, ordinal;
	char backend[16], name[96];
};

struct gpubpf_session_device {
	uint32_t number; /* the agent's number for the device */
	struct gpubpf_device_caps caps;
	int arena;              /* index in arenas[], or -1: the device cannot be probed */
	uint64_t pull_until_ns; /* deadline of the agent's answer to our last GPUBPF_MSG_PULL; 0: no answer is due */
	uint32_t pulls;         /* number of the last GPUBPF_MSG_PULL */
	bool rescued;           /* gpubpf-rescue has copied its maps or has failed, so it does not run again */
	int memory_fd;          /* device memory of its maps, from which the session rescues them if the process
				      * cannot copy them; or -1 */
	bool had_memory_fd;     /* memory_fd was set once: the session refuses another from the agent */
};

enum gpubpf_peer_kind {
	GPUBPF_PEER_NEW, /* has not sent HELLO */
	GPUBPF_PEER_AGENT,
	GPUBPF_PEER_TOOL,
	GPUBPF_PEER_LOADER,
};

struct gpubpf_peer {
	struct gpubpf_peer *next;
	uint64_t id; /* never reused */
	int sock;
	enum gpubpf_peer_kind kind;
	uint32_t process; /* index in the session */
	uint32_t pid;
	char exe[256], backend[32];
	struct gpubpf_session_device *devices;
	uint32_t ndevices, nrequests;
	struct gpubpf_known_image {
		uint64_t identity; /* the peer's key for the image */
		uint8_t digest[32];
		struct gpubpf_image_copy *copy; /* NULL: the peer sends the image with each request */
	} *known;                               /* [nknown] images that the peer has sent, at most GPUBPF_MAX_KNOWN */
	uint32_t nknown;
	struct gpubpf_code_map *code; /* [ncode], sorted: mapped code of the process (core/session/stacks/stacks.c) */
	uint32_t ncode;
	uint64_t code_generation; /* the agent's generation of loaded code files (GPUBPF_MSG_STACK) when the
					   * session read `code` */
	enum gpubpf_held held;    /* an agent's answer to the last GPUBPF_MSG_HOLD */
	struct {                  /* a loader's request that waits for mirrors */
		void *data;       /* NULL: none */
		size_t size;
		uint32_t seq;
		uint64_t until_ns;
	} parked;
	struct {                              /* a tool's query that waits for mirrors */
		bool open, mirrors_requested; /* asked: the session has requested mirrors */
		bool holds_launches;          /* launches wait until the query is answered */
		uint32_t what, flags, seq;
		char map[64];
		char **words; /* words of the command line for an element, in one owned block */
		uint32_t nwords;
		uint64_t deadline_ns;
	} query;
};

struct gpubpf_link {
	struct gpubpf_session *session;
	uint32_t id; /* also the index of its program in the unit */
	bool attached;
	bool was_attached; /* it was attached at some time */
	bool borrowed;     /* another link's program owns the data that this link's program points to */
};

/* A record stored for the report. */
struct gpubpf_stored_record {
	int map;             /* index of the ring in the unit; -1: the print ring */
	const char *backend; /* runtime of the device; "" if several runtimes share its arena */
	uint32_t process, device, copy, size;
	uint64_t time_ns; /* the record's time, if its ring is synchronized with the Linux kernel's; 0: not
				    * known */
	struct gpubpf_print *print;
	void *data;
};

struct gpubpf_session {
	enum gpubpf_session_state state;
	struct gpubpf_session_opts opts; /* strings owned */
	char error[4096];
	struct gpubpf_diag refusal; /* why gpubpf_session__load() failed; code GPUBPF_OK: it did not */

	char **paths;
	struct gpubpf_load_image *images; /* [npaths], data owned; NULL: read from the path */
	struct gpubpf_load_value *values; /* all owned */
	uint32_t nvalues;
	struct gpubpf_attach *attach;
	struct gpubpf_placement_request *places;
	uint32_t npaths, nattach, nplaces;
	char *assembler; /* The user's assembler, which builds machine code from the text of twins.
					    * Line 1 is its path; line 2 identifies its build, since results depend
					    * on it. NULL: no assembler, or it is disabled. */
	struct gpubpf_loaded *loaded;
	/* Only for the conformance tool: each program runs in one thread, and the map with the program's index holds
	 * its memory and r0 (struct gpubpf_run). CHECKED: the program is not verified, so each access is checked at run
	 * time. */
	enum gpubpf_session_raw { GPUBPF_RAW_NONE, GPUBPF_RAW_PROVEN, GPUBPF_RAW_CHECKED } raw;
	struct gpubpf_linux **linux_progs; /* [nlinux_progs], by object; NULL: the object has no program in the
					    * kernel */
	uint32_t nlinux_progs;
	struct gpubpf_linux_maps *linux_maps;       /* NULL: none */
	const struct gpubpf_synced_ops *synced_ops; /* core/session/maps/synced.h; NULL: no map is synchronized */
	struct gpubpf_link *links; /* [unit.nprogs]. links and unit.progs have room for GPUBPF_PLAN_LINKS;
					    * unit.maps and the arrays per map below have room for GPUBPF_MAX_MAPS */
	uint64_t plan;             /* generation of the attached links, even */
	uint32_t *map_use;         /* union over all programs */
	bool has_rings;
	bool print_ring;
	bool allocations; /* a program reads the application's allocations, or a map receives them */

	struct gpubpf_session_arena arenas[GPUBPF_MAX_ARENAS];
	uint32_t narenas;

	char dir[256], path[280];
	int listener, epoll, wake, timer; /* wake: an eventfd that a builder writes when it has finished a request */
	int spare;                        /* an open descriptor: the session closes it to accept a connection when the
					    * process has no free descriptor */
	uint64_t interval_ns;             /* period of the timer that reads rings; 0: off */
	struct gpubpf_peer *peers;
	uint32_t npeers, nprocesses, ndevices;
	struct gpubpf_listed_device *listed; /* [nlisted] */
	uint32_t nlisted;
	struct gpubpf_rescue *rescues; /* queue of rescues; only the first one runs */
	uint64_t next_peer;
	uint64_t mirrored_ns;   /* time when mirrors last arrived for loaders */
	uint64_t hold_start_ns; /* time since which launches wait until a reader has read the maps; 0:
						  * they do not wait */
	enum gpubpf_moment {
		GPUBPF_MOMENT_UNKNOWN, /* in reports other than dumps */
		GPUBPF_MOMENT_LIVE,    /* kernels may have run during the read */
		GPUBPF_MOMENT_SNAPSHOT,
	} moment; /* does the current dump show the maps at one moment? */
	bool enabled;
	bool loaders;    /* programs that join may be loaders: libgpubpf-bpf.so is preloaded,
					    * unless supervised */
	bool supervised; /* a supervisor sees all system calls of programs that join */
	void *buffer;    /* receive buffer of GPUBPF_MSG_BUF bytes */

	struct gpubpf_kernel_table *table;
	int table_fd;
	struct gpubpf_kernel_name {
		uint32_t id;
		char text[256];      /* the short name, under which agents count launches */
		char *whole, *plain; /* whole: the whole name, if it is longer than the short one. plain: the
					    * demangled name, once a report has requested it */
		const char *route;   /* the target that built its twin; NULL: none */
		char assembler[32];  /* the assembler that built machine code from the twin's text; "": none */
		struct gpubpf_signature *signature; /* NULL: not known */
	} **kernel_ids;                             /* [nkernel_ids], indexed by id */
	uint32_t nkernel_ids;
	void *kernel_names;      /* the same names as a tree for tsearch(3) */
	char shared_backend[16]; /* the runtime of all devices on host memory; "" if there are several */
	bool shared_mixed;
	struct gpubpf_kernel_stats *stats; /* cache of gpubpf_session__kernel() */
	struct gpubpf_missed *missed;      /* core/session/report/missed.h: one per element of stats */
	uint32_t nstats;

	struct gpubpf_bpf *bpf;                     /* objects that loaders created; NULL: none */
	const struct gpubpf_loader_ops *loader_ops; /* core/session/base/loader_ops.h; NULL: no loader reads records */
	struct gpubpf_builders *builders;
	uint32_t pending;
	uint64_t retained_bytes; /* bytes of images that the session keeps, so that peers need not send
						* them again */
	struct gpubpf_cost_stats cost;
	struct gpubpf_verdict { /* facts about a kernel from its image */
		char name[256];
		char reason[240];  /* inspect: why it cannot be probed, or "" */
		bool entry_only;   /* the reason concerns only its exit: its entry can be probed */
		const char *route; /* the target that accepts it; NULL: none */
		char instead[240]; /* why a preferred target does not accept it; "": no reason */
		char *functions; /* functions that it calls (core/session/twins/called_functions.h); NULL: not known */
		uint8_t named[GPUBPF_PLAN_LINKS / 8]; /* bitmap of programs (by index in the unit) that have a place in
						       * the kernel */
		struct gpubpf_twin *twin;             /* inspect: the twin that owns places[], or NULL */
		const struct gpubpf_place *places;
		uint32_t nplaces;
	} *verdicts;
	uint32_t nverdicts;
	size_t function_bytes; /* of all verdicts */

	struct gpubpf_stacks *stacks;        /* host stacks of kernel launches */
	struct gpubpf_code_file *code_files; /* [ncode_files]: files that contain addresses of these stacks */
	uint32_t ncode_files;
	char stack_text[1024]; /* the last stack that gpubpf_session_names() formatted */

	struct gpubpf_stored_record *stored;
	uint64_t nstored, nrecords; /* nrecords also counts records after the limit */
	uint64_t *map_records;      /* [nmaps]: records read from rings */
	bool *map_set;              /* [nmaps]: an update has changed the map */
	char **notes;
	uint32_t nnotes;
};

/* core/session/objects/load.c: frees the strings of a value. */
void gpubpf_load_value_finish(struct gpubpf_load_value *value);

/* core/session/objects/session_data.c: gpubpf_session__new() and gpubpf_session__free() for a session that never starts. */
struct gpubpf_session *gpubpf_session_create(const struct gpubpf_session_opts *opts);
void gpubpf_session_destroy(struct gpubpf_session *s);

/* core/session/base/status.c */
uint32_t gpubpf_session_build_ms(const struct gpubpf_session *s);
int gpubpf_session_fail(struct gpubpf_session *s, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int gpubpf_session_refuse(struct gpubpf_session *s, int err, const struct gpubpf_diag *diag);
/* Report a note to the user: each text once, and at most GPUBPF_MAX_NOTES notes. */
void gpubpf_session_note(struct gpubpf_session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
uint64_t gpubpf_now_ns(void);

/* core/session/objects/load.c. Put a loaded unit into a new session, which owns it from then on. */
int gpubpf_session_adopt_unit(struct gpubpf_session *s, struct gpubpf_loaded *loaded, struct gpubpf_diag *diag);
/* Verify all programs of the unit from index `first` on. If one fails, the caller must run none of them. */
int gpubpf_session_verify(struct gpubpf_session *s, struct gpubpf_unit *unit, uint32_t first, struct gpubpf_diag *diag);

/* core/session/kernel_bpf/progs.c. 0 or -ENOMEM. Loads the programs for the Linux kernel. Then maps of the unit may be
 * arrays in the kernel's memory. */
int gpubpf_linux_progs_load(struct gpubpf_session *s);
void gpubpf_linux_progs_sync_maps(struct gpubpf_session *s); /* synchronize those maps of these programs that cannot
							      * share memory (core/session/kernel_bpf/kernel_maps.c) */
void gpubpf_linux_progs_attach(struct gpubpf_session *s);
void gpubpf_linux_progs_detach(struct gpubpf_session *s);
void gpubpf_linux_progs_close(struct gpubpf_session *s);
/* core/session/maps/kernel_arrays.c. Map the Linux kernel's arrays, from map `first` on, into the session's arena, and
 * with gpubpf_linux_share() into the arena of an agent that uses the same memory. */
int gpubpf_linux_map_pages(struct gpubpf_session *s, const struct gpubpf_session_arena *a, uint32_t first);
int gpubpf_linux_share(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t first);
void gpubpf_linux_share_all(struct gpubpf_session *s, uint32_t first); /* gpubpf_linux_share() for all agents that use
									* that arena */

/* core/session/objects/join.c, after load. Returns the object's index, or the index of an earlier object with the same
 * bytes, or -errno with the reason in s->error. */
int gpubpf_session_join_object(struct gpubpf_session *s, const char *path);
/* Joins `more`, one object that is already loaded. A map with at[] -1 becomes a new map of the session, and at[]
 * returns its index. Another at[] is the index of the session's map to use. use[]: enum gpubpf_map_use of each map by
 * programs outside the object. On success the function frees `more`. */
int gpubpf_session_join_loaded(struct gpubpf_session *s, struct gpubpf_loaded *more, int32_t *at, const uint32_t *use,
			       struct gpubpf_diag *diag);

/* core/session/server/runtime_dir.c: creates and checks the folder for sockets. 0 or -errno with the reason in
 * s->error. */
int gpubpf_session_dir(struct gpubpf_session *s);
/* Write the path of the newest session's socket in `dir` (NULL: default) to buf. Returns the number of sessions, or
 * -ENOENT. */
int gpubpf_newest_session(const char *dir, char *buf, size_t size);

/* environ.c: build the environment of a program that joins the session at that socket. *env is one block. 0 or -errno;
 * `why` has the reason, except for -ENOMEM. */
struct gpubpf_environ_opts {
	const char *session, *agent, *backend; /* path of the agent, NULL: the installed one; backend to probe, NULL:
						* all */
	bool loaders, supervised;
};
int gpubpf_environ(const struct gpubpf_environ_opts *o, char *const *base, char ***env, char *why, size_t size);

/* core/session/base/programs.c. Make a copy of the unit in which only the programs of these links match kernels. All
 * programs are in it, so that indexes stay valid. 0 or -ENOMEM. The caller frees out->progs, but not the data that it
 * points to. */
int gpubpf_links_make_unit(const struct gpubpf_session *s, const uint32_t *links, uint32_t n, struct gpubpf_unit *out);

/* core/session/base/peers.c */
struct gpubpf_peer *gpubpf_peer_find(struct gpubpf_session *s, uint64_t id);
/* The image that the peer sent with that identity; NULL: none. */
#define GPUBPF_MAX_KNOWN 4096
#define GPUBPF_MAX_RETAINED_BYTES (64u << 20) /* limit on the bytes of images that the session keeps */
const struct gpubpf_known_image *gpubpf_peer_known(const struct gpubpf_peer *peer, uint64_t identity);
int gpubpf_peer_send(struct gpubpf_peer *peer, uint16_t type, uint32_t seq, struct gpubpf_writer *w, const int *fds,
		     uint32_t nfds);

/* core/session/base/mirrors.c. Does any device have a mirror? Does the session wait for mirrors? Request new copies of
 * all mirrors. */
bool gpubpf_session_has_mirrors(const struct gpubpf_session *s);
bool gpubpf_session_is_pulling(const struct gpubpf_session *s);
void gpubpf_session_pull_mirrors(struct gpubpf_session *s);
/* Does the session wait for mirrors of the process? */
bool gpubpf_peer_is_pulling(const struct gpubpf_peer *peer);
/* Request the mirrors of a process's devices with their own memory. all: of every such device; otherwise only of
 * devices whose agent does not drain rings. anew: also if an earlier request is not answered, because the agent may
 * have begun that copy before now. */
void gpubpf_peer_pull_mirrors(struct gpubpf_session *s, struct gpubpf_peer *peer, bool all, bool anew);

/* core/session/server/server.c */
int gpubpf_server_open(struct gpubpf_session *s);
/* Request the mirrors of all devices with their own memory, and wait for them for a limited time. */
void gpubpf_session_refresh_mirrors(struct gpubpf_session *s);
int gpubpf_server_poll(struct gpubpf_session *s, int timeout_ms);
void gpubpf_server_close(struct gpubpf_session *s);
void gpubpf_peer_forget_images(struct gpubpf_session *s, struct gpubpf_peer *peer);
/* core/session/server/peer.c: handles one packet. -EPROTO: the caller must close the connection. The function takes the
 * descriptors that it uses out of msg. */
int gpubpf_peer_message(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_packet *msg);

/* core/session/server/rescue.c: copies a device's memory into the arena's mirror when its process cannot, once per
 * device. A helper process does it, which takes some hundred milliseconds, since it opens the GPU. The function takes
 * ownership of dev->memory_fd. */
void gpubpf_rescue(struct gpubpf_session *s, struct gpubpf_session_device *dev);
/* Call it when the helper process that gpubpf_server_watch_rescue() watches has ended. */
void gpubpf_rescue_ended(struct gpubpf_session *s);
/* Wait for all rescues, for a limited time. */
void gpubpf_rescues_finish(struct gpubpf_session *s);
int gpubpf_server_watch_rescue(struct gpubpf_session *s, int pidfd);

/*
 * core/session/maps/placement.c. Choose the memory of each map from `first` on, for a device with these capabilities,
 * or with gpubpf_placements_shared() for all devices on host memory. -EOPNOTSUPP, with the reason in *diag, if the user
 * or the map's definition requests a memory that the device lacks.
 */
enum gpubpf_placement gpubpf_map_placement(const struct gpubpf_session *s, uint32_t arena, uint32_t map);
int gpubpf_placements_choose(const struct gpubpf_session *s, const struct gpubpf_unit *unit, uint32_t first,
			     const uint32_t *map_use, uint64_t caps, const char *device, uint32_t *places,
			     struct gpubpf_diag *diag);
int gpubpf_placements_shared(const struct gpubpf_session *s, const struct gpubpf_unit *unit, uint32_t first,
			     const uint32_t *map_use, uint32_t *places, struct gpubpf_diag *diag);
/* Does the device have all kinds of memory that the maps need? */
int gpubpf_placements_check(const struct gpubpf_session *s, const struct gpubpf_device_caps *caps,
			    struct gpubpf_diag *diag);
/* Does the session have a map for each name that the user specified? -EINVAL and the name that matches no map. */
int gpubpf_placements_check_names(const struct gpubpf_session *s, const struct gpubpf_unit *unit, struct gpubpf_diag *diag);
/* Iterate over the memories of a map, one per device or arena. The caller sets *at to 0 first. False after the last. */
struct gpubpf_map_memory {
	const char *device, *backend; /* backend "": all devices on host memory */
	uint32_t process, ordinal;
	enum gpubpf_placement where;
	bool live; /* host and kernels see each other's writes at once */
	uint64_t bytes;
};
bool gpubpf_map_memory_next(const struct gpubpf_session *s, uint32_t map, uint32_t *at, struct gpubpf_map_memory *place);
/* Bytes that maps take in each kind of memory of a device, and the size of its arena including spare room. */
struct gpubpf_memory_used {
	const char *device;
	uint64_t arena, bytes[GPUBPF_PLACEMENTS];
};
bool gpubpf_memory_used_next(const struct gpubpf_session *s, uint32_t *at, struct gpubpf_memory_used *used);
/* Do programs on a device with its own memory see the host's later changes of the map there? */
bool gpubpf_placement_sees_host_writes(const struct gpubpf_session *s, uint32_t arena, uint32_t map);
void gpubpf_placements_free(struct gpubpf_session *s);

/* core/session/maps/arena.c: opens the arena of a device, or (caps NULL) the arena of all devices on host memory.
 * `memory`: bytes of that memory. Returns the arena's index or -errno. */
int gpubpf_arena_open(struct gpubpf_session *s, uint32_t replicas, const struct gpubpf_device_caps *caps,
		      uint64_t memory, uint32_t process, struct gpubpf_diag *diag);
int gpubpf_arena_assign(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_session_device *dev,
			struct gpubpf_diag *diag);
void gpubpf_arenas_close(struct gpubpf_session *s);
/* Lay out the maps of the unit that *layout does not have yet, with gpubpf_layout_extend(). No arena changes. */
int gpubpf_arena_lay_out(struct gpubpf_session *s, uint32_t arena, const struct gpubpf_unit *unit, const uint32_t *map_use,
			 bool prints, bool allocations, struct gpubpf_layout *layout, struct gpubpf_diag *diag);
/* Install a layout from gpubpf_arena_lay_out() in the arena, and initialize its new maps. Devices cannot use the new
 * segments before gpubpf_arenas_activate(). */
void gpubpf_arena_grow(struct gpubpf_session *s, uint32_t arena, const struct gpubpf_layout *layout);
void gpubpf_arenas_activate(struct gpubpf_session *s);
struct gpubpf_map_view gpubpf_arena_view(const struct gpubpf_session *s, uint32_t arena, uint32_t map);
/* The runtime of the devices that write an arena; "": several runtimes. */
const char *gpubpf_arena_backend(const struct gpubpf_session *s, uint32_t arena);
/* Does the map have one value per multiprocessor (not per thread), for each key? */
bool gpubpf_map_is_percpu(const struct gpubpf_map *map);
/* Do programs only add to the map's values? Then readers add up the values of all arenas. */
bool gpubpf_map_is_summed(const struct gpubpf_session *s, uint32_t map);
/* Add a value of a summed map to *sum, or subtract it. */
void gpubpf_sum_add(const struct gpubpf_map *map, void *sum, const void *value, size_t size, bool minus);
uint32_t gpubpf_map_index(const struct gpubpf_map *map);
/* Are the map's values maps or programs, which reports show by name? */
static inline bool gpubpf_map_holds_objects(const struct gpubpf_map *map)
{
	return map->type->flags & (GPUBPF_MAP_OF_MAPS | GPUBPF_MAP_PROGS);
}
/* May the map or program with that number (index + 1) be an element of the map of maps or programs? */
bool gpubpf_map_accepts_element(const struct gpubpf_map *map, uint32_t number);
/* Does an arena before index `arena` have the key? scratch: gpubpf_map_scratch_size() bytes. */
bool gpubpf_map_has_in_earlier_arena(const struct gpubpf_map *map, uint32_t arena, const void *key, void *scratch);
size_t gpubpf_map_scratch_size(const struct gpubpf_map *map);
/* Returns err, or -EINVAL for -524 (ENOTSUPP), an errno that is internal to the Linux kernel. */
int gpubpf_map_user_error(int err);

/* core/session/objects/attach.c: links */
int gpubpf_links_open(struct gpubpf_session *s);   /* for a unit that was just loaded. 0 or -ENOMEM */
void gpubpf_links_close(struct gpubpf_session *s); /* before the unit is freed */
/* Publish the attached links to the agents, which use them from their next launch on. */
void gpubpf_links_publish(struct gpubpf_session *s);
/* List, attach or detach links for other tools: 0 or -errno with the reason in s->error. `pattern` "": the pattern of
 * the program's section. */
void gpubpf_links_list(const struct gpubpf_session *s, bool json, FILE *out);
/* `object`: number of the object with the program, or -1: the first object with a program of that name. */
int gpubpf_links_attach(struct gpubpf_session *s, int object, const char *prog, const char *pattern, uint32_t *id);
int gpubpf_links_detach(struct gpubpf_session *s, uint32_t id);

/* Does a map of the unit receive the application's allocations? */
bool gpubpf_maps_need_allocations(const struct gpubpf_unit *unit);

/* core/session/maps/reader.c: reads all rings, and returns the number of records. `last`: all writers have ended, so
 * incomplete records are dropped. */
uint64_t gpubpf_reader_run(struct gpubpf_session *s, bool last);
struct gpubpf_linux_record;
/* deliver a record that gpubpf_linux_rings_queue() queued, in order of time */
void gpubpf_reader_deliver(struct gpubpf_session *s, const struct gpubpf_linux_record *record);

/* Is it an internal map, whose name starts with "__"? Reports show such a map, and store its records, only
 * on request. */
bool gpubpf_map_is_internal(const struct gpubpf_map *map);
/* Note the launches of a process that has ended whose counts in maps were not copied. */
void gpubpf_peer_note_lost_counts(struct gpubpf_session *s, const struct gpubpf_peer *peer);

/* core/session/report/kernel_table.c */
/* The number of probed launches on the device since its maps were last copied into the mirror. */
uint64_t gpubpf_kernel_table_uncopied(const struct gpubpf_session *s, uint32_t process, const char *backend,
				      uint32_t device);
int gpubpf_kernel_table_open(struct gpubpf_session *s);
void gpubpf_kernel_table_close(struct gpubpf_session *s);
/* Collect the kernel table's rows by kernel name into s->stats. */
int gpubpf_kernel_table_collect(struct gpubpf_session *s);
/* The sums over all rows: time that programs waited for twins, and time to load them. */
void gpubpf_kernel_table_times(const struct gpubpf_session *s, uint64_t *wait_ns, uint64_t *load_ns);
uint64_t gpubpf_kernel_table_hook_ns(const struct gpubpf_session *s);
/* Id of the kernel with that name, which is added if it is new; UINT32_MAX if the table is full. */
uint32_t gpubpf_kernel_id(struct gpubpf_session *s, const char *name);
/* Store the kernel's whole name, if its short name is truncated. */
void gpubpf_kernel_set_full_name(struct gpubpf_session *s, uint32_t id, const char *whole);
/* Store the target that built the kernel's twin, and the user's assembler that built its machine code; "": none. */
void gpubpf_kernel_set_route(struct gpubpf_session *s, uint32_t id, const char *route, const char *assembler);
/* Store the kernel's parameters: takes *signature over and sets it to NULL, unless the kernel has a signature
 * already. */
struct gpubpf_signature;
void gpubpf_kernel_set_signature(struct gpubpf_session *s, uint32_t id, struct gpubpf_signature **signature);
const struct gpubpf_signature *gpubpf_kernel_signature(const struct gpubpf_session *s, uint64_t id);
/* the whole name; "": no kernel has that id */
const char *gpubpf_kernel_full_name(const struct gpubpf_session *s, uint64_t id);
/* The name to show: the whole name, demangled as C++ if requested. */
const char *gpubpf_kernel_display_name(struct gpubpf_session *s, uint64_t id, bool demangle);
void gpubpf_kernel_ids_free(struct gpubpf_session *s);

/* core/session/server/twin_answers.c: answers the finished requests for twins. Returns their number. */
int gpubpf_twins_answer(struct gpubpf_session *s);

/* core/session/server/query.c */
int gpubpf_query_start(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t seq, struct gpubpf_reader *r);
/* Answer the peer's query if the mirrors that it waits for have arrived, or its deadline has passed. */
void gpubpf_query_try_answer(struct gpubpf_session *s, struct gpubpf_peer *peer);
/* Let launches continue if they wait for the peer's query, and free the query. */
void gpubpf_query_release(struct gpubpf_session *s, struct gpubpf_peer *peer);
/* Answer the query for which launches wait. */
void gpubpf_query_answer_held(struct gpubpf_session *s);
/* core/session/server/snapshot.c: requests that agents hold launches and copy mirrors of one moment. -EBUSY, with the
 * reason in s->error, while another query does so. */
int gpubpf_hold_begin(struct gpubpf_session *s);
/* -EAGAIN: agents have not answered. 0: the mirrors show one moment. Else -errno with the reason in s->error. Call it
 * again after reading the maps, to check that launches were held until then. */
int gpubpf_hold_check(struct gpubpf_session *s);
void gpubpf_hold_end(struct gpubpf_session *s);
/* Can devices change the maps during the read? */
bool gpubpf_session_is_live(const struct gpubpf_session *s);
/* core/session/maps/element.c: runs GPUBPF_QUERY_PEEK, PUSH or POP with the words of a command line, and writes the
 * result to `out`. 0, or -errno with the reason in s->error. */
int gpubpf_element_query(struct gpubpf_session *s, uint32_t what, uint32_t flags, const char *name, char *const *words,
			 uint32_t nwords, FILE *out);
/* core/session/maps/element_keyed.c: runs GPUBPF_QUERY_LOOKUP, UPDATE, DELETE or NEXT, like gpubpf_element_query(). */
int gpubpf_keyed_query(struct gpubpf_session *s, uint32_t what, uint32_t flags, const char *name, char *const *words,
		       uint32_t nwords, FILE *out);
/* The client side: sends a query to the session at socket `path`, and writes the answer's text to `out` and its remark,
 * or "", to `why`. 0, or -errno with the reason in `why`. `more` has the query's further arguments; the function frees
 * it. */
int gpubpf_query_request(const char *path, uint32_t what, uint32_t flags, struct gpubpf_writer *more, FILE *out,
			 char *why, size_t why_size);

#endif
