/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session protocol between agent and tool, over a Unix socket of type SOCK_SEQPACKET. Each packet is one message.
 * It consists of this header, `length` bytes of payload in the encoding of core/wire/wire.h, and up to GPUBPF_MSG_FDS
 * file descriptors. Images and arenas are sent as sealed memfds, never in the payload. Both processes check every
 * packet. If a packet breaks a rule, the receiver ends the session but not its own process.
 *
 * The environment variable GPUBPF_SESSION contains the path of the socket, which is in a folder of mode 0700 in the
 * user's runtime folder. The tool accepts only peers of the same user (SO_PEERCRED). An answer repeats the `seq` of its
 * request; answers may arrive in any order. Minor versions may differ: unknown message types and unknown data at the
 * end of a payload are ignored. Major versions must be equal.
 *
 * In the comments below, "a -> b" names the sender and the receiver. u8, u32, s32, u64 and str are the fields of the
 * payload in order, and "fd" is a descriptor. "n x { ... }" is a u32 count and as many elements.
 */
#ifndef GPUBPF_CORE_WIRE_PROTOCOL_H
#define GPUBPF_CORE_WIRE_PROTOCOL_H

#include <stdint.h>

#include "caps.h"
#include "gate/gate.h"

#define GPUBPF_MSG_MAGIC 0x50425047u /* "GPBP" */
#define GPUBPF_MSG_MAJOR 3
#define GPUBPF_MSG_MINOR 9
#define GPUBPF_MSG_MAX (64 * 1024)   /* bytes of payload */
#define GPUBPF_MSG_FDS 4
#define GPUBPF_REASON_MAX 239        /* maximum length of a reason in bytes, in all messages */
#define GPUBPF_MAX_REQUESTS 64       /* maximum number of unanswered requests for twins per agent */
#define GPUBPF_IMAGE_MAX (256u << 20) /* maximum size of an image in bytes */

struct gpubpf_msg_hdr {
	uint32_t magic;
	uint8_t major, minor;
	uint16_t type;   /* enum gpubpf_msg */
	uint32_t length; /* size of the payload in bytes */
	uint32_t seq;    /* number of the request, which the answer repeats; 0: the sender expects no answer */
};

