/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session protocol between agent and tool, over a Unix socket of type SOCK_SEQPACKET. One packet is
 * one message: this header, `length` bytes of payload in the encoding of core/wire/wire.h, and up to
 * GPUBPF_MSG_FDS descriptors. Images and arenas travel as sealed memfds, never in the payload. Both
 * sides check everything: a packet that breaks a rule ends the session, never the process.
 *
 * The socket is $GPUBPF_SESSION, in a folder of mode 0700 under the user's runtime folder; the tool
 * takes peers of its own user only (SO_PEERCRED). Requests are answered in any order by `seq`.
 * Versions: the minor may differ (unknown message types are ignored, unknown trailing payload too), the
 * major may not.
 */
#ifndef GPUBPF_CORE_WIRE_PROTOCOL_H
#define GPUBPF_CORE_WIRE_PROTOCOL_H

#include <stdint.h>

#include "caps.h"

#define GPUBPF_MSG_MAGIC 0x50425047u /* "GPBP" */
#define GPUBPF_MSG_MAJOR 3
#define GPUBPF_MSG_MINOR 5
#define GPUBPF_MSG_MAX (64 * 1024)   /* bytes of payload */
#define GPUBPF_MSG_FDS 4
#define GPUBPF_REASON_MAX 239        /* bytes of a reason, in all messages */
#define GPUBPF_MAX_REQUESTS 64       /* for twins that an agent has open at a time */
#define GPUBPF_IMAGE_MAX (256u << 20) /* bytes of an image that a tool takes */

struct gpubpf_msg_hdr {
	uint32_t magic;
	uint8_t major, minor;
	uint16_t type;         /* enum gpubpf_msg */
	uint32_t length;       /* of the payload */
	uint32_t seq;          /* of a request; an answer repeats it; 0: no answer expected */
};

