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
/* First id of the session's objects, above all ids that the Linux kernel assigns. */
#define GPUBPF_BPF_FIRST_ID (1u << 30)

/*
 * Name of a handle, such as "gpubpf-map:1073741824:4:8:0": the object's kind and id, then for a map the bytes that
 * bpf(2) copies of a key and of a value, and the kind of its values. Kind 0 means bytes, 1 + enum gpubpf_bpf_kind means
 * descriptors of such objects. The name appears in /proc/self/fd after "/memfd:", where bpftool looks for "bpf-map" and
 * others.
 */
#define GPUBPF_BPF_HANDLE "gpubpf-%s:%u:%u:%u:%u"
enum gpubpf_bpf_kind {
	GPUBPF_BPF_MAP,
	GPUBPF_BPF_PROG,
	GPUBPF_BPF_LINK,
	GPUBPF_BPF_BTF,
	GPUBPF_BPF_PERF,   /* a descriptor of perf_event_open(2) for a kprobe or uprobe */
	GPUBPF_BPF_BUFFER, /* a descriptor of perf_event_open(2) for PERF_COUNT_SW_BPF_OUTPUT */
	GPUBPF_BPF_KINDS,
};
extern const char *const gpubpf_bpf_kinds[GPUBPF_BPF_KINDS]; /* "map", ... */

enum gpubpf_bpf_op {
	/* In these comments, arguments precede "->", results follow it; "number" is the id of an object. str program,
	 * u32 program type -> u32 1 if the program is for a GPU, by its name and the session's options */
	GPUBPF_BPF_PROG_IS_GPU = 1,
	/*
	 * u32 type, key_size, value_size, max_entries, flags, u64 extra, str name, u32 number of its BTF or 0, u32 BTF
	 * types of key and value, u32 number of a map that defines its elements or 0, u32 id of the Linux kernel's map
	 * that it replaces or 0, u32 enum gpubpf_bpf_relation, fd of a map of the Linux kernel -> fd
	 */
	GPUBPF_BPF_MAP_CREATE = 2,
	/*
	 * u32 map, u32 command of bpf(2), bytes key (none: 0), bytes value (if a descriptor: u32 number of the object,
	 * 0 if it is not an object of the session), u64 flags -> bytes of the result
	 */
	GPUBPF_BPF_MAP_ELEM = 3,
	/*
	 * u32 map, u32 command, u32 position to continue at, u32 count, bytes keys, bytes values, u64 flags -> u32
	 * count, u32 position, bytes keys, bytes values, also after an error
	 */
	GPUBPF_BPF_MAP_BATCH = 4,
	GPUBPF_BPF_MAP_FREEZE = 5, /* u32 map */
	/*
	 * u32 type, str name, bytes struct bpf_insn[] with maps by number, bytes struct bpf_func_info[], bytes struct
	 * bpf_line_info[], u32 number of its BTF or 0, u32 1 if the log is requested -> str log, also after an error,
	 * fd
	 */
	GPUBPF_BPF_PROG_LOAD = 6,
	GPUBPF_BPF_BTF_LOAD = 7,     /* bytes -> fd */
	GPUBPF_BPF_INFO = 8,         /* u32 number -> u32 kind, bytes struct bpf_..._info, bytes of BTF or
				        * instructions, bytes u32 ids of maps */
	GPUBPF_BPF_NEXT_ID = 9,      /* u32 kind, u32 number -> u32 the next number */
	GPUBPF_BPF_FD_BY_ID = 10,    /* u32 kind, u32 number -> fd */
	GPUBPF_BPF_PERF_OPEN = 11,   /* str function, u32 1 for a return probe, u64 offset in the function in bytes ->
					* fd */
	GPUBPF_BPF_LINK_CREATE = 12, /* u32 program, u32 perf -> fd */
	GPUBPF_BPF_PERF_SET = 13,    /* u32 perf, u32 program: attaches the program as long as perf is open */
	/*
	 * u32 map or buffer, u64 bytes to map, u64 first byte, u32 1 if writable -> u64 bytes at the end of the memory
	 * that are mapped twice in a row, fd of the memory. The fd is the Linux kernel's array if that holds the
	 * values. For a buffer, the call sets its number of bytes.
	 */
	GPUBPF_BPF_MEMORY = 14,
	GPUBPF_BPF_BUFFER_OPEN = 15, /* u32 1 if it starts disabled -> fd */
	GPUBPF_BPF_PIN = 16,         /* u32 number, str path: creates a pin of the object, a file at this path below
					* the session's pin folder */
	GPUBPF_BPF_PINNED = 17,      /* u64 device, u64 inode of a pin's file -> fd of the object */
	/*
	 * u32 id of a map of the Linux kernel -> u32 1 if loaders still read the kernel's map, because it receives all
	 * records, fd of the session's map for it
	 */
	GPUBPF_BPF_MAP_BY_KERNEL_ID = 18,
	/*
	 * u32 id of a map of maps of the Linux kernel, and the definition of its elements: u32 type, key_size,
	 * value_size, max_entries, flags, u64 extra, str name
	 */
	GPUBPF_BPF_INNER = 19,
	GPUBPF_BPF_UPROBE_OPEN = 20, /* u64 offset in a file, u32 1 for a return probe, fd of the file -> fd, as
					* PERF_OPEN returns it */
	/*
	 * u32 buffer or perf, or 0 for a perf event of the Linux kernel, u32 enum gpubpf_bpf_output. The session
	 * delivers records that GPU kernels wrote earlier before it answers.
	 */
	GPUBPF_BPF_OUTPUT = 21,
	/*
	 * u32 map -> fd of a Linux kernel map for kernel programs: the map that holds the values, or a second map that
	 * the session synchronizes from then on
	 */
	GPUBPF_BPF_KERNEL = 22,
	GPUBPF_BPF_QUEUE_CONSUMED = 23, /* u32 id of a Linux kernel queue from which kernel programs
						 * pop values */
	/* u32 id of a ring buffer of the Linux kernel, u32 1 if the loader has just mapped it -> u32 1 if any loader
	 * has mapped it */
	GPUBPF_BPF_RING_MAPPED = 24,
	GPUBPF_BPF_OPS,
};

/*
 * Relation of a Linux kernel map to a map of the session. SAME: the kernel map holds the values, or is the
 * PERF_EVENT_ARRAY whose buffers receive the records. SEPARATE: the kernel map has its own content, for kernel
 * programs.
 */
enum gpubpf_bpf_relation { GPUBPF_BPF_NONE, GPUBPF_BPF_SAME, GPUBPF_BPF_SEPARATE };

/*
 * A loader's ioctl on a buffer or perf (PERF_EVENT_IOC_ENABLE, DISABLE, PAUSE_OUTPUT). A buffer receives records while
 * it is neither disabled nor paused. It has no effect on a perf, whose program still runs, as in the Linux kernel.
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

/* The payload of a packet from gpubpf_payload_send(), with its descriptor. gpubpf_payload_close() releases both. */
struct gpubpf_payload {
	struct gpubpf_reader r;
	void *mapped;
	size_t size;
	int fd; /* -1: none; the receiver may take it */
};
int gpubpf_payload_open(struct gpubpf_packet *msg, struct gpubpf_payload *p);
void gpubpf_payload_close(struct gpubpf_payload *p);

#endif
