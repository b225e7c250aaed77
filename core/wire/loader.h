/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of a loader's process to a session: the bpf(2) calls that the session answers (hooks/loader), one at a time on
 * a separate connection. GPUBPF_MSG_BPF holds u32 enum gpubpf_bpf_op and its arguments. GPUBPF_MSG_BPF_DONE holds s32 0
 * or -errno, as in bpf(2), and the results. Payloads have any size: one that is too long for a packet is in a memfd.
 *
 * Handles are memfds, or pipes if they are polled, and their name identifies the object. The session holds a lock on
 * each (core/session/loaders/object.c), by which it learns when the last descriptor is closed, in any process.
 */
#ifndef GPUBPF_CORE_WIRE_LOADER_H
#define GPUBPF_CORE_WIRE_LOADER_H

#include "msg.h"

#define GPUBPF_BPF_MAX (64u << 20)  /* bytes of a payload */
/* First number of our objects, above all numbers that the Linux kernel assigns. */
#define GPUBPF_BPF_FIRST_ID (1u << 30)

/*
 * Name of a handle, such as "gpubpf-map:1073741824:4:8:0": kind and number. For a map also the bytes that bpf(2) copies
 * of a key and of a value, and the kind of values. 0 means bytes, 1 + enum gpubpf_bpf_kind means descriptors. The name
 * appears in /proc/self/fd, after /memfd:, where bpftool looks for bpf-map, ...
 */
#define GPUBPF_BPF_HANDLE "gpubpf-%s:%u:%u:%u:%u"
enum gpubpf_bpf_kind {
	GPUBPF_BPF_MAP,
	GPUBPF_BPF_PROG,
	GPUBPF_BPF_LINK,
	GPUBPF_BPF_BTF,
	GPUBPF_BPF_PERF,           /* a descriptor of perf_event_open(2) */
	GPUBPF_BPF_BUFFER,         /* a descriptor of PERF_COUNT_SW_BPF_OUTPUT */
	GPUBPF_BPF_KINDS,
};
extern const char *const gpubpf_bpf_kinds[GPUBPF_BPF_KINDS]; /* "map", ... */

