/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session protocol between agent and tool, over a Unix socket of type SOCK_SEQPACKET. One packet is one message:
 * this header, `length` bytes of payload in the encoding of core/wire/wire.h, and up to GPUBPF_MSG_FDS descriptors.
 * Images and arenas travel as sealed memfds, never in the payload. Both sides check everything: a packet that breaks a
 * rule ends the session, never the process.
 *
 * The socket is $GPUBPF_SESSION, in a folder of mode 0700 under the user's runtime folder. The tool accepts only peers
 * of the same user (SO_PEERCRED). Requests are answered in any order by `seq`. Minor versions may differ: unknown
 * message types and unknown trailing payload are ignored. Major versions must match.
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
#define GPUBPF_REASON_MAX 239        /* maximum bytes of a reason, in all messages */
#define GPUBPF_MAX_REQUESTS 64       /* requests for twins that an agent may have open at a time */
#define GPUBPF_IMAGE_MAX (256u << 20) /* maximum bytes of an image */

struct gpubpf_msg_hdr {
	uint32_t magic;
	uint8_t major, minor;
	uint16_t type;   /* enum gpubpf_msg */
	uint32_t length; /* bytes of the payload */
	uint32_t seq;    /* number of a request, which its answer repeats; 0: the sender expects no answer */
};