enum gpubpf_msg {
	/* agent -> tool: u32 pid, u32 tid, str exe, str backend (of the runtime that
	 * came first: devices tell their own), str version */
	GPUBPF_MSG_HELLO = 1,
	/* tool -> agent, answer; fd: the kernel table. u32 process (index in the session), u32 wait_ms (0: do not
	 * wait for twins), u64 sample (every n-th launch of a kernel; 1 all), u64 first (launches of a
	 * kernel that are probed; 0 all), u32 enum gpubpf_welcome_flags. What is attached is in the kernel table */
	GPUBPF_MSG_WELCOME = 2,
	/* agent -> tool: u32 device (agent's number), its capabilities by gpubpf_put_caps() */
	GPUBPF_MSG_DEVICE = 3,
	/* tool -> agent, answer; fd: the arena. u32 device, u64 size, u64 layout_hash, str reason. Without
	 * a descriptor the device cannot be probed, reason says why */
	GPUBPF_MSG_ARENA = 4,
	/* agent -> tool; fds: image, unless the session keeps it, then headers' container if any. u32 device, u32 kind, str options,
	 * u32 n headers x { str name, u64 offset, u64 size in fd 1 }, u32 n kernels x { str whole name } that
	 * are matched and wanted, u32 kinds of twins (1 << enum gpubpf_image_kind) that the runtime did not load, str folder that its relative paths began in, u64 when it was
	 * built (as struct gpubpf_image says), u32 n x { u32 link }, str file that the
	 * image lies in, or that loaded it; "" unknown, u64 by which the agent will know the same image again; 0: not, u32 registers
	 * that a thread of the twin may have; 0: any. Asks for a twin with the programs of these links. Elsewhere names are short: core/wire/name.h */
	GPUBPF_MSG_TWIN = 5,
	/* tool -> agent, answer; fd: the vendor binary or image. u32 kind, str options, u32 n x
	 * { str kernel, u64 kernel id, str twin (name in the image; "" if refused), u32 flags (enum
	 * gpubpf_twin_flags), u32 nparams, str reason }, str reason (n 0: all refused), u64 compile_ns,
	 * u8 whether the session keeps the image: requests with its identity need not bring it again */
	GPUBPF_MSG_TWIN_DONE = 6,
	/* agent -> tool: str text. One line for the user. */
	GPUBPF_MSG_NOTE = 7,
	/* agent -> tool: u32 device, u32 number of the PULL that it answers; 0: none, at exit or while nothing ran. The mirror
	 * is up to date (non-shared arenas). */
	GPUBPF_MSG_PULLED = 8,
	/* tool -> agent: u32 device, u32 number, from 1. Bring the mirror up to date; answered by PULLED. */
	GPUBPF_MSG_PULL = 9,
	/* tool -> agent: u32 on. Stop or go on choosing twins. */
	GPUBPF_MSG_ENABLE = 10,
	/* another tool -> tool, instead of HELLO: u32 enum gpubpf_query, u32 flags (enum
	 * gpubpf_query_flags), str map name or "". Asks a running session for its maps, report or links; or to attach:
	 * str whole path of an object that joins the session or "", u32 n x { str program, str pattern or "" } (none: all of
	 * the object), or to detach: u32 link; or to put a value into
	 * a map without keys: str map, bytes value; or for an element by its key: str map, u32 n x { str word }, as
	 * gpubpf-map(8) has them: key, DATA, value, DATA, flags */
	GPUBPF_MSG_QUERY = 11,
	/* tool -> other tool, answer; fd: the text. s32 0 or -errno, str reason; of 0 what is to be said of the text, or "" */
	GPUBPF_MSG_ANSWER = 12,
	/* agent -> tool: u32 device, u32 enum gpubpf_keep; fd with KEEP: memory of the device's maps, which
	 * outlives the process. When a process ends without DONE, the tool copies from there itself. */
	GPUBPF_MSG_KEEP = 13,
	/* tool -> agent: u32 ms. Launches of twins wait, so long at most; 0: no longer. What runs is waited for, mirrors are
	 * brought up to date, and HELD is the answer; to 0 there is none */
	GPUBPF_MSG_HOLD = 14,
	/* agent -> tool: u32 enum gpubpf_held */
	GPUBPF_MSG_HELD = 15,
	/* tool -> agent, before the arena that devices on host memory share, and when objects join; fd: an array of the
	 * Linux kernel. u32 map, u64 offset, u64 size: these pages of the arena are the array's */
	GPUBPF_MSG_SHARE = 16,
	/* loader -> tool, instead of HELLO: a bpf(2) call that is the session's (core/wire/loader.h), */
	GPUBPF_MSG_BPF = 17,
	/* tool -> loader: and its answer */
	GPUBPF_MSG_BPF_DONE = 18,
	/* agent -> tool: u64 that is another one when files of code were loaded or unloaded since, u32 n x { u64 address of code,
	 * the innermost first }. Asks for the number of a stack of its process, while that still has the files mapped */
	GPUBPF_MSG_STACK = 19,
	/* tool -> agent, answer: u32 number; 0: the session knows no more stacks */
	GPUBPF_MSG_STACK_DONE = 20,
	/* agent -> tool, to one whose WELCOME says READS. Its process is about to end: what is in rings is to be read first, so
	 * that whoever waits for that end finds it in the memory of loaders */
	GPUBPF_MSG_READ = 21,
	/* tool -> agent, answer */
	GPUBPF_MSG_READ_DONE = 22,
};

/* Are the mirrors of one moment, at which no twin ran? They stay so until launches go on. */
enum gpubpf_held {
	GPUBPF_HELD_NOT_YET,         /* never sent */
	GPUBPF_HELD,
	GPUBPF_HELD_SHARED,          /* kernels write the maps where they are read */
	GPUBPF_HELD_UNFOLLOWED,      /* a graph or list has twins, or the runtime does not tell when they end */
	GPUBPF_HELD_BUSY,            /* kernels ran on, or the device did not copy */
	GPUBPF_NHELD,
};