enum gpubpf_msg {
	/*
	 * agent -> tool: u32 pid, u32 tid, str exe, str backend of the first runtime, str version. The message DEVICE
	 * contains the backend of each device.
	 */
	GPUBPF_MSG_HELLO = 1,
	/*
	 * tool -> agent, answer to HELLO. fd: the kernel table, which also contains the plan of attached programs.
	 *   u32 process: index in the session
	 *   u32 wait_ms: maximum wait of a launch for its twin (0: no wait)
	 *   u64 sample: probe every n-th launch of a kernel (1: all)
	 *   u64 first: number of launches of a kernel that are probed (0: all)
	 *   u32 enum gpubpf_welcome_flags
	 */
	GPUBPF_MSG_WELCOME = 2,
	/* agent -> tool: u32 device (a number that the agent chooses), the device's capabilities (gpubpf_put_caps()) */
	GPUBPF_MSG_DEVICE = 3,
	/*
	 * tool -> agent, answer to DEVICE. fd: the arena. u32 device, u64 size, u64 layout_hash, str reason. If there
	 * is no fd, the device cannot be probed, and `reason` says why.
	 */
	GPUBPF_MSG_ARENA = 4,
	/*
	 * agent -> tool. Requests a twin that contains the programs of the listed links. fds: the image, unless the
	 * session caches it, then the container of headers, if there are any. Other messages use short names
	 * (core/wire/name.h).
	 *   u32 device, u32 kind of the image, str options,
	 *   u32 n headers x { str name, u64 offset, u64 size in the container },
	 *   u32 n kernels x { str complete name }: the kernels that match a pattern and are to be probed,
	 *   u32 kinds of twins (1 << enum gpubpf_image_kind) that the runtime did not load,
	 *   str folder of relative paths, u64 time of the build (cwd and built_ns of struct gpubpf_image),
	 *   u32 n x { u32 link },
	 *   str file that contains or loaded the image ("": unknown),
	 *   u64 identity by which the agent recognizes the image (0: none),
	 *   u32 maximum number of registers of the twin per thread (0: no limit)
	 */
	GPUBPF_MSG_TWIN = 5,
	/*
	 * tool -> agent, answer to TWIN. fd: the vendor's binary, or the image. A zero byte and machine code may follow
	 * the text of an image.
	 *   u32 kind, str options,
	 *   u32 n x { str kernel, u64 kernel id, str name of the twin in the image ("": refused),
	 *             u32 flags (enum gpubpf_twin_flags), u32 nparams, str reason },
	 *   str reason, if n is 0 because all twins were refused,
	 *   u64 compile_ns,
	 *   u8 1 if the session caches the image; later requests with its identity may then omit the image,
	 *   u64 size of the machine code at the end of the file (0: none)
	 */
	GPUBPF_MSG_TWIN_DONE = 6,
	/* agent -> tool: str text, one line for the user */
	GPUBPF_MSG_NOTE = 7,
	/*
	 * agent -> tool: u32 device, u32 number of the PULL that it answers (0: a copy at exit, or while no kernel
	 * ran). The mirror is now current. Not sent for arenas in shared memory.
	 */
	GPUBPF_MSG_PULLED = 8,
	/* tool -> agent: u32 device, u32 number (from 1). Requests an update of the mirror; the answer is PULLED. */
	GPUBPF_MSG_PULL = 9,
	/* tool -> agent: u32 1 to use twins, 0 to stop using them */
	GPUBPF_MSG_ENABLE = 10,
	/*
	 * another tool -> tool, instead of HELLO. Requests the maps, the report or the links of a running session, or
	 * changes them: u32 enum gpubpf_query, u32 flags (enum gpubpf_query_flags). The rest depends on the query.
	 *
	 * - ATTACH: str complete path of an object that joins the session, or "". fd: the object, or none.
	 *   Then n x { str program, str pattern or "" }. If n is 0, the session attaches all programs of the object.
	 *
	 * - DETACH: n x { str number or name of a link }.
	 *
	 * - REPORT, MAPS, DUMP: str map name or "".
	 *
	 * - Queries from PEEK on, except INFO: str map, n x { str word }, with words as in gpubpf-map(8).
	 */
	GPUBPF_MSG_QUERY = 11,
	/*
	 * tool -> another tool, answer to QUERY. fd: the text of the result. s32 0 or -errno, str reason. If the result
	 * is 0, `reason` is a remark on the text, or "".
	 */
	GPUBPF_MSG_ANSWER = 12,
	/*
	 * agent -> tool: u32 device, u32 enum gpubpf_keep. With GPUBPF_KEEP also fd: exported device memory of the
	 * maps, which continues to exist when the process ends. If the process ends without GPUBPF_KEEP_DONE, the tool
	 * copies the maps from this memory.
	 */
	GPUBPF_MSG_KEEP = 13,
	/*
	 * tool -> agent: u32 ms. Pauses launches of twins for at most this time, so that all maps show one moment. The
	 * agent waits for running GPU kernels, updates the mirrors, and answers HELD. A HOLD with 0 ms ends the pause
	 * and has no answer.
	 */
	GPUBPF_MSG_HOLD = 14,
	/* agent -> tool: u32 enum gpubpf_held */
	GPUBPF_MSG_HELD = 15,
	/*
	 * tool -> agent: u32 map, u64 offset, u64 size, fd: an array map of the Linux kernel. These pages of the arena
	 * are the memory of that array. Sent when an object joins the session, and before the message ARENA of an arena
	 * that is shared by devices on host memory.
	 */
	GPUBPF_MSG_SHARE = 16,
	/* BPF loader -> tool, instead of HELLO: a bpf(2) call that the session answers (core/wire/loader.h) */
	GPUBPF_MSG_BPF = 17,
	/* tool -> BPF loader: the answer to BPF */
	GPUBPF_MSG_BPF_DONE = 18,
	/*
	 * agent -> tool: u64 generation of the loaded code files, u32 n x { u64 code address, innermost first }.
	 * Requests a number for a call stack of the agent's process. Sent while the process still maps these files.
	 */
	GPUBPF_MSG_STACK = 19,
	/* tool -> agent, answer to STACK: u32 number, or 0 if the session's table of stacks is full */
	GPUBPF_MSG_STACK_DONE = 20,
	/*
	 * agent -> tool, if WELCOME has the flag READS. The process is about to end, and waits for the answer. The tool
	 * first reads the ring buffers, so that a waiting BPF loader finds the records in its memory.
	 */
	GPUBPF_MSG_READ = 21,
	/* tool -> agent, answer */
	GPUBPF_MSG_READ_DONE = 22,
	/*
	 * tool -> agent, if the tool attached to the running process: requests to detach. The agent starts no more
	 * twins, restores the dispatch tables, and waits until the running twins end. Then it updates the mirrors and
	 * answers DETACHED.
	 */
	GPUBPF_MSG_DETACH = 23,
	/* agent -> tool: u32 number of hooks that the agent could not undo. The agent then closes the connection. */
	GPUBPF_MSG_DETACHED = 24,
	/*
	 * agent -> tool, if the tool attached to the running process: u32 1 to patch the functions of the journal
	 * (core/attach/journal.h), 0 to restore them.
	 */
	GPUBPF_MSG_PATCH = 25,
	/* tool -> agent, answer to PATCH: s32 0 or -errno, str reason */
	GPUBPF_MSG_PATCHED = 26,
	/*
	 * agent -> tool. Requests the attached programs of sections host/. The agent sends it when `host` of the kernel
	 * table has changed.
	 */
	GPUBPF_MSG_HOST = 27,
	/*
	 * tool -> agent, answer to HOST. No payload. fds: the programs, as core/session/host/host_programs.c writes them,
	 * and the arena that devices on host memory share. No fd: the tool could not send the programs.
	 */
	GPUBPF_MSG_HOST_DONE = 28,
	/* agent -> tool: str name of a kernel or of a runtime's function */
	GPUBPF_MSG_NAME = 29,
	/* tool -> agent, answer to NAME: u64 id of the name in the session */
	GPUBPF_MSG_NAME_DONE = 30,
};