enum gpubpf_bpf_op {
	/* str program, u32 type of program -> u32: is it for a GPU, by its name and the session's options? */
	GPUBPF_BPF_WANTS = 1,
	/*
	 * u32 type, key_size, value_size, max_entries, flags, u64 extra, str name, u32 number of its BTF or 0, types of
	 * key and value, number of the prototype of its elements or 0, its number as the kernel's map or 0, u32 enum
	 * gpubpf_bpf_relation, fd of a map of the kernel -> fd
	 */
	GPUBPF_BPF_MAP_CREATE = 2,
	/*
	 * u32 map, u32 command of bpf(2), bytes key (none: 0), bytes value (if a descriptor: u32 number of the object,
	 * 0 if it is not ours), u64 flags -> bytes of the result
	 */
	GPUBPF_BPF_MAP_ELEM = 3,
	/*
	 * u32 map, u32 command, u32 position to continue at, u32 count, bytes keys, bytes values, u64 flags -> u32
	 * count, u32 position, bytes keys, bytes values, also after an error
	 */
	GPUBPF_BPF_MAP_BATCH = 4,
	GPUBPF_BPF_MAP_FREEZE = 5,     /* u32 map */
	/*
	 * u32 type, str name, bytes struct bpf_insn[] with maps by number, bytes struct bpf_func_info[], bytes struct
	 * bpf_line_info[], u32 number of its BTF or 0, u32 is the log requested -> str log, also after an error, fd
	 */
	GPUBPF_BPF_PROG_LOAD = 6,
	GPUBPF_BPF_BTF_LOAD = 7,       /* bytes -> fd */
	GPUBPF_BPF_INFO = 8,           /* u32 number -> u32 kind, bytes struct bpf_..._info, bytes of BTF or
				        * instructions, bytes u32 ids of maps */
	GPUBPF_BPF_NEXT_ID = 9,        /* u32 kind, u32 number -> u32 the next number */
	GPUBPF_BPF_FD_BY_ID = 10,      /* u32 kind, u32 number -> fd */
	GPUBPF_BPF_PERF_OPEN = 11,     /* str function, u32 is it a return probe, u64 offset in the function in bytes ->
				        * fd */
	GPUBPF_BPF_LINK_CREATE = 12,   /* u32 program, u32 perf -> fd */
	GPUBPF_BPF_PERF_SET = 13,      /* u32 perf, u32 program: attached while perf is open */
	/*
	 * u32 map or buffer, u64 bytes to map, u64 first byte, u32 writable -> u64 bytes at the end that are mapped
	 * twice in a row, fd of the memory: the kernel's array if that holds the values. For a buffer, sets the number
	 * of bytes.
	 */
	GPUBPF_BPF_MEMORY = 14,
	GPUBPF_BPF_BUFFER_OPEN = 15,   /* u32 is it disabled -> fd */
	GPUBPF_BPF_PIN = 16,           /* u32 number, str path: a file there in the session's folder names the object */
	GPUBPF_BPF_PINNED = 17,        /* u64 device, u64 inode of such a file -> fd */
	/*
	 * u32 number of a map in the kernel -> u32 do loaders keep the kernel's map, which has all records, fd of the
	 * session's map
	 */
	GPUBPF_BPF_WAS = 18,
	/*
	 * u32 number of a map of maps in the kernel, then of its elements: u32 type, key_size, value_size, max_entries,
	 * flags, u64 extra, str name
	 */
	GPUBPF_BPF_INNER = 19,
	GPUBPF_BPF_UPROBE_OPEN = 20,   /* u64 offset in a file, u32 is it a return probe, fd of the file -> fd, as of
				        * PERF_OPEN */
	/*
	 * u32 buffer or perf, or 0 for the Linux kernel's, u32 enum gpubpf_bpf_output. Records that kernels wrote
	 * earlier arrive before the answer.
	 */
	GPUBPF_BPF_OUTPUT = 21,
	/*
	 * u32 map -> fd of the kernel's map for its programs: the map that holds the values, or a copy kept equal from
	 * now on
	 */
	GPUBPF_BPF_KERNEL = 22,
	GPUBPF_BPF_QUEUE_CONSUMED = 23,         /* u32 number of a queue in the kernel: its programs pop values */
	/* u32 number of a ring buffer in the kernel, u32 has the loader just mapped it -> u32 has any loader */
	GPUBPF_BPF_READ = 24,
	GPUBPF_BPF_OPS,
};

/*
 * Relation of a kernel map to a map of the session. SAME: it holds the values, or is the array of buffers that receive
 * the records. BESIDE: it is another map of the kernel's programs, with its own content.
 */
enum gpubpf_bpf_relation { GPUBPF_BPF_NONE, GPUBPF_BPF_SAME, GPUBPF_BPF_SEPARATE };

/*
 * A loader's operation on a buffer. A buffer takes records while it is neither disabled nor paused. Records of a perf
 * still run their program, as in the Linux kernel.
 */
enum gpubpf_bpf_output { GPUBPF_BPF_ENABLED, GPUBPF_BPF_DISABLED, GPUBPF_BPF_RESUMED, GPUBPF_BPF_PAUSED };

/*
 * Returns the folder for pins of the session at that socket, next to the socket. Libbpf replaces each dot in a pin's
 * path by an underscore.
 */
#define GPUBPF_BPF_PINS_SIZE 300
void gpubpf_bpf_pins(const char *session, char out[GPUBPF_BPF_PINS_SIZE]);

/* Sends the content of w, of any size, and a descriptor (-1: none). 0 or -errno. */
int gpubpf_payload_send(int sock, int flags, uint16_t type, uint32_t seq, const struct gpubpf_writer *w, int fd);

/* The payload of such a packet, with its descriptor, until it is closed. */
struct gpubpf_payload {
	struct gpubpf_reader r;
	void *mapped;
	size_t size;
	int fd;                    /* -1: none; the receiver may take it */
};
int gpubpf_payload_open(struct gpubpf_packet *msg, struct gpubpf_payload *p);
void gpubpf_payload_close(struct gpubpf_payload *p);

#endif