enum gpubpf_msg {
	/*
	 * agent -> tool: u32 pid, u32 tid, str exe, str backend of the first runtime, str version. DEVICE reports each
	 * device's own backend
	 */
	GPUBPF_MSG_HELLO = 1,
	/*
	 * tool -> agent, answer. fd: the kernel table, which lists the attached programs. u32 process (index in the
	 * session), u32 wait_ms (0: do not wait for twins), u64 sample (every n-th launch of a kernel; 1 all), u64
	 * first (launches of a kernel that are probed; 0 all), u32 enum gpubpf_welcome_flags
	 */
	GPUBPF_MSG_WELCOME = 2,
	/* agent -> tool: u32 device (a number that the agent chooses), its capabilities by gpubpf_put_caps() */
	GPUBPF_MSG_DEVICE = 3,
	/*
	 * tool -> agent, answer. fd: the arena. u32 device, u64 size, u64 layout_hash, str reason. Without a descriptor
	 * the device cannot be probed, and reason explains it
	 */
	GPUBPF_MSG_ARENA = 4,
	/*
	 * agent -> tool. Requests a twin with the programs of these links. fds: the image, unless the session caches
	 * it, then the headers' container if any. Other messages use short names: core/wire/name.h
	 *   u32 device, u32 kind, str options,
	 *   u32 n headers x { str name, u64 offset, u64 size in fd 1 },
	 *   u32 n kernels x { str whole name } that match a pattern and are to be probed,
	 *   u32 kinds of twins (1 << enum gpubpf_image_kind) that the runtime did not load,
	 *   str folder of its relative paths, u64 time of the build (as in struct gpubpf_image),
	 *   u32 n x { u32 link },
	 *   str file that contains or loaded the image ("" unknown),
	 *   u64 identity by which the agent recognizes the image (0 none),
	 *   u32 register limit for a thread of the twin (0 none)
	 */
	GPUBPF_MSG_TWIN = 5,
	/*
	 * tool -> agent, answer. fd: the vendor binary or image. u32 kind, str options, u32 n x { str kernel, u64
	 * kernel id, str twin (name in the image, "" if refused), u32 flags (enum gpubpf_twin_flags), u32 nparams, str
	 * reason }, str reason (n 0: all refused), u64 compile_ns, u8 does the session cache the image: then requests
	 * with its identity may omit it
	 */
	GPUBPF_MSG_TWIN_DONE = 6,
	/* agent -> tool: str text. One line for the user. */
	GPUBPF_MSG_NOTE = 7,
	/*
	 * agent -> tool: u32 device, u32 number of the PULL that it answers. 0: none, at exit or while nothing ran. The
	 * mirror is current (non-shared arenas).
	 */
	GPUBPF_MSG_PULLED = 8,
	/* tool -> agent: u32 device, u32 number, from 1. Update the mirror; answered by PULLED. */
	GPUBPF_MSG_PULL = 9,
	/* tool -> agent: u32 on. Stop or continue the use of twins. */
	GPUBPF_MSG_ENABLE = 10,
	/*
	 * another tool -> tool, instead of HELLO: u32 enum gpubpf_query, u32 flags (enum gpubpf_query_flags), str map
	 * name or "". Requests the maps, report or links of a running session. More payload by kind of query:
	 *   attach  str whole path of an object that joins the session or "",
	 *           u32 n x { str program, str pattern or "" } (none: the whole object)
	 *   detach  u32 link
	 *   push    a value into a map without keys: str map, bytes value
	 *   key     an element by its key: str map, u32 n x { str word }, as in gpubpf-map(8):
	 *           key, DATA, value, DATA, flags
	 */
	GPUBPF_MSG_QUERY = 11,
	/*
	 * tool -> other tool, answer. fd: the text. s32 0 or -errno, str reason. For 0 the reason is a remark on the
	 * text, or ""
	 */
	GPUBPF_MSG_ANSWER = 12,
	/*
	 * agent -> tool: u32 device, u32 enum gpubpf_keep. fd with KEEP: memory of the device's maps, which outlives
	 * the process. When a process ends without DONE, the tool copies from this memory.
	 */
	GPUBPF_MSG_KEEP = 13,
	/*
	 * tool -> agent: u32 ms. Launches of twins wait for at most this time, with 0 no longer. The agent waits for
	 * running kernels, updates the mirrors, and answers HELD. The agent does not answer a HOLD of 0 ms
	 */
	GPUBPF_MSG_HOLD = 14,
	/* agent -> tool: u32 enum gpubpf_held */
	GPUBPF_MSG_HELD = 15,
	/*
	 * tool -> agent, before the arena that devices on host memory share, and when objects join. fd: an array of the
	 * Linux kernel. u32 map, u64 offset, u64 size: these pages of the arena belong to the array
	 */
	GPUBPF_MSG_SHARE = 16,
	/* loader -> tool, instead of HELLO: a bpf(2) call that the session answers (core/wire/loader.h) */
	GPUBPF_MSG_BPF = 17,
	/* tool -> loader: its answer */
	GPUBPF_MSG_BPF_DONE = 18,
	/*
	 * agent -> tool: u64 generation of the loaded code files, u32 n x { u64 address of code, innermost first }.
	 * Requests a number for a stack of the agent's process, while the process still maps the files
	 */
	GPUBPF_MSG_STACK = 19,
	/* tool -> agent, answer: u32 number, or 0 if the session's table of stacks is full */
	GPUBPF_MSG_STACK_DONE = 20,
	/*
	 * agent -> tool, if WELCOME has READS. The process is about to end, and waits for the answer: the tool first
	 * reads the rings, so that a waiting loader finds their records in its memory
	 */
	GPUBPF_MSG_READ = 21,
	/* tool -> agent, answer */
	GPUBPF_MSG_READ_DONE = 22,
};

/* An agent's answer to HOLD. HELD: no twin runs, and its mirrors stay unchanged until launches continue. Other values:
 * why its mirrors do not show one moment. */
enum gpubpf_held {
	GPUBPF_HELD_NOT_YET, /* the session has no answer yet; never sent */
	GPUBPF_HELD,
	GPUBPF_HELD_SHARED,    /* kernels write maps directly in the memory that the session reads */
	GPUBPF_HELD_UNTRACKED, /* a graph or command list has twins, or the runtime does not report when kernels
				      * end */
	GPUBPF_HELD_BUSY,      /* kernels kept running, or the device did not copy */
	GPUBPF_NHELD,
};

enum gpubpf_keep {
	GPUBPF_KEEP = 1,
	GPUBPF_KEEP_DONE = 2,   /* the mirror is final */
	GPUBPF_KEEP_BROKEN = 3, /* the process cannot copy any more, because the device failed */
};