enum gpubpf_keep {
	GPUBPF_KEEP = 1,
	GPUBPF_KEEP_DONE = 2,        /* the mirror is up to date for good */
	GPUBPF_KEEP_BROKEN = 3,      /* the process cannot copy any more: the device has failed it */
};

enum gpubpf_query {
	GPUBPF_QUERY_REPORT = 1,
	GPUBPF_QUERY_MAPS = 2,       /* what maps there are */
	GPUBPF_QUERY_DUMP = 3,       /* entries of the map, or of all */
	GPUBPF_QUERY_LINKS = 4,      /* what is attached */
	GPUBPF_QUERY_ATTACH = 5,     /* answered as QUERY_LINKS */
	GPUBPF_QUERY_DETACH = 6,
	/* From here on: str map, u32 number of words, str each, as on a command line */
	GPUBPF_QUERY_PEEK = 7,       /* at the value that comes out next of a map without keys; is that value there? */
	GPUBPF_QUERY_PUSH = 8,       /* put one in; nothing is written */
	GPUBPF_QUERY_POP = 9,        /* take it out */
	GPUBPF_QUERY_LOOKUP = 10,    /* the element of a key */
	GPUBPF_QUERY_UPDATE = 11,    /* nothing is written, as of the next one */
	GPUBPF_QUERY_DELETE = 12,
	GPUBPF_QUERY_NEXT = 13,      /* the key behind that one, or the first */
	GPUBPF_QUERY_PIN = 14,       /* the map of a loader at a path of its pins, whole; nothing is written */
	GPUBPF_QUERY_UNPIN = 15,     /* that path, and no map; nothing is written */
	GPUBPF_NQUERIES,
};
enum gpubpf_query_flags {
	GPUBPF_QUERY_JSON = 1 << 0,
	GPUBPF_QUERY_DEMANGLE = 1 << 1,
	GPUBPF_QUERY_JSON_STRINGS = 1 << 2,
	GPUBPF_QUERY_CSV = 1 << 3,
	GPUBPF_QUERY_CONSISTENT = 1 << 4, /* of QUERY_DUMP: of one moment, or refused */
};

enum gpubpf_welcome_flags {
	GPUBPF_WELCOME_ALLOCATION_STACKS = 1 << 0, /* programs ask for allocations: know the stacks that they are made from */
	GPUBPF_WELCOME_READS = 1 << 1, /* READ is answered */
};

enum gpubpf_twin_flags {
	GPUBPF_TWIN_ARG_ARENA = 1 << 0,  /* extra arguments after the kernel's own, in this order */
	GPUBPF_TWIN_ARG_LAUNCH = 1 << 1,
	GPUBPF_TWIN_ARG_PID = 1 << 2,
	/* the kernel recurses: the runtime does not know its stack, and the twin must have no larger frame */
	GPUBPF_TWIN_RECURSES = 1 << 3,
	GPUBPF_TWIN_OTHER_FORM = 1 << 4, /* where the runtime does not load it, another form may be asked for */
	/* The number of the launch's stack goes with the process (maps/layout.h): without so many of its frames, as 8 bits from
	 * STACK_SKIP on, and cut to so many as 7 bits from STACK_DEPTH on say */
	GPUBPF_TWIN_STACK = 1 << 5,
};
#define GPUBPF_TWIN_STACK_SKIP 8
#define GPUBPF_TWIN_STACK_DEPTH 16

/*
 * The kernel table: a memfd of the tool that every agent maps, so that what was counted survives a kill.
 * Written with atomics; the tool treats every byte as a claim of an untrusted process.
 */
#define GPUBPF_KERNEL_TABLE_MAGIC 0x6472616f62667062ull
#define GPUBPF_KERNEL_TABLE_VERSION 4
#define GPUBPF_KERNEL_TABLE_ROWS 16384

enum gpubpf_kernel_state {
	GPUBPF_KERNEL_SEEN,      /* launched, matches no pattern */
	GPUBPF_KERNEL_WAITING,   /* twin asked for */
	GPUBPF_KERNEL_PROBED,
	GPUBPF_KERNEL_REFUSED,   /* reason says why */
};