/*
 * The agent's answer to HOLD. With HELD, no twin runs, and the mirrors stay unchanged until launches continue. The
 * other values say why the mirrors do not show one moment.
 */
enum gpubpf_held {
	GPUBPF_HELD_NOT_YET, /* the agent has not answered yet; never sent */
	GPUBPF_HELD,
	GPUBPF_HELD_SHARED, /* GPU kernels write maps directly in the session's memory */
	/* a graph or command list contains twins, or the runtime does not report when kernels end */
	GPUBPF_HELD_UNTRACKED,
	GPUBPF_HELD_BUSY, /* GPU kernels did not end in time, or copying from the device failed */
	GPUBPF_NHELD,
};

enum gpubpf_keep {
	GPUBPF_KEEP = 1,
	GPUBPF_KEEP_DONE = 2,   /* the mirror has its final content */
	GPUBPF_KEEP_BROKEN = 3, /* the process can no longer copy, because the device failed */
};

enum gpubpf_query {
	GPUBPF_QUERY_REPORT = 1,
	GPUBPF_QUERY_MAPS = 2,   /* list the maps */
	GPUBPF_QUERY_DUMP = 3,   /* dump the entries of a map, or of all maps */
	GPUBPF_QUERY_LINKS = 4,  /* list the links */
	GPUBPF_QUERY_ATTACH = 5, /* attach programs; the answer is the list of links, as for QUERY_LINKS */
	GPUBPF_QUERY_DETACH = 6, /* detach links */
	/*
	 * The queries below contain: str map, u32 number of words, str each word, as on the command line of
	 * gpubpf-map(8).
	 */
	/* the next value of a map without keys; for a bloom filter, whether it contains the passed value */
	GPUBPF_QUERY_PEEK = 7,
	GPUBPF_QUERY_PUSH = 8,    /* insert a value; the answer has no text */
	GPUBPF_QUERY_POP = 9,     /* remove a value */
	GPUBPF_QUERY_LOOKUP = 10, /* the element with the passed key */
	GPUBPF_QUERY_UPDATE = 11, /* returns no text */
	GPUBPF_QUERY_DELETE = 12,
	GPUBPF_QUERY_NEXT = 13, /* the key after the passed key; the first key if none is passed */
	/* pin a loader's map at an absolute path below the pin folder; the answer has no text */
	GPUBPF_QUERY_PIN = 14,
	GPUBPF_QUERY_UNPIN = 15, /* remove a pin; contains only the path, no map; the answer has no text */
	GPUBPF_QUERY_INFO = 16,  /* the session's name, programs and processes; the answer is JSON */
	/* change which launches are probed; the words are NAME=VALUE, as in gpubpf-session(8), and the map is "" */
	GPUBPF_QUERY_SET = 17,
	GPUBPF_NQUERIES,
};
enum gpubpf_query_flags {
	GPUBPF_QUERY_JSON = 1 << 0,
	GPUBPF_QUERY_DEMANGLE = 1 << 1,
	GPUBPF_QUERY_JSON_STRINGS = 1 << 2,
	GPUBPF_QUERY_CSV = 1 << 3,
	GPUBPF_QUERY_CONSISTENT = 1 << 4, /* QUERY_DUMP: dump all maps as they were at one moment, or fail */
};