enum gpubpf_query {
	GPUBPF_QUERY_REPORT = 1,
	GPUBPF_QUERY_MAPS = 2,   /* list the maps */
	GPUBPF_QUERY_DUMP = 3,   /* entries of the map, or of all */
	GPUBPF_QUERY_LINKS = 4,  /* list the links */
	GPUBPF_QUERY_ATTACH = 5, /* answers with the list of links, as QUERY_LINKS does */
	GPUBPF_QUERY_DETACH = 6,
	/* the following queries have: str map, u32 number of words, str each word, as on the command line of
	 * gpubpf-map(8) */
	GPUBPF_QUERY_PEEK = 7,    /* the next value of a map without keys; for a bloom filter, whether it has the
				      * passed value */
	GPUBPF_QUERY_PUSH = 8,    /* insert a value; returns no text */
	GPUBPF_QUERY_POP = 9,     /* remove a value */
	GPUBPF_QUERY_LOOKUP = 10, /* the element with a key */
	GPUBPF_QUERY_UPDATE = 11, /* returns no text */
	GPUBPF_QUERY_DELETE = 12,
	GPUBPF_QUERY_NEXT = 13,  /* the key after the passed one; without a key, the first */
	GPUBPF_QUERY_PIN = 14,   /* pin the map of a loader at an absolute path below the pin folder; returns no
				      * text */
	GPUBPF_QUERY_UNPIN = 15, /* remove a pin: only the path, no map; returns no text */
	GPUBPF_NQUERIES,
};
enum gpubpf_query_flags {
	GPUBPF_QUERY_JSON = 1 << 0,
	GPUBPF_QUERY_DEMANGLE = 1 << 1,
	GPUBPF_QUERY_JSON_STRINGS = 1 << 2,
	GPUBPF_QUERY_CSV = 1 << 3,
	GPUBPF_QUERY_CONSISTENT = 1 << 4, /* QUERY_DUMP: show the maps at one moment, or refuse */
};

enum gpubpf_welcome_flags {
	GPUBPF_WELCOME_ALLOCATION_STACKS = 1 << 0, /* programs query allocations, so the agent records the stacks that
						    * allocate */
	GPUBPF_WELCOME_READS = 1 << 1, /* the tool answers READ, so the agent sends it before the process ends */
};

enum gpubpf_twin_flags {
	GPUBPF_TWIN_ARG_ARENA = 1 << 0, /* the twin has extra arguments after the kernel's own, in the order of these
					  * flags: the arena's address */
	GPUBPF_TWIN_ARG_LAUNCH = 1 << 1,
	GPUBPF_TWIN_ARG_PID = 1 << 2,
	/* the kernel recurses: the runtime does not know its stack size, and the twin's frame must not be larger */
	GPUBPF_TWIN_RECURSES = 1 << 3,
	GPUBPF_TWIN_OTHER_FORM = 1 << 4, /* if the runtime does not load the twin, the agent may request one in another
					  * form of code */
	/*
	 * The process's launches pass the number of their stack (maps/layout.h). The stack omits the frames counted by
	 * the 8 bits from STACK_SKIP on, and is limited to the depth in the 7 bits from STACK_DEPTH on
	 */
	GPUBPF_TWIN_STACK = 1 << 5,
};
#define GPUBPF_TWIN_STACK_SKIP 8
#define GPUBPF_TWIN_STACK_DEPTH 16

/*
 * The kernel table: a memfd of the tool that every agent maps, so that counts survive a kill. Agents write it with
 * atomics. The tool trusts none of its bytes.
 */
#define GPUBPF_KERNEL_TABLE_MAGIC 0x6472616f62667062ull
#define GPUBPF_KERNEL_TABLE_VERSION 4
#define GPUBPF_KERNEL_TABLE_ROWS 16384

enum gpubpf_kernel_state {
	GPUBPF_KERNEL_SEEN,    /* launched, but matches no pattern */
	GPUBPF_KERNEL_WAITING, /* twin requested */
	GPUBPF_KERNEL_PROBED,
	GPUBPF_KERNEL_REFUSED, /* see `reason` of the row */
};

/* Which compiler built a twin's text into machine code, if both the runtime and the user's assembler can. */
enum gpubpf_compiled_by {
	GPUBPF_BY_NONE, /* the twin is machine code, or only the runtime compiles it */
	GPUBPF_BY_RUNTIME,
	GPUBPF_BY_ASSEMBLER, /* the user's assembler, run by the tool */
};