/* Who made a twin's code of its text, where either can. */
enum gpubpf_compiled_by {
	GPUBPF_BY_NOBODY,        /* it came as code, or the runtime alone compiles */
	GPUBPF_BY_RUNTIME,
	GPUBPF_BY_ASSEMBLER,     /* the user's, for the tool */
};

/* Why a launch was not probed. */
enum gpubpf_miss {
#define GPUBPF_MISS(id, name, chosen, text) GPUBPF_MISS_##id,
#include "misses.def"
	GPUBPF_MISSES,
};

struct gpubpf_kernel_row {     /* 832 bytes */
	uint32_t used;           /* 0 free, 1 being filled, 2 valid */
	uint32_t state;          /* enum gpubpf_kernel_state */
	uint32_t process, device;
	char name[256];
	char reason[240];
	uint64_t launches;       /* all; written after one of the next two: no reader sees a launch without what came of it */
	uint64_t probed;         /* of these, by the twin */
	uint64_t missed[GPUBPF_MISSES]; /* the others, by reason */
	uint64_t grid[3], block[3]; /* of the last launch: threads in all, threads a block */
	uint64_t wait_ns;        /* time that the application waited for the twin */
	uint64_t hook_ns;        /* time spent in the launch hook, waiting excluded, */
	uint32_t hook_samples;   /* by so many launches: each that was timed stands for those around it */
	uint32_t dim;
	uint32_t regs_before, regs_after;
	uint64_t load_ns;        /* time that the runtime took to load its twin */
	uint64_t copied;         /* launches probed before its device's maps were last copied back */
	char backend[16];        /* of its device */
	uint32_t compiled_by;    /* enum gpubpf_compiled_by */
	uint32_t begun;          /* 0: no program has launched it, its twin was made before; reports leave it out */
	uint64_t pad[3];
};

/*
 * What is attached. The tool alone writes it: first an odd generation, then entries, then an even one. A reader copies
 * entries between two looks at the generation. A kernel whose name a pattern matches is wanted, with the programs of
 * all links that do; a link's number means the same program and pattern as long as the session lives.
 */
#define GPUBPF_PLAN_LINKS 1024

struct gpubpf_plan_entry {
	uint32_t link, pad;
	char pattern[256];       /* of kernels; "*" of a program whose section names something else: a function, an opcode, a line, a mark */
};

struct gpubpf_link_row {         /* of the link with this number */
	uint64_t launches;       /* of kernels whose twin has its program, all processes together */
	uint64_t pad[7];
};

/* What a launch that waits for its twin waits for; the rest of its wait is what lies between. */
enum gpubpf_wait_part {
	GPUBPF_WAIT_ASK,         /* opening the device, reading the program, sending it */
	GPUBPF_WAIT_ANSWER,      /* the session: its queue, lowering, the vendor's compiler */
	GPUBPF_WAIT_LOAD,        /* the runtime, that loads the twin */
	GPUBPF_WAIT_OTHERS,      /* another thread, that does one of these */
	GPUBPF_WAIT_PARTS,
};

struct gpubpf_kernel_table {
	uint64_t magic;
	uint32_t version;
	uint32_t nkernels;       /* entries handed out; may exceed the table when it overflowed */
	uint64_t enabled;        /* twins may be chosen */
	uint64_t drained_bytes, drain_ns; /* of rings in devices' memory, by all processes */
	uint64_t plan;           /* generation of what is attached, */
	uint64_t nplan;          /* and its entries */
	uint64_t wait_ns[GPUBPF_WAIT_PARTS]; /* what the rows' wait_ns was spent on */
	uint64_t pad[9 - GPUBPF_WAIT_PARTS];
	struct gpubpf_kernel_row kernel[GPUBPF_KERNEL_TABLE_ROWS];
	struct gpubpf_plan_entry entry[GPUBPF_PLAN_LINKS];
	struct gpubpf_link_row link[GPUBPF_PLAN_LINKS];
};

#endif