enum gpubpf_welcome_flags {
	/* programs query allocations, so the agent must record the call stack of each allocation */
	GPUBPF_WELCOME_ALLOCATION_STACKS = 1 << 0,
	GPUBPF_WELCOME_READS = 1 << 1, /* the agent must send READ before its process ends, and the tool answers */
};

enum gpubpf_twin_flags {
	/*
	 * The first three flags: the twin has extra arguments after the original ones, in the order of these flags.
	 * ARG_ARENA is the arena's address.
	 */
	GPUBPF_TWIN_ARG_ARENA = 1 << 0,
	GPUBPF_TWIN_ARG_LAUNCH = 1 << 1,
	GPUBPF_TWIN_ARG_PID = 1 << 2,
	/*
	 * The kernel is recursive. The runtime then does not know its stack size, so the twin's stack frame must not be
	 * larger.
	 */
	GPUBPF_TWIN_RECURSES = 1 << 3,
	/* if the runtime cannot load the twin, the agent may request a twin in another form of code */
	GPUBPF_TWIN_OTHER_FORM = 1 << 4,
	/*
	 * Launches pass the number of their call stack (maps/layout.h). The 8 bits from GPUBPF_TWIN_STACK_SKIP on
	 * contain the number of innermost frames that are left out. The 7 bits from GPUBPF_TWIN_STACK_DEPTH on contain
	 * the maximum number of frames.
	 */
	GPUBPF_TWIN_STACK = 1 << 5,
};
#define GPUBPF_TWIN_STACK_SKIP 8
#define GPUBPF_TWIN_STACK_DEPTH 16

/*
 * The kernel table is a memfd of the tool that every agent maps, so that counts survive if an application is killed.
 * Agents write it with atomic operations. The tool does not trust its content.
 */
#define GPUBPF_KERNEL_TABLE_MAGIC 0x6472616f62667062ull
#define GPUBPF_KERNEL_TABLE_VERSION 6
#define GPUBPF_KERNEL_TABLE_ROWS 16384

enum gpubpf_kernel_state {
	GPUBPF_KERNEL_SEEN,    /* launched, but no pattern matches its name */
	GPUBPF_KERNEL_WAITING, /* twin requested */
	GPUBPF_KERNEL_PROBED,
	GPUBPF_KERNEL_TIMED,   /* the runtime measures the launches, and all matching programs would do the same */
	GPUBPF_KERNEL_REFUSED, /* the row's `reason` says why */
};

/*
 * The compiler that built a twin's text into machine code, if both the runtime's compiler and the user's assembler can
 * build it.
 */
enum gpubpf_compiled_by {
	GPUBPF_BY_NONE, /* the twin is machine code, or only the runtime can compile it */
	GPUBPF_BY_RUNTIME,
	GPUBPF_BY_ASSEMBLER, /* the user's assembler, which the tool runs */
};

/* Why a launch was not probed. */
enum gpubpf_miss {
#define GPUBPF_MISS(id, name, chosen, text) GPUBPF_MISS_##id,
#include "misses.def"
	GPUBPF_MISSES,
};

struct gpubpf_kernel_row { /* 848 bytes */
	uint32_t used;     /* 0: free; 1: an agent is filling the row; 2: valid */
	uint32_t state;    /* enum gpubpf_kernel_state */
	uint32_t process, device;
	char name[256];
	char reason[240];
	/*
	 * Number of all launches. The agent increments it after `probed` or `missed`, so that a reader never sees a
	 * launch that is in neither.
	 */
	uint64_t launches;
	uint64_t probed;                /* launches that ran the twin, or that the runtime measured */
	uint64_t missed[GPUBPF_MISSES]; /* launches that did not run the twin, by reason */
	/* of the last launch: number of threads in the grid, and in a block, per dimension */
	uint64_t grid[3], block[3];
	uint64_t wait_ns; /* total time in ns for which the application waited for the twin */
	/*
	 * Estimated time in ns that launches spent in the launch hook, without waits for twins. The agent measures only
	 * some launches, and counts each of them several times.
	 */
	uint64_t hook_ns;
	uint32_t hook_samples; /* number of launches that hook_ns represents */
	uint32_t dim;
	uint32_t regs_before, regs_after;
	uint64_t load_ns;     /* time in ns for which the runtime loaded the twin */
	uint64_t copied;      /* value of `probed` when the device's maps were last copied to the mirror */
	char backend[16];     /* name of the device's runtime, such as "cuda" */
	uint32_t compiled_by; /* enum gpubpf_compiled_by */
	uint32_t launched;    /* 0: the kernel has a twin but was not launched yet; reports omit the row */
	/* shortest measured time of a launch on the device in ns: [0] without probes, [1] with probes */
	uint64_t run_ns[2];
	uint32_t runs[2]; /* number of measured launches: [0] without probes, [1] with probes; 0: run_ns has no value */
};