/* Why a launch was not probed. */
enum gpubpf_miss {
#define GPUBPF_MISS(id, name, chosen, text) GPUBPF_MISS_##id,
#include "misses.def"
	GPUBPF_MISSES,
};

struct gpubpf_kernel_row { /* 832 bytes */
	uint32_t used;     /* 0 free, 1 being filled, 2 valid */
	uint32_t state;    /* enum gpubpf_kernel_state */
	uint32_t process, device;
	char name[256];
	char reason[240];
	uint64_t launches; /* number of all launches; the agent adds to it after `probed` or `missed`, so that no
				  * reader sees a launch without its outcome */
	uint64_t probed;   /* launches that ran the twin */
	uint64_t missed[GPUBPF_MISSES]; /* launches that did not run the twin, by reason */
	uint64_t grid[3], block[3];     /* of the last launch: threads of the grid, and threads of a block */
	uint64_t wait_ns;               /* time that the application waited for the twin */
	uint64_t hook_ns;      /* estimated time of launches in the launch hook, in ns, without waits for twins: the
				  * agent times some launches, and counts each for several */
	uint32_t hook_samples; /* number of launches that hook_ns covers */
	uint32_t dim;
	uint32_t regs_before, regs_after;
	uint64_t load_ns;     /* time that the runtime needed to load the twin */
	uint64_t copied;      /* value of `probed` at the last copy of the device's maps into the mirror */
	char backend[16];     /* runtime of the device */
	uint32_t compiled_by; /* enum gpubpf_compiled_by */
	uint32_t launched;    /* 0: not launched yet, but the agent has a twin; reports omit the row */
	uint64_t pad[3];
};

/*
 * The attached programs. Only the tool writes the plan: first an odd generation, then entries, then an even one. A
 * reader copies entries between two reads of the generation. The agent probes a kernel whose name matches a pattern,
 * with the programs of all matching links. A link's number denotes the same program and pattern for the life of the
 * session.
 */
#define GPUBPF_PLAN_LINKS 1024

struct gpubpf_plan_entry {
	uint32_t link, pad;
	char pattern[256]; /* pattern for kernel names; "*" if the program's section names a function, an opcode,
				  * a line or a mark */
};

struct gpubpf_link_row {   /* indexed by the link's number */
	uint64_t launches; /* launches of kernels whose twin includes its program, over all processes */
	uint64_t pad[7];
};

/* The parts of a launch's wait for its twin. Their sum may be less than the whole wait. */
enum gpubpf_wait_part {
	GPUBPF_WAIT_REQUEST, /* opening the device, reading the program, sending the request */
	GPUBPF_WAIT_ANSWER,  /* the session: its queue, lowering, the vendor's compiler */
	GPUBPF_WAIT_LOAD,    /* the runtime loads the twin */
	GPUBPF_WAIT_OTHERS,  /* another thread is in one of the parts above, and this one waits for it */
	GPUBPF_WAIT_PARTS,
};

struct gpubpf_kernel_table {
	uint64_t magic;
	uint32_t version;
	uint32_t nkernels; /* rows that agents have reserved; more than GPUBPF_KERNEL_TABLE_ROWS if the table was
				  * too small */
	uint64_t enabled;  /* 1: agents may launch twins */
	uint64_t drained_bytes, drain_ns; /* bytes that agents read from rings in devices' memory, and the time for it,
					   * over all processes */
	uint64_t plan;                    /* generation of entry[]; odd: the tool is writing it */
	uint64_t nplan;                   /* number of valid entries of entry[] */
	uint64_t wait_ns[GPUBPF_WAIT_PARTS]; /* the rows' wait_ns, divided into its parts */
	uint64_t pad[9 - GPUBPF_WAIT_PARTS];
	struct gpubpf_kernel_row kernel[GPUBPF_KERNEL_TABLE_ROWS];
	struct gpubpf_plan_entry entry[GPUBPF_PLAN_LINKS];
	struct gpubpf_link_row link[GPUBPF_PLAN_LINKS];
};

#endif