/*
 * The plan: the attached programs (links). Only the tool writes it. The tool first sets an odd generation, then writes
 * the entries, then sets an even generation. A reader reads the generation before and after it copies entries. The
 * agent probes a kernel if its name matches a pattern, with the programs of all matching links. A link's number denotes
 * the same program and pattern during the whole session.
 */
#define GPUBPF_PLAN_LINKS 1024

enum gpubpf_plan_flags {
	/*
	 * The link's program only measures the times of launches. If the runtime measures the launches of a device, the
	 * agent counts these times (struct gpubpf_launch_times) instead of running the program.
	 */
	GPUBPF_PLAN_TIMES = 1 << 0,
};

struct gpubpf_plan_entry {
	uint32_t link, flags; /* flags: set of enum gpubpf_plan_flags */
	/* pattern for kernel names; "*" if the program's section names a function, an instruction, a line or a mark */
	char pattern[256];
};

/*
 * Times of a kernel's launches, measured by the runtime. The members correspond to struct gpubpf_times of
 * <gpubpf/probe.h>. Only agents write them; the sum is in ns.
 */
#define GPUBPF_LAUNCH_TIME_SLOTS 320
struct gpubpf_launch_times { /* index: number of the row in `kernel` */
	uint64_t count, sum, slot[GPUBPF_LAUNCH_TIME_SLOTS];
	uint64_t expected; /* number of launches that the runtime was to measure; `count` is less if times were lost */
};

struct gpubpf_link_row { /* index: the link's number */
	/* number of launches of kernels whose twin includes the link's program, over all processes */
	uint64_t launches;
	uint64_t pad[7];
};

/* The parts of the time that a launch waits for its twin. Their sum may be less than the total wait. */
enum gpubpf_wait_part {
	GPUBPF_WAIT_REQUEST, /* the agent opens the device, reads the application's code and sends the request */
	GPUBPF_WAIT_ANSWER,  /* the session answers: waiting in its queue, lowering, the vendor's compiler */
	GPUBPF_WAIT_LOAD,    /* the runtime loads the twin */
	GPUBPF_WAIT_OTHERS,  /* this thread waits for another thread that is in one of the parts above */
	GPUBPF_WAIT_PARTS,
};

struct gpubpf_kernel_table {
	uint64_t magic;
	uint32_t version;
	/* number of rows that agents reserved; more than GPUBPF_KERNEL_TABLE_ROWS if the table is too small */
	uint32_t nkernels;
	uint64_t enabled; /* 1: agents may launch twins */
	/* bytes that agents read from ring buffers in device memory, and the time for that in ns, over all processes */
	uint64_t drained_bytes, drain_ns;
	uint64_t host;  /* generation of the attached programs of sections host/; 0: there was none yet */
	uint64_t plan;  /* generation of the plan in entry[]; odd: the tool is writing entry[] */
	uint64_t nplan; /* number of valid elements of entry[] */
	uint64_t wait_ns[GPUBPF_WAIT_PARTS]; /* sum of wait_ns over all rows, by part of the wait */
	/* 1: agents measure launches with and without probes (run_ns), because a map records times */
	uint64_t measures;
	/*
	 * Which launches are probed, if `round` is not 0; until then the message WELCOME says so. The tool increments
	 * `round` after it has changed the other members.
	 */
	struct gpubpf_rate rate;
	/*
	 * Version of gate[]; 0: no link has a gate. It is odd while the tool writes gates. A reader reads it before and
	 * after it reads the gates of a kernel's links, so a command changes several links at once.
	 */
	uint64_t gates;
	struct gpubpf_kernel_row kernel[GPUBPF_KERNEL_TABLE_ROWS];
	struct gpubpf_plan_entry entry[GPUBPF_PLAN_LINKS];
	struct gpubpf_link_row link[GPUBPF_PLAN_LINKS];
	struct gpubpf_launch_times times[GPUBPF_KERNEL_TABLE_ROWS];
	struct gpubpf_gate gate[GPUBPF_PLAN_LINKS]; /* index: the link's number */
};

#endif
